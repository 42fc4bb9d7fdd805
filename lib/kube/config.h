/* The API server's address and our credentials: from a kubeconfig file, or from a pod's service
 * account. Reads files but no environment variables: the caller passes file, host and port.
 *
 * One kubeconfig file is read: a context (the named or the current one), its cluster, its user.
 * Supported: certificate-authority(-data), client-certificate(-data), client-key(-data), token,
 * tokenFile, insecure-skip-tls-verify, tls-server-name, namespace; relative paths are relative to
 * the file. Unsupported fields are errors: exec, auth-provider, username, proxy-url, as. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct kube_config {
    char *server;  /* "https://host:6443" or with a path; no '/' at the end; owned like all here */
    char *ns;      /* NULL: the context names none */
    char *context; /* for messages; "in-cluster" inside one */
    char *tls_server_name; /* NULL: the host's name */
    bool is_insecure;      /* the server's certificate is not verified */
    /* PEM texts, NULL if none; *_file if they came from a file that is read again. */
    char *ca_pem, *cert_pem, *key_pem;
    char *ca_file, *cert_file, *key_file;
    char *token;      /* fixed, NULL if none */
    char *token_file; /* read again by credentials.h; wins over token */
};
void kube_config_done(struct kube_config *c);

/* Pure: parses the text. It does not open the files that the text names; their paths, relative to the
 * folder of `path`, are in *_file. `context` NULL: the current one. -EINVAL with file:line:column. */
int kube_config_parse(const char *path, const char *text, size_t len, const char *context,
                      struct kube_config *ret, struct err *err);
/* ---- in config_files.c, which opens files ---- */

/* Reads the file and the files that it names. -ENOENT, -EACCES, -EINVAL. */
int kube_config_load(const char *path, const char *context, struct kube_config *ret,
                     struct err *err);

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
/* host, port: $KUBERNETES_SERVICE_HOST and _PORT. -ENOENT: not in a cluster (NULL or no files). */
int kube_config_in_cluster(const char *dir, const char *host, const char *port,
                           struct kube_config *ret, struct err *err);
/* Reads *_file again, after a TLS failure. 1 if something changed, 0 if not. */
int kube_config_reload(struct kube_config *c, struct err *err);
