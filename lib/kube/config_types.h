/* The address of an API server and our credentials, once they are read: see config.h. */
#pragma once

#include <stdbool.h>

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
