/* Merging kubeconfigs and reading a context, see config.h. config_files.c opens the files. */
#include "kube/config.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/str_list.h"
#include "base/vec_walk.h"
#include "kube/config_read.h"

/* The texts of a configuration, which are owned. */
static const size_t text_offsets[] = {
    offsetof(struct kube_config, server),     offsetof(struct kube_config, ns),
    offsetof(struct kube_config, context),    offsetof(struct kube_config, tls_server_name),
    offsetof(struct kube_config, proxy_url),  offsetof(struct kube_config, ca_pem),
    offsetof(struct kube_config, cert_pem),   offsetof(struct kube_config, key_pem),
    offsetof(struct kube_config, ca_file),    offsetof(struct kube_config, cert_file),
    offsetof(struct kube_config, key_file),   offsetof(struct kube_config, token),
    offsetof(struct kube_config, token_file), offsetof(struct kube_config, exec_extension)};

static char **text_at(struct kube_config *c, size_t i)
{
    return (char **)((char *)c + text_offsets[i]);
}

void kube_config_done(struct kube_config *c)
{
    for (size_t i = 0; i < COUNT_OF(text_offsets); i++) {
        free(*text_at(c, i));
    }
    str_list_free(c->impersonation);
    config_exec_free(c->exec);
    *c = (struct kube_config){0};
}

struct kube_config kube_config_copy(const struct kube_config *c)
{
    struct kube_config copy = *c;
    for (size_t i = 0; i < COUNT_OF(text_offsets); i++) {
        char **text = text_at(&copy, i);
        *text = xstrdup_or_null(*text);
    }
    copy.impersonation = str_list_dup(c->impersonation);
    copy.exec = config_exec_copy(c->exec);
    return copy;
}

/* --- the files together --- */

struct source {
    const char *path;
    struct node *root;
};

struct sources {
    VEC(struct source) list; /* in the order of precedence */
};

static void sources_done(struct sources *sources)
{
    vec_each (struct source, s, &sources->list) {
        tree_free(s->root);
    }
    vec_done(&sources->list);
}

/* The entry of a list of maps with this name; NULL if none exists. */
static const struct node *entry_of(const struct node *entries, const char *name)
{
    return entries == NULL || entries->kind != NODE_SEQ
               ? NULL
               : array_find_item(entries->children, entries->n_children, entry,
                                 str_eq_or_null(tree_get_text(entry, "name"), name));
}

/* The map under LIST[name == `name`].KEY, and a reader of its file. The first match wins. `r` and
 * `mark` say where the name is. */
static int find_named(const struct config_reader *r, const struct sources *sources,
                      const char *list, const char *key, const char *name, struct mark mark,
                      const struct node **ret, struct config_reader *ret_reader)
{
    vec_each (const struct source, s, &sources->list) {
        const struct node *entry = entry_of(tree_get(s->root, list), name);
        if (entry == NULL) {
            continue;
        }
        *ret_reader = (struct config_reader){s->path, r->config, r->err};
        *ret = tree_get(entry, key);
        return *ret != NULL && (*ret)->kind == NODE_MAP
                   ? 0
                   : config_fail_at(ret_reader, entry->mark, "the entry '%s' of %s has no '%s'",
                                    name, list, key);
    }
    return config_fail_at(r, mark, "no '%s' in %s", name, list);
}

/* --- a cluster --- */

static int read_server(const struct config_reader *r, const struct node *cluster)
{
    const struct node *server;
    int code = config_get_text(r, cluster, "server", &server);
    if (code < 0) {
        return code;
    }
    if (server == NULL) {
        return config_fail_at(r, cluster->mark, "the cluster has no server");
    }
    if (!str_has_prefix(server->s, "https://") && !str_has_prefix(server->s, "http://")) {
        return config_fail_at(r, server->mark, "server must be https://HOST:PORT (got '%s')",
                              server->s);
    }
    size_t len = strlen(server->s);
    while (len > 0 && server->s[len - 1] == '/') {
        len--;
    }
    r->config->server = xstrndup(server->s, len);
    return 0;
}

/* The message does not quote the URL, which may hold a password. */
static int read_proxy(const struct config_reader *r, const struct node *cluster)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const struct node *proxy;
    const int code = config_get_text(r, cluster, "proxy-url", &proxy);
    if (code < 0 || proxy == NULL) {
        return code;
    }
    if (array_any(schemes, COUNT_OF(schemes), it,
                  str_has_prefix(proxy->s, *it) && proxy->s[strlen(*it)] != '\0')) {
        r->config->proxy_url = xstrdup(proxy->s);
        return 0;
    }
    return config_fail_at(
        r, proxy->mark,
        "proxy-url must be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT");
}

/* What the cluster's entry says to credential plugins, as it is. */
static void read_extension(const struct config_reader *r, const struct node *cluster)
{
    const struct node *entry =
        entry_of(tree_get(cluster, "extensions"), "client.authentication.k8s.io/exec");
    const struct node *extension = tree_get(entry, "extension");
    if (extension != NULL) {
        json_auto_t *json = tree_to_json(extension);
        r->config->exec_extension = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    }
}

static int read_cluster(const struct config_reader *r, const struct node *cluster)
{
    struct kube_config *c = r->config;
    int code = config_get_bool(r, cluster, "insecure-skip-tls-verify", &c->is_insecure);
    code =
        code < 0 ? code : config_get_bool(r, cluster, "disable-compression", &c->is_uncompressed);
    code = code < 0 ? code : read_server(r, cluster);
    code = code < 0 ? code
                    : config_copy_pem(r, cluster, "certificate-authority", &c->ca_pem, &c->ca_file);
    code = code < 0 ? code : config_copy_text(r, cluster, "tls-server-name", &c->tls_server_name);
    code = code < 0 ? code : read_proxy(r, cluster);
    read_extension(r, cluster);
    if (code == 0 && c->is_insecure && (c->ca_pem != NULL || c->ca_file != NULL)) {
        return config_fail_at(
            r, tree_get(cluster, "insecure-skip-tls-verify")->mark,
            "insecure-skip-tls-verify contradicts certificate-authority; remove one of them");
    }
    return code;
}

/* --- a context --- */

/* The current context's name and its position; an error if no file sets one. */
static int find_current(struct config_reader *r, const struct sources *sources,
                        const struct node **ret)
{
    const char *first = r->path;
    vec_each (const struct source, s, &sources->list) {
        r->path = s->path;
        const int code = config_get_text(r, s->root, "current-context", ret);
        if (code < 0 || *ret != NULL) {
            return code;
        }
    }
    r->path = first;
    return config_fail_at(r, (struct mark){0},
                          "no current-context: choose one with --context, or "
                          "kubectl config use-context NAME");
}

static int read_named(const struct config_reader *r, const struct sources *sources,
                      const char *list, const char *key, const struct node *name,
                      int (*read)(const struct config_reader *r, const struct node *map))
{
    const struct node *map;
    struct config_reader there;
    const int code = find_named(r, sources, list, key, name->s, name->mark, &map, &there);
    return code < 0 ? code : read(&there, map);
}

static int read_context(const struct config_reader *r, const struct sources *sources,
                        const struct node *context)
{
    const struct node *cluster, *user;
    int code = config_copy_text(r, context, "namespace", &r->config->ns);
    code = code < 0 ? code : config_get_text(r, context, "cluster", &cluster);
    if (code == 0 && cluster == NULL) {
        return config_fail_at(r, context->mark, "the context '%s' has no cluster",
                              r->config->context);
    }
    code = code < 0 ? code : read_named(r, sources, "clusters", "cluster", cluster, read_cluster);
    code = code < 0 ? code : config_get_text(r, context, "user", &user);
    if (code < 0 || user == NULL) {
        return code; /* no user: an open server, or a kubectl proxy */
    }
    return read_named(r, sources, "users", "user", user, config_read_user);
}

static int read_sources(const struct sources *sources, const char *name, struct kube_config *config,
                        struct err *err)
{
    struct config_reader r = {sources->list.items[0].path, config, err}, there;
    struct mark mark = {0};
    const struct node *current, *context;
    int code = 0;
    if (name == NULL) {
        code = find_current(&r, sources, &current);
        if (code < 0) {
            return code;
        }
        name = current->s;
        mark = current->mark;
    }
    code = find_named(&r, sources, "contexts", "context", name, mark, &context, &there);
    if (code < 0) {
        return code;
    }
    config->context = xstrdup(name);
    return read_context(&there, sources, context);
}

/* Adds the tree of the text. */
static int add_source(struct sources *sources, const struct kube_config_text *text, struct err *err)
{
    const struct config_reader r = {text->path, NULL, err};
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root;
    if (tree_parse(text->text, text->len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        const struct diag *first = &diags.list.items[0];
        return config_fail_at(
            &r, first->mark, "%s%s%s", first->message,
            first->fix == NULL ? "" : "; fix: ", first->fix == NULL ? "" : first->fix);
    }
    *vec_push(&sources->list) = (struct source){text->path, root};
    return root->kind == NODE_MAP
               ? 0
               : config_fail_at(&r, root->mark, "this is not a kubeconfig: expected a map");
}

int kube_config_parse(const struct kube_config_text *texts, size_t n, const char *context,
                      struct kube_config *ret, struct err *err)
{
    struct kube_config config = {0};
    _cleanup_(sources_done) struct sources sources = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        const bool is_last_hope = i + 1 == n && sources.list.len == 0;
        const bool is_blank = strspn(texts[i].text, " \t\r\n") == texts[i].len;
        if (is_last_hope || !is_blank) {
            code = add_source(&sources, &texts[i], err);
        }
    }
    code = code < 0 ? code : read_sources(&sources, context, &config, err);
    if (code < 0) {
        kube_config_done(&config);
        return code;
    }
    *ret = config;
    return 0;
}
