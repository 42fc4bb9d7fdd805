/* The API server's address as libcurl wants it. Used by client.c. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "kube/config.h"

/* The URL to ask, and, when the certificate has another name than the host, "::HOST:PORT" to
 * connect to (else NULL); both owned. *ret_is_here: it is "localhost" or a loopback address. */
int client_server(const struct kube_config *config, char **ret_base_url, char **ret_connect_to,
                  bool *ret_is_here, struct err *err);
/* The proxy of the configuration as libcurl wants it, owned; *ret is NULL without one. The proxy
 * resolves names, and ports have the defaults that Go's programs use. -EINVAL. */
int client_proxy(const struct kube_config *config, char **ret, struct err *err);
