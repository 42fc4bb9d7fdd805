/* Merging kubeconfigs and reading a context, see config.h. config_files.c opens the files. */
#include "kube/config.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
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
    if (c->exec != NULL) {
        copy.exec = xnew(struct kube_exec);
        *copy.exec = *c->exec;
        copy.exec->argv = str_list_dup(c->exec->argv);
        copy.exec->env = str_list_dup(c->exec->env);
        copy.exec->api_version = xstrdup(c->exec->api_version);
        copy.exec->install_hint = xstrdup_or_null(c->exec->install_hint);
    }
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

/* The map under LIST[name == `name`].KEY, and a reader of its file; NULL if it is missing. The
 * first match wins. `r` and `mark` say where the name is. */
static const struct node *find_named(const struct config_reader *r, const struct sources *sources,
                                     const char *list, const char *key, const char *name,
                                     struct mark mark, struct config_reader *ret_reader)
{
    vec_each (const struct source, s, &sources->list) {
        const struct node *entry = entry_of(tree_get(s->root, list), name);
        if (entry == NULL) {
            continue;
        }
        *ret_reader = (struct config_reader){s->path, r->config, r->err};
        const struct node *map = tree_get(entry, key);
        if (map != NULL && map->kind == NODE_MAP) {
            return map;
        }
        config_fail_at(ret_reader, entry->mark, "the entry '%s' of %s has no '%s'", name, list,
                       key);
        return NULL;
    }
    config_fail_at(r, mark, "no '%s' in %s", name, list);
    return NULL;
}

/* --- a cluster --- */

static void read_server(const struct config_reader *r, const struct node *cluster)
{
    const struct node *server = config_get_text(r, cluster, "server");
    if (server == NULL) {
        config_fail_at(r, cluster->mark, "the cluster has no server");
        return;
    }
    if (!str_has_prefix(server->s, "https://") && !str_has_prefix(server->s, "http://")) {
        config_fail_at(r, server->mark, "server must be https://HOST:PORT (got '%s')", server->s);
    }
    size_t len = strlen(server->s);
    while (len > 0 && server->s[len - 1] == '/') {
        len--;
    }
    r->config->server = xstrndup(server->s, len);
}

/* The message does not quote the URL, which may hold a password. */
static void read_proxy(const struct config_reader *r, const struct node *cluster)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const struct node *proxy = config_get_text(r, cluster, "proxy-url");
    if (proxy == NULL) {
        return;
    }
    if (!array_any(schemes, COUNT_OF(schemes), it,
                   str_has_prefix(proxy->s, *it) && proxy->s[strlen(*it)] != '\0')) {
        config_fail_at(
            r, proxy->mark,
            "proxy-url must be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT");
    }
    r->config->proxy_url = xstrdup(proxy->s);
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

static void read_cluster(const struct config_reader *r, const struct node *cluster)
{
    struct kube_config *c = r->config;
    c->is_insecure = config_get_bool(r, cluster, "insecure-skip-tls-verify");
    c->is_uncompressed = config_get_bool(r, cluster, "disable-compression");
    read_server(r, cluster);
    config_copy_pem(r, cluster, "certificate-authority", &c->ca_pem, &c->ca_file);
    config_copy_text(r, cluster, "tls-server-name", &c->tls_server_name);
    read_proxy(r, cluster);
    read_extension(r, cluster);
    if (c->is_insecure && (c->ca_pem != NULL || c->ca_file != NULL)) {
        config_fail_at(
            r, tree_get(cluster, "insecure-skip-tls-verify")->mark,
            "insecure-skip-tls-verify contradicts certificate-authority; remove one of them");
    }
}

/* --- a context --- */

static void read_named(const struct config_reader *r, const struct sources *sources,
                       const char *list, const char *key, const struct node *name,
                       void (*read)(const struct config_reader *r, const struct node *map))
{
    struct config_reader there;
    const struct node *map = find_named(r, sources, list, key, name->s, name->mark, &there);
    if (map != NULL) {
        read(&there, map);
    }
}

static void read_context(const struct config_reader *r, const struct sources *sources,
                         const struct node *context)
{
    config_copy_text(r, context, "namespace", &r->config->ns);
    const struct node *cluster = config_get_text(r, context, "cluster");
    if (cluster == NULL) {
        config_fail_at(r, context->mark, "the context '%s' has no cluster", r->config->context);
        return;
    }
    read_named(r, sources, "clusters", "cluster", cluster, read_cluster);
    const struct node *user = config_get_text(r, context, "user");
    if (user != NULL) { /* an open server or a kubectl proxy needs none */
        read_named(r, sources, "users", "user", user, config_read_user);
    }
}

/* Reads the context of that name. NULL stands for the current one, which the first file that has a
 * current-context names. */
static void read_sources(struct config_reader *r, const struct sources *sources, const char *name)
{
    const struct node *current = NULL;
    for (size_t i = 0; name == NULL && current == NULL && i < sources->list.len; i++) {
        r->path = sources->list.items[i].path;
        current = config_get_text(r, sources->list.items[i].root, "current-context");
    }
    if (name == NULL && current == NULL) {
        r->path = sources->list.items[0].path;
        config_fail_at(r, (struct mark){0},
                       "no current-context: choose one with --context, or "
                       "kubectl config use-context NAME");
        return;
    }
    struct config_reader there;
    name = name != NULL ? name : current->s;
    const struct node *context =
        find_named(r, sources, "contexts", "context", name,
                   current == NULL ? (struct mark){0} : current->mark, &there);
    if (context != NULL) {
        r->config->context = xstrdup(name);
        read_context(&there, sources, context);
    }
}

/* Adds the tree of the text. */
static void add_source(struct config_reader *r, struct sources *sources,
                       const struct kube_config_text *text)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root;
    r->path = text->path;
    if (tree_parse(text->text, text->len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        const struct diag *first = &diags.list.items[0];
        config_fail_at(r, first->mark, "%s%s%s", first->message,
                       first->fix == NULL ? "" : "; fix: ", first->fix == NULL ? "" : first->fix);
        return;
    }
    *vec_push(&sources->list) = (struct source){text->path, root};
    if (root->kind != NODE_MAP) {
        config_fail_at(r, root->mark, "this is not a kubeconfig: expected a map");
    }
}

int kube_config_parse(const struct kube_config_text *texts, size_t n, const char *context,
                      struct kube_config *ret, struct err *err)
{
    struct kube_config config = {0};
    struct err failure = {0};
    struct config_reader r = {NULL, &config, &failure};
    _cleanup_(sources_done) struct sources sources = {0};
    for (size_t i = 0; failure.code == 0 && i < n; i++) {
        const bool is_last_hope = i + 1 == n && sources.list.len == 0;
        const bool is_blank = strspn(texts[i].text, " \t\r\n") == texts[i].len;
        if (is_last_hope || !is_blank) {
            add_source(&r, &sources, &texts[i]);
        }
    }
    if (failure.code == 0) {
        r.path = sources.list.items[0].path;
        read_sources(&r, &sources, context);
    }
    if (failure.code != 0) {
        kube_config_done(&config);
        return err_set(err, failure.code, "%s", failure.msg);
    }
    *ret = config;
    return 0;
}
