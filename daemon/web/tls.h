/* The certificate of benchd's port: two files, which are read again when they have changed, so that
 * what cert-manager renews is served without a restart. On the HTTP thread alone. */
#pragma once

#include "base/err.h"

/* MHD's MHD_OPTION_HTTPS_CERT_CALLBACK, which has no argument for a context: a process has one
 * certificate. PEM texts: the certificate, with those that lead to its authority, and its key. The
 * paths are copied. -EBADMSG: they do not belong together, or are no such texts. */
int tls_use_files(const char *cert, const char *key, struct err *err);
/* For MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *tls_callback(void);
