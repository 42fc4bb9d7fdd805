/* Where the API server is and who we are: a kubeconfig file, or what a pod finds. Reads files,
 * knows no environment: the caller says which file, host and port.
 *
 * Of a kubeconfig one file is read: a context (the named or the current one), its cluster, its
 * user.
 * Understood: certificate-authority(-data), client-certificate(-data), client-key(-data), token,
 * tokenFile, insecure-skip-tls-verify, tls-server-name, namespace; relative paths are relative to
 * the file. What we cannot do is refused by name: exec, auth-provider, username, proxy-url, as. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct kube_config {
    char *server;  /* "https://host:6443" or with a path; no '/' at the end; owned like all here */
    char *ns;      /* NULL: the context names none */
    char *context; /* for messages; "in-cluster" inside one */
    char *tls_server_name; /* NULL: the host's */
    bool is_insecure;      /* the server's certificate is not checked */
    /* PEM texts, NULL if none; *_file if they came from a file, to be read again. */
    char *ca_pem, *cert_pem, *key_pem;
    char *ca_file, *cert_file, *key_file;
    char *token;      /* fixed, NULL if none */
    char *token_file; /* read again by credentials.h; wins over token */
};
void kube_config_done(struct kube_config *c);

/* Pure: the text, and the folder of its file; files that it names are not opened, their absolute
 * paths stand in *_file. `context` NULL: the current one. -EINVAL with file:line:column. */
int kube_config_parse(const char *path, const char *text, size_t len, const char *context,
                      struct kube_config *ret, struct err *err);
/* ---- in config_files.c, which opens files ---- */

/* The file and the files that it names. -ENOENT, -EACCES, -EINVAL. */
int kube_config_load(const char *path, const char *context, struct kube_config *ret,
                     struct err *err);

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
/* host, port: $KUBERNETES_SERVICE_HOST and _PORT. -ENOENT: not in a cluster (NULL or no files). */
int kube_config_in_cluster(const char *dir, const char *host, const char *port,
                           struct kube_config *ret, struct err *err);
/* Reads *_file again, after a TLS failure; 1 if something is different, 0 if not. */
int kube_config_reload(struct kube_config *c, struct err *err);
