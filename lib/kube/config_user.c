/* The user of a kubeconfig, see config_read.h. */
#include "kube/config_read.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/texts.h"
#include "kube/exec_credential.h"

static int read_token(const struct config_reader *r, const struct node *user)
{
    const struct node *token;
    int code = config_get_text(r, user, "token", &token);
    if (code < 0 || token == NULL) {
        return code;
    }
    const size_t fault = kube_token_fault(token->s);
    if (fault > 0) {
        return config_fail_at(r, token->mark, "token: byte %zu is not allowed in a token", fault);
    }
    r->config->token = xstrdup(token->s);
    return 0;
}

/* --- impersonation --- */

/* `value` is a text of the file that becomes the value of a header. */
static int add_line(const struct config_reader *r, struct texts *lines, const char *header,
                    const struct node *value)
{
    if (value->kind != NODE_STRING) {
        return config_fail_at(r, value->mark, "who is impersonated must be a string, not %s",
                              node_kind_to_string(value->kind));
    }
    for (const char *p = value->s; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            return config_fail_at(r, value->mark,
                                  "control characters are not allowed in who is impersonated");
        }
    }
    *vec_push(&lines->list) = xasprintf("%s: %s", header, value->s);
    return 0;
}

static int add_list(const struct config_reader *r, struct texts *lines, const char *header,
                    const struct node *list, const char *key)
{
    if (list->kind != NODE_SEQ) {
        return config_fail_at(r, list->mark, "%s must be a list of strings", key);
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < list->n_children; i++) {
        code = add_line(r, lines, header, list->children[i]);
    }
    return code;
}

/* Of as-user-extra: its keys become names of headers, percent-encoded as client-go does. */
static char *extra_header(const char *key)
{
    struct buf name = BUF_INIT;
    buf_puts(&name, "Impersonate-Extra-");
    buf_put_percent(&name, key, BUF_ALNUM "!#$&'*+-.^_`|~");
    return buf_take(&name);
}

static int add_extra(const struct config_reader *r, struct texts *lines, const struct node *extra)
{
    if (extra->kind != NODE_MAP) {
        return config_fail_at(r, extra->mark, "as-user-extra must be a map of lists");
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < extra->n_children; i++) {
        const struct node *list = extra->children[i];
        _cleanup_(freep) char *header = extra_header(list->key);
        code = add_list(r, lines, header, list, list->key);
    }
    return code;
}

static bool is_there(const struct node *node)
{
    return node != NULL && node->kind != NODE_NULL &&
           !(node->kind == NODE_STRING && node->s[0] == '\0') &&
           !((node->kind == NODE_SEQ || node->kind == NODE_MAP) && node->n_children == 0);
}

static int read_lines(const struct config_reader *r, const struct node *user, struct texts *lines)
{
    const struct node *as = tree_get(user, "as"), *uid = tree_get(user, "as-uid"),
                      *groups = tree_get(user, "as-groups"),
                      *extra = tree_get(user, "as-user-extra");
    const struct node *more = is_there(groups)  ? groups
                              : is_there(uid)   ? uid
                              : is_there(extra) ? extra
                                                : NULL;
    if (!is_there(as)) {
        return more == NULL
                   ? 0
                   : config_fail_at(r, more->key_mark,
                                    "%s without as: name the user to act as, too", more->key);
    }
    int code = add_line(r, lines, "Impersonate-User", as);
    if (code == 0 && is_there(uid)) {
        code = add_line(r, lines, "Impersonate-Uid", uid);
    }
    if (code == 0 && is_there(groups)) {
        code = add_list(r, lines, "Impersonate-Group", groups, "as-groups");
    }
    if (code == 0 && is_there(extra)) {
        code = add_extra(r, lines, extra);
    }
    return code;
}

static int read_impersonation(const struct config_reader *r, const struct node *user)
{
    struct texts lines = {0};
    const int code = read_lines(r, user, &lines);
    if (lines.list.len > 0) {
        *vec_push(&lines.list) = NULL;
    }
    r->config->impersonation = lines.list.items;
    return code;
}

/* --- the user --- */

static int read_certificate(const struct config_reader *r, const struct node *user)
{
    struct kube_config *c = r->config;
    int code = config_copy_pem(r, user, "client-certificate", &c->cert_pem, &c->cert_file);
    code = code < 0 ? code : config_copy_pem(r, user, "client-key", &c->key_pem, &c->key_file);
    const bool has_cert = c->cert_pem != NULL || c->cert_file != NULL;
    const bool has_key = c->key_pem != NULL || c->key_file != NULL;
    if (code == 0 && has_cert != has_key) {
        return config_fail_at(r, user->mark, "%s without %s",
                              has_cert ? "client-certificate" : "client-key",
                              has_cert ? "client-key" : "client-certificate");
    }
    return code;
}

int config_read_user(const struct config_reader *r, const struct node *user)
{
    static const struct {
        const char *key, *advice;
    } refused[] = {
        {"auth-provider", "Kubernetes 1.26 removed it; use the exec plugin of your provider (GKE: "
                          "gke-gcloud-auth-plugin, AKS: kubelogin convert-kubeconfig, OIDC: "
                          "kubectl oidc-login)"},
        {"username", "Kubernetes 1.19 removed passwords; use a client certificate or a token "
                     "(kubectl create token NAME)"},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < COUNT_OF(refused); i++) {
        code = config_refuse(r, user, refused[i].key, refused[i].advice);
    }
    code = code < 0 ? code : read_certificate(r, user);
    code = code < 0 ? code : read_token(r, user);
    code = code < 0 ? code : config_copy_path(r, user, "tokenFile", &r->config->token_file);
    code = code < 0 ? code : config_read_exec(r, user, &r->config->exec);
    if (r->config->token != NULL || r->config->token_file != NULL) {
        config_exec_free(take_ptr(r->config->exec)); /* as kubectl: it is not asked */
    }
    return code < 0 ? code : read_impersonation(r, user);
}
