/* Parsing a kubeconfig, see config.h. config_files.c opens the files. */
#include "kube/config.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "doc/tree.h"

void kube_config_done(struct kube_config *c)
{
    char **const owned[] = {&c->server,    &c->ns,       &c->context, &c->tls_server_name,
                            &c->ca_pem,    &c->cert_pem, &c->key_pem, &c->ca_file,
                            &c->cert_file, &c->key_file, &c->token,   &c->token_file};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        free(*owned[i]);
    }
    *c = (struct kube_config){0};
}

struct reader {
    const char *path; /* of the file, for messages */
    struct kube_config *config;
    struct err *err;
};

static int fail_at(const struct reader *r, struct mark mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int fail_at(const struct reader *r, struct mark mark, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    _cleanup_(freep) char *text = xvasprintf(fmt, ap);
    va_end(ap);
    return mark.line == 0
               ? err_set(r->err, EINVAL, "%s: %s", r->path, text)
               : err_set(r->err, EINVAL, "%s:%u:%u: %s", r->path, mark.line, mark.column, text);
}

/* A string of `map`; NULL if absent, null or empty. */
static int get_text(const struct reader *r, const struct node *map, const char *key,
                    const struct node **ret)
{
    const struct node *node = tree_get(map, key);
    *ret = NULL;
    if (node == NULL || node->kind == NODE_NULL) {
        return 0;
    }
    if (node->kind != NODE_STRING) {
        return fail_at(r, node->mark, "%s must be a string, not %s", key,
                       node_kind_to_string(node->kind));
    }
    *ret = node->s[0] == '\0' ? NULL : node;
    return 0;
}

static int copy_text(const struct reader *r, const struct node *map, const char *key, char **ret)
{
    const struct node *node;
    const int code = get_text(r, map, key, &node);
    if (code == 0 && node != NULL) {
        *ret = xstrdup(node->s);
    }
    return code;
}

/* The path of a file, relative to the kubeconfig's folder. */
static int copy_path(const struct reader *r, const struct node *map, const char *key, char **ret)
{
    const struct node *node;
    const int code = get_text(r, map, key, &node);
    if (code < 0 || node == NULL) {
        return code;
    }
    const char *slash = strrchr(r->path, '/');
    *ret = node->s[0] == '/' || slash == NULL
               ? xstrdup(node->s)
               : xasprintf("%.*s/%s", (int)(slash - r->path), r->path, node->s);
    return 0;
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* White space is skipped. -EINVAL. */
static int decode_base64(const char *s, char **ret)
{
    struct buf out = BUF_INIT;
    unsigned bits = 0, n_bits = 0;
    for (; *s != '\0' && *s != '='; s++) {
        if (strchr(" \t\r\n", *s) != NULL) {
            continue;
        }
        const int value = base64_value(*s);
        if (value < 0) {
            buf_done(&out);
            return -EINVAL;
        }
        bits = bits << 6 | (unsigned)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            buf_putc(&out, (char)(bits >> n_bits & 0xff));
        }
    }
    if (s[strspn(s, "= \t\r\n")] != '\0' || n_bits >= 6 || out.len == 0 ||
        strlen(out.data) != out.len) {
        buf_done(&out);
        return -EINVAL;
    }
    *ret = buf_take(&out);
    return 0;
}

/* KEY-data, inline, or else KEY, a file. */
static int copy_pem(const struct reader *r, const struct node *map, const char *key, char **ret_pem,
                    char **ret_file)
{
    _cleanup_(freep) char *data_key = xasprintf("%s-data", key);
    const struct node *node;
    const int code = get_text(r, map, data_key, &node);
    if (code < 0 || node == NULL) {
        return code < 0 ? code : copy_path(r, map, key, ret_file);
    }
    if (decode_base64(node->s, ret_pem) < 0 || !str_has_prefix(*ret_pem, "-----BEGIN ")) {
        return fail_at(r, node->mark, "%s must be PEM text in base64", data_key);
    }
    return 0;
}

static int refuse(const struct reader *r, const struct node *map, const char *key,
                  const char *advice)
{
    const struct node *node = tree_get(map, key);
    if (node == NULL || node->kind == NODE_NULL ||
        (node->kind == NODE_STRING && node->s[0] == '\0')) {
        return 0;
    }
    return fail_at(r, node->key_mark, "%s is not supported: %s", key, advice);
}

/* The map under LIST[name == `name`].KEY; -EINVAL if there is none. The first match wins. */
static int find_named(const struct reader *r, const struct node *root, const char *list,
                      const char *key, const char *name, struct mark mark, const struct node **ret)
{
    const struct node *entries = tree_get(root, list);
    for (size_t i = 0; entries != NULL && entries->kind == NODE_SEQ && i < entries->n_children;
         i++) {
        const struct node *entry = entries->children[i];
        const struct node *entry_name = tree_get(entry, "name");
        if (entry_name == NULL || entry_name->kind != NODE_STRING ||
            strcmp(entry_name->s, name) != 0) {
            continue;
        }
        *ret = tree_get(entry, key);
        if (*ret == NULL || (*ret)->kind != NODE_MAP) {
            return fail_at(r, entry->mark, "the entry '%s' of %s has no '%s'", name, list, key);
        }
        return 0;
    }
    return fail_at(r, mark, "no '%s' in %s", name, list);
}

static int read_server(const struct reader *r, const struct node *cluster)
{
    const struct node *server;
    int code = get_text(r, cluster, "server", &server);
    if (code < 0) {
        return code;
    }
    if (server == NULL) {
        return fail_at(r, cluster->mark, "the cluster has no server");
    }
    if (!str_has_prefix(server->s, "https://") && !str_has_prefix(server->s, "http://")) {
        return fail_at(r, server->mark, "server must be https://HOST:PORT (got '%s')", server->s);
    }
    size_t len = strlen(server->s);
    while (len > 0 && server->s[len - 1] == '/') {
        len--;
    }
    r->config->server = xstrndup(server->s, len);
    return 0;
}

static int read_cluster(const struct reader *r, const struct node *cluster)
{
    struct kube_config *c = r->config;
    const struct node *insecure = tree_get(cluster, "insecure-skip-tls-verify");
    if (insecure != NULL && insecure->kind != NODE_BOOL) {
        return fail_at(r, insecure->mark, "insecure-skip-tls-verify must be true or false");
    }
    c->is_insecure = insecure != NULL && insecure->b;
    int code = read_server(r, cluster);
    if (code == 0) {
        code = copy_pem(r, cluster, "certificate-authority", &c->ca_pem, &c->ca_file);
    }
    if (code == 0) {
        code = copy_text(r, cluster, "tls-server-name", &c->tls_server_name);
    }
    if (code == 0) {
        code = refuse(r, cluster, "proxy-url", "set HTTPS_PROXY instead");
    }
    if (code == 0 && c->is_insecure && (c->ca_pem != NULL || c->ca_file != NULL)) {
        return fail_at(
            r, insecure->mark,
            "insecure-skip-tls-verify contradicts certificate-authority; remove one of them");
    }
    return code;
}

/* The token becomes part of a header. */
static int read_token(const struct reader *r, const struct node *user)
{
    const struct node *token;
    int code = get_text(r, user, "token", &token);
    if (code < 0 || token == NULL) {
        return code;
    }
    for (size_t i = 0; token->s[i] != '\0'; i++) {
        if ((unsigned char)token->s[i] <= ' ' || (unsigned char)token->s[i] >= 0x7f) {
            return fail_at(r, token->mark, "token: byte %zu is not allowed in a token", i + 1);
        }
    }
    r->config->token = xstrdup(token->s);
    return 0;
}

static int read_user(const struct reader *r, const struct node *user)
{
    static const char login[] =
        "use a context with a client certificate or a token (kubectl create token NAME)";
    struct kube_config *c = r->config;
    static const char *const refused[] = {"exec", "auth-provider", "username", "as", "as-groups"};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof(refused) / sizeof(refused[0]); i++) {
        code = refuse(r, user, refused[i], login);
    }
    if (code == 0) {
        code = copy_pem(r, user, "client-certificate", &c->cert_pem, &c->cert_file);
    }
    if (code == 0) {
        code = copy_pem(r, user, "client-key", &c->key_pem, &c->key_file);
    }
    if (code == 0) {
        code = read_token(r, user);
    }
    if (code == 0) {
        code = copy_path(r, user, "tokenFile", &c->token_file);
    }
    const bool has_cert = c->cert_pem != NULL || c->cert_file != NULL;
    const bool has_key = c->key_pem != NULL || c->key_file != NULL;
    if (code == 0 && has_cert != has_key) {
        return fail_at(r, user->mark, "%s without %s",
                       has_cert ? "client-certificate" : "client-key",
                       has_cert ? "client-key" : "client-certificate");
    }
    return code;
}

static int read_context(const struct reader *r, const struct node *root, const char *name)
{
    const struct node *wanted = NULL, *context, *cluster_name, *user_name, *map;
    int code = name != NULL ? 0 : get_text(r, root, "current-context", &wanted);
    if (code < 0) {
        return code;
    }
    if (name == NULL && wanted == NULL) {
        return fail_at(r, (struct mark){0},
                       "no current-context: choose one with --context, or "
                       "kubectl config use-context NAME");
    }
    name = name != NULL ? name : wanted->s;
    const struct mark mark = wanted == NULL ? (struct mark){0} : wanted->mark;
    code = find_named(r, root, "contexts", "context", name, mark, &context);
    if (code == 0) {
        r->config->context = xstrdup(name);
        code = copy_text(r, context, "namespace", &r->config->ns);
    }
    if (code == 0) {
        code = get_text(r, context, "cluster", &cluster_name);
    }
    if (code == 0 && cluster_name == NULL) {
        return fail_at(r, context->mark, "the context '%s' has no cluster", name);
    }
    if (code == 0) {
        code =
            find_named(r, root, "clusters", "cluster", cluster_name->s, cluster_name->mark, &map);
    }
    if (code == 0) {
        code = read_cluster(r, map);
    }
    if (code == 0) {
        code = get_text(r, context, "user", &user_name);
    }
    if (code < 0 || user_name == NULL) {
        return code; /* no user: an open server, or one behind kubectl proxy */
    }
    code = find_named(r, root, "users", "user", user_name->s, user_name->mark, &map);
    return code < 0 ? code : read_user(r, map);
}

int kube_config_parse(const char *path, const char *text, size_t len, const char *context,
                      struct kube_config *ret, struct err *err)
{
    struct kube_config config = {0};
    const struct reader r = {path, &config, err};
    struct diags diags = {0};
    struct node *root;
    int code = tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags);
    if (code < 0) {
        const struct diag *first = &diags.list.items[0];
        code = fail_at(&r, first->mark, "%s%s%s", first->message,
                       first->fix == NULL ? "" : "; fix: ", first->fix == NULL ? "" : first->fix);
        diags_done(&diags);
        return code;
    }
    diags_done(&diags);
    code = root->kind == NODE_MAP
               ? read_context(&r, root, context)
               : fail_at(&r, root->mark, "this is not a kubeconfig: expected a map");
    tree_free(root);
    if (code < 0) {
        kube_config_done(&config);
        return code;
    }
    *ret = config;
    return 0;
}
