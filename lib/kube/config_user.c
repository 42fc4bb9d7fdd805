/* The user of a kubeconfig, see config_read.h. */
#include "kube/config_read.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"

/* An empty value is as good as no value. */
static bool is_there(const struct node *node)
{
    return node != NULL && node->kind != NODE_NULL &&
           !(node->kind == NODE_STRING && node->s[0] == '\0') &&
           !((node->kind == NODE_SEQ || node->kind == NODE_MAP) && node->n_children == 0);
}

/* How many items a list has; `error` says what it must be. */
static size_t count_items(const struct config_reader *r, const struct node *list, const char *error)
{
    if (!is_there(list)) {
        return 0;
    }
    if (list->kind != NODE_SEQ) {
        config_fail_at(r, list->mark, "%s", error);
        return 0;
    }
    return list->n_children;
}

/* --- a token --- */

size_t kube_token_fault(const char *token)
{
    for (size_t i = 0; token[i] != '\0'; i++) {
        if ((unsigned char)token[i] <= ' ' || (unsigned char)token[i] >= 0x7f) {
            return i + 1;
        }
    }
    return 0;
}

/* --- the exec section --- */

#define GROUP "client.authentication.k8s.io/"

void config_exec_free(struct kube_exec *exec)
{
    if (exec == NULL) {
        return;
    }
    str_list_free(exec->argv);
    str_list_free(exec->env);
    free(exec->api_version);
    free(exec->install_hint);
    free(exec);
}

/* A name is found in PATH; a path is relative to the kubeconfig's folder. */
static char *read_command(const struct config_reader *r, const struct node *exec)
{
    const struct node *command = config_get_text(r, exec, "command");
    if (command == NULL) {
        config_fail_at(r, exec->mark, "exec has no command");
        return NULL;
    }
    return strchr(command->s, '/') == NULL ? xstrdup(command->s) : config_in_folder(r, command->s);
}

static char **read_argv(const struct config_reader *r, const struct node *exec)
{
    VEC(char *) argv = {0};
    *vec_push(&argv) = read_command(r, exec);
    const struct node *args = tree_get(exec, "args");
    const size_t n = count_items(r, args, "args must be a list of strings");
    for (size_t i = 0; i < n; i++) {
        const struct node *arg = args->children[i];
        if (arg->kind == NODE_STRING) {
            *vec_push(&argv) = xstrdup(arg->s);
        } else {
            config_fail_at(r, arg->mark, "an argument must be a string, not %s",
                           node_kind_to_string(arg->kind));
        }
    }
    *vec_push(&argv) = NULL;
    return argv.items;
}

static char **read_env(const struct config_reader *r, const struct node *exec)
{
    VEC(char *) env = {0};
    const struct node *entries = tree_get(exec, "env");
    const size_t n = count_items(r, entries, "env must be a list of {name, value}");
    for (size_t i = 0; i < n; i++) {
        const struct node *entry = entries->children[i];
        const struct node *name = tree_get(entry, "name"), *value = tree_get(entry, "value");
        if (name == NULL || name->kind != NODE_STRING || name->s[0] == '\0' ||
            strchr(name->s, '=') != NULL ||
            (value != NULL && value->kind != NODE_STRING && value->kind != NODE_NULL)) {
            config_fail_at(r, entry->mark,
                           "an entry of env must be {name: NAME, value: 'a string'}");
        } else {
            *vec_push(&env) = xasprintf("%s=%s", name->s, tree_get_text(entry, "value") ?: "");
        }
    }
    *vec_push(&env) = NULL;
    return env.items;
}

static char *read_version(const struct config_reader *r, const struct node *exec)
{
    const struct node *version = config_get_text(r, exec, "apiVersion");
    const char *text = version == NULL ? "" : version->s;
    if (!str_eq(text, GROUP "v1") && !str_eq(text, GROUP "v1beta1")) {
        config_fail_at(r, version == NULL ? exec->mark : version->mark,
                       "apiVersion of exec must be " GROUP "v1 or v1beta1 (got '%s'); write "
                       "the kubeconfig again with a current version of your provider's tool",
                       text);
    }
    return xstrdup(text);
}

static enum kube_exec_mode read_mode(const struct config_reader *r, const struct node *exec,
                                     const char *api_version)
{
    static const char *const names[] = {[KUBE_EXEC_IF_AVAILABLE] = "IfAvailable",
                                        [KUBE_EXEC_NEVER] = "Never",
                                        [KUBE_EXEC_ALWAYS] = "Always"};
    const struct node *mode = config_get_text(r, exec, "interactiveMode");
    const int index = mode == NULL ? -EINVAL : str_index(mode->s, names, COUNT_OF(names));
    if (index >= 0 || (mode == NULL && str_eq(api_version, GROUP "v1beta1"))) {
        return index < 0 ? KUBE_EXEC_IF_AVAILABLE : (enum kube_exec_mode)index;
    }
    config_fail_at(r, mode == NULL ? exec->mark : mode->mark,
                   "interactiveMode of exec must be Never, IfAvailable or Always (got '%s')",
                   mode == NULL ? "" : mode->s);
    return KUBE_EXEC_NEVER;
}

static void read_exec(const struct config_reader *r, const struct node *user)
{
    const struct node *exec = tree_get(user, "exec");
    if (exec == NULL || exec->kind == NODE_NULL) {
        return;
    }
    if (exec->kind != NODE_MAP) {
        config_fail_at(r, exec->mark, "exec must be a map, not %s",
                       node_kind_to_string(exec->kind));
        return;
    }
    struct kube_exec *e = r->config->exec = xnew(struct kube_exec);
    e->api_version = read_version(r, exec);
    e->argv = read_argv(r, exec);
    e->env = read_env(r, exec);
    e->mode = read_mode(r, exec, e->api_version);
    config_copy_text(r, exec, "installHint", &e->install_hint);
    e->gets_cluster = config_get_bool(r, exec, "provideClusterInfo");
}

/* --- impersonation --- */

/* `value` is a text of the file that becomes the value of a header. */
static void add_line(const struct config_reader *r, struct texts *lines, const char *header,
                     const struct node *value)
{
    if (value->kind != NODE_STRING) {
        config_fail_at(r, value->mark, "who is impersonated must be a string, not %s",
                       node_kind_to_string(value->kind));
        return;
    }
    for (const char *p = value->s; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            config_fail_at(r, value->mark,
                           "control characters are not allowed in who is impersonated");
            return;
        }
    }
    *vec_push(&lines->list) = xasprintf("%s: %s", header, value->s);
}

static void add_list(const struct config_reader *r, struct texts *lines, const char *header,
                     const struct node *list)
{
    _cleanup_(freep) char *error = xasprintf("%s must be a list of strings", list->key);
    const size_t n = count_items(r, list, error);
    for (size_t i = 0; i < n; i++) {
        add_line(r, lines, header, list->children[i]);
    }
}

/* The keys of as-user-extra become names of headers, percent-encoded as client-go does. */
static void add_extra(const struct config_reader *r, struct texts *lines, const struct node *extra)
{
    if (extra->kind != NODE_MAP) {
        config_fail_at(r, extra->mark, "as-user-extra must be a map of lists");
        return;
    }
    for (size_t i = 0; i < extra->n_children; i++) {
        _cleanup_(buf_done) struct buf header = BUF_INIT;
        buf_puts(&header, "Impersonate-Extra-");
        buf_put_percent(&header, extra->children[i]->key, BUF_ALNUM "!#$&'*+-.^_`|~");
        add_list(r, lines, buf_cstr(&header), extra->children[i]);
    }
}

static void read_impersonation(const struct config_reader *r, const struct node *user)
{
    const struct node *as = tree_get(user, "as"), *uid = tree_get(user, "as-uid"),
                      *groups = tree_get(user, "as-groups"),
                      *extra = tree_get(user, "as-user-extra");
    const struct node *more = is_there(groups)  ? groups
                              : is_there(uid)   ? uid
                              : is_there(extra) ? extra
                                                : NULL;
    if (!is_there(as)) {
        if (more != NULL) {
            config_fail_at(r, more->key_mark, "%s without as: name the user to act as, too",
                           more->key);
        }
        return;
    }
    struct texts lines = {0};
    add_line(r, &lines, "Impersonate-User", as);
    if (is_there(uid)) {
        add_line(r, &lines, "Impersonate-Uid", uid);
    }
    if (is_there(groups)) {
        add_list(r, &lines, "Impersonate-Group", groups);
    }
    if (is_there(extra)) {
        add_extra(r, &lines, extra);
    }
    *vec_push(&lines.list) = NULL;
    r->config->impersonation = lines.list.items;
}

/* --- the user --- */

static void read_certificate(const struct config_reader *r, const struct node *user)
{
    struct kube_config *c = r->config;
    config_copy_pem(r, user, "client-certificate", &c->cert_pem, &c->cert_file);
    config_copy_pem(r, user, "client-key", &c->key_pem, &c->key_file);
    const bool has_cert = c->cert_pem != NULL || c->cert_file != NULL;
    const bool has_key = c->key_pem != NULL || c->key_file != NULL;
    if (has_cert != has_key) {
        config_fail_at(r, user->mark, "%s without %s",
                       has_cert ? "client-certificate" : "client-key",
                       has_cert ? "client-key" : "client-certificate");
    }
}

static void read_token(const struct config_reader *r, const struct node *user)
{
    struct kube_config *c = r->config;
    config_copy_text(r, user, "token", &c->token);
    const size_t fault = c->token == NULL ? 0 : kube_token_fault(c->token);
    if (fault > 0) {
        config_fail_at(r, tree_get(user, "token")->mark,
                       "token: byte %zu is not allowed in a token", fault);
    }
    config_copy_path(r, user, "tokenFile", &c->token_file);
}

void config_read_user(const struct config_reader *r, const struct node *user)
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
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const struct node *node = tree_get(user, refused[i].key);
        if (is_there(node)) {
            config_fail_at(r, node->key_mark, "%s is not supported: %s", refused[i].key,
                           refused[i].advice);
        }
    }
    read_certificate(r, user);
    read_token(r, user);
    read_exec(r, user);
    if (r->config->token != NULL || r->config->token_file != NULL) {
        config_exec_free(take_ptr(r->config->exec)); /* kubectl does not run it either */
    }
    read_impersonation(r, user);
}
