/* A piece of the client in a file of its own. */
#pragma once

#include "base/err.h"
#include "kube/config.h"

/* The URL to ask, and, when the certificate has another name than the host, "::HOST:PORT" to
 * connect to (else NULL). Both owned. */
int client_server(const struct kube_config *config, char **ret_base_url, char **ret_connect_to,
                  struct err *err);
