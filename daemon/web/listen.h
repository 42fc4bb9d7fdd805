/* The listening socket and its certificate: two files, which are read again when they have changed,
 * so that what cert-manager renews is served without a restart. Edge file: sockets, GnuTLS. */
#pragma once

#include <netinet/in.h>

#include "base/err.h"

#define LISTEN_ADDRESS_SIZE (INET6_ADDRSTRLEN + 16)

/* `address`: "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080" (every IPv4 address); port 0
 * picks one. Returns the socket; ret_bound: "host:port" that is bound. -EINVAL, -EADDRINUSE, ...
 * with the address in the text. */
int listen_open(const char *address, char ret_bound[static LISTEN_ADDRESS_SIZE], struct err *err);

/* Takes the certificate's files. MHD_OPTION_HTTPS_CERT_CALLBACK has no argument for a context, so a
 * process has one certificate, which the HTTP thread alone uses. PEM texts: the certificate, with
 * those that lead to its authority, and its key. The paths are copied. -EBADMSG: they do not belong
 * together, or are no such texts. */
int tls_use_files(const char *cert, const char *key, struct err *err);
/* For MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *tls_callback(void);
