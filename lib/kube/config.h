/* The API server's address and our credentials: from kubeconfig files, or from a pod's service
 * account. Reads files but no environment variables: the caller passes files, host and port.
 *
 * Files are merged as kubectl merges those of $KUBECONFIG: of a context, a cluster or a user the
 * first file that has the name wins, with all its fields; current-context comes from the first file
 * that sets it. A relative path is relative to the folder of the file that it is in.
 * docs/cluster-access.md lists the fields. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A command that answers with credentials (client.authentication.k8s.io). */
enum kube_exec_mode {
    KUBE_EXEC_IF_AVAILABLE, /* a person may answer its questions */
    KUBE_EXEC_NEVER,
    KUBE_EXEC_ALWAYS, /* it cannot work without one */
};
struct kube_exec {
    char **argv; /* the command, with a '/' or to be found in PATH; NULL at the end; owned */
    char **env;  /* "NAME=value" in addition to those that it inherits, NULL at the end; owned */
    char *api_version, *install_hint; /* owned; the hint may be NULL */
    enum kube_exec_mode mode;
    bool gets_cluster; /* $KUBERNETES_EXEC_INFO names the cluster */
};

struct kube_config {
    char *server;  /* "https://host:6443" or with a path; no '/' at the end; owned like all here */
    char *ns;      /* NULL: the context names none */
    char *context; /* for messages; "in-cluster" inside one */
    char *tls_server_name; /* NULL: the host's name */
    char *proxy_url;       /* http, https or socks5, perhaps with a password; NULL: $HTTPS_PROXY */
    bool is_insecure;      /* the server's certificate is not verified */
    bool is_uncompressed;  /* answers are not compressed */
    /* PEM texts, NULL if none; *_file if they came from a file that is read again. */
    char *ca_pem, *cert_pem, *key_pem;
    char *ca_file, *cert_file, *key_file;
    char *token;      /* fixed, NULL if none */
    char *token_file; /* read again by credentials.h; wins over token */
    /* Lines "Impersonate-...: value", NULL at the end; NULL: the user acts as itself. */
    char **impersonation;
    struct kube_exec *exec; /* NULL: none, or a token is there */
    char *exec_extension;   /* JSON of the cluster for the plugin, NULL: none */
};

void kube_config_done(struct kube_config *c);
struct kube_config kube_config_copy(const struct kube_config *c);

struct kube_config_text {
    const char *path; /* for messages, and for relative paths */
    const char *text;
    size_t len;
};
/* Pure: parses the texts. It does not open the files that they name; their paths are in *_file.
 * `context` NULL: the current one. n >= 1. -EINVAL with file:line:column. */
int kube_config_parse(const struct kube_config_text *texts, size_t n, const char *context,
                      struct kube_config *ret, struct err *err);
/* ---- in config_files.c, which opens files ---- */

/* Reads the file and the files that it names. -ENOENT, -EACCES, -EINVAL. */
int kube_config_load(const char *path, const char *context, struct kube_config *ret,
                     struct err *err);
/* The same for a list as in $KUBECONFIG, with ':' between the paths. Files that do not exist are
 * skipped; -ENOENT if none exists. */
int kube_config_load_list(const char *list, const char *context, struct kube_config *ret,
                          struct err *err);

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
/* host, port: $KUBERNETES_SERVICE_HOST and _PORT. -ENOENT: not in a cluster (NULL or no files). */
int kube_config_in_cluster(const char *dir, const char *host, const char *port,
                           struct kube_config *ret, struct err *err);
/* Reads *_file again, after a TLS failure. 1 if something changed, 0 if not. */
int kube_config_reload(struct kube_config *c, struct err *err);

#define KUBE_FILE_MAX ((size_t)1024 * 1024)
/* A kubeconfig, a certificate, a token: the whole file as an owned, NUL-terminated text. -ENOENT,
 * -EACCES, -E2BIG. */
int kube_file_read(const char *path, char **ret, size_t *ret_len, struct err *err);
