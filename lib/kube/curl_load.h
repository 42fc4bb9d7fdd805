/* libcurl, loaded on first need: with what Debian links it to (Kerberos, LDAP, SSH, GnuTLS) it is
 * 26 of the 37 libraries that benchctl would load for every verb, most of which ask no cluster.
 *
 * The rest of lib/kube calls libcurl as if it were linked: curl_load.c defines the functions that
 * are used, and each calls libcurl's own. A function that is not defined there does not link. */
#pragma once

#include "base/err.h"

/* Loads it, once; any thread. -ELIBACC: it is not installed, or lacks a function. The functions
 * that begin something (curl_global_init, curl_url) load it, too, and fail without it. */
int kube_curl_load(struct err *err);
