/* The files of a configuration, see config.h. */
#include <string.h>

#include "base/mem.h"
#include "kube/config.h"
#include "kube/file.h"

/* Reads *pem from `file`, unless that is NULL. 1 if the text has changed. */
static int read_pem(const char *file, char **pem, struct err *err)
{
    if (file == NULL) {
        return 0;
    }
    char *text;
    size_t len;
    const int r = kube_file_read(file, &text, &len, err);
    if (r < 0) {
        return r;
    }
    if (strstr(text, "-----BEGIN ") == NULL) {
        free(text);
        return err_set(err, EINVAL, "%s: not PEM text", file);
    }
    if (*pem != NULL && strcmp(*pem, text) == 0) {
        free(text);
        return 0;
    }
    free(*pem);
    *pem = text;
    return 1;
}

int kube_config_reload(struct kube_config *c, struct err *err)
{
    const int ca = read_pem(c->ca_file, &c->ca_pem, err);
    const int cert = ca < 0 ? 0 : read_pem(c->cert_file, &c->cert_pem, err);
    const int key = ca < 0 || cert < 0 ? 0 : read_pem(c->key_file, &c->key_pem, err);
    if (ca < 0 || cert < 0 || key < 0) {
        return ca < 0 ? ca : cert < 0 ? cert : key;
    }
    return ca > 0 || cert > 0 || key > 0;
}

int kube_config_load(const char *path, const char *context, struct kube_config *ret,
                     struct err *err)
{
    char *text;
    size_t len;
    struct kube_config config = {0};
    int r = kube_file_read(path, &text, &len, err);
    if (r < 0) {
        return err_wrap(err, r, "kubeconfig");
    }
    r = kube_config_parse(path, text, len, context, &config, err);
    free(text);
    if (r < 0) {
        return r;
    }
    r = kube_config_reload(&config, err);
    if (r < 0) {
        (void)err_wrap(err, r, "kubeconfig %s, context '%s'", path, config.context);
        kube_config_done(&config);
        return r;
    }
    *ret = config;
    return 0;
}

static char *in_dir(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

/* The namespace of the pod, NULL if unknown. */
static char *read_namespace(const char *dir)
{
    _cleanup_(freep) char *path = in_dir(dir, "namespace");
    char *text;
    size_t len;
    if (kube_file_read(path, &text, &len, NULL) < 0) {
        return NULL;
    }
    text[strcspn(text, " \t\r\n")] = '\0';
    return text;
}

int kube_config_in_cluster(const char *dir, const char *host, const char *port,
                           struct kube_config *ret, struct err *err)
{
    if (host == NULL || host[0] == '\0' || port == NULL || port[0] == '\0') {
        return err_set(err, ENOENT,
                       "not in a cluster: KUBERNETES_SERVICE_HOST is not set; outside "
                       "one, name a kubeconfig");
    }
    const char *const bracket = strchr(host, ':') == NULL ? "" : "[";
    struct kube_config config = {
        .server = xasprintf("https://%s%s%s:%s", bracket, host, bracket[0] == '[' ? "]" : "", port),
        .context = xstrdup("in-cluster"),
        .ns = read_namespace(dir),
        .ca_file = in_dir(dir, "ca.crt"),
        .token_file = in_dir(dir, "token"),
    };
    char *token = NULL;
    size_t len;
    int r = kube_config_reload(&config, err);
    if (r >= 0) {
        r = kube_file_read(config.token_file, &token, &len, err);
    }
    free(token); /* credentials.c reads it again; here it must only exist */
    if (r < 0) {
        kube_config_done(&config);
        return err_wrap(err, r, "the pod's service account");
    }
    *ret = config;
    return 0;
}
