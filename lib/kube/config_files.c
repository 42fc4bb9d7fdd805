/* The files of a configuration, see config.h. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "kube/config.h"

int kube_file_read(const char *path, char **ret, size_t *ret_len, struct err *err)
{
    struct buf text;
    struct err why;
    const int r = file_read(path, KUBE_FILE_MAX, &text, &why);
    if (r < 0) {
        return err_set(err, -r, "open %s", why.msg);
    }
    *ret_len = text.len;
    *ret = buf_take(&text);
    return 0;
}

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

struct config_texts {
    VEC(struct kube_config_text) list; /* path and text are owned */
};

static void config_texts_done(struct config_texts *texts)
{
    vec_each (struct kube_config_text, t, &texts->list) {
        free((char *)(uintptr_t)t->path);
        free((char *)(uintptr_t)t->text);
    }
    vec_done(&texts->list);
}

static int add_text(struct config_texts *texts, const char *path, struct err *err)
{
    char *text;
    size_t len;
    const int r = kube_file_read(path, &text, &len, err);
    if (r < 0) {
        return err_wrap(err, r, "kubeconfig");
    }
    *vec_push(&texts->list) = (struct kube_config_text){xstrdup(path), text, len};
    return 0;
}

/* Those of the list that exist, each once. */
static int read_list(struct config_texts *texts, const char *list, struct err *err)
{
    struct err missing = {0}; /* the first file that does not exist */
    while (list[0] != '\0') {
        const size_t len = strcspn(list, ":");
        _cleanup_(freep) char *path = xstrndup(list, len);
        list += len + (list[len] == ':');
        if (len == 0 || vec_any(&texts->list, t, str_eq(t->path, path))) {
            continue;
        }
        struct err failure = {0};
        const int r = add_text(texts, path, &failure);
        if (r < 0 && r != -ENOENT) {
            return err_set(err, -r, "%s", failure.msg);
        }
        missing = missing.code == 0 ? failure : missing;
    }
    if (texts->list.len > 0) {
        return 0;
    }
    return missing.code == 0 ? err_set(err, ENOENT, "kubeconfig: the list names no file")
                             : err_set(err, ENOENT, "%s", missing.msg);
}

static int load_texts(const struct config_texts *texts, const char *context,
                      struct kube_config *ret, struct err *err)
{
    struct kube_config config = {0};
    int r = kube_config_parse(texts->list.items, texts->list.len, context, &config, err);
    if (r < 0) {
        return r;
    }
    r = kube_config_reload(&config, err);
    if (r < 0) {
        (void)err_wrap(err, r, "kubeconfig %s, context '%s'", texts->list.items[0].path,
                       config.context);
        kube_config_done(&config);
        return r;
    }
    *ret = config;
    return 0;
}

int kube_config_load(const char *path, const char *context, struct kube_config *ret,
                     struct err *err)
{
    _cleanup_(config_texts_done) struct config_texts texts = {0};
    const int r = add_text(&texts, path, err);
    return r < 0 ? r : load_texts(&texts, context, ret, err);
}

int kube_config_load_list(const char *list, const char *context, struct kube_config *ret,
                          struct err *err)
{
    _cleanup_(config_texts_done) struct config_texts texts = {0};
    const int r = read_list(&texts, list, err);
    return r < 0 ? r : load_texts(&texts, context, ret, err);
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
    r = r < 0 ? r : kube_file_read(config.token_file, &token, &len, err);
    free(token); /* credentials.c reads it again; here it must only exist */
    if (r < 0) {
        kube_config_done(&config);
        return err_wrap(err, r, "the pod's service account");
    }
    *ret = config;
    return 0;
}
