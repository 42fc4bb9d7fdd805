/* The exec section of a user, see config_read.h. */
#include "kube/config_read.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/str_list.h"
#include "base/vec.h"

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

struct kube_exec *config_exec_copy(const struct kube_exec *exec)
{
    if (exec == NULL) {
        return NULL;
    }
    struct kube_exec *copy = xnew(struct kube_exec);
    *copy = *exec;
    copy->argv = str_list_dup(exec->argv);
    copy->env = str_list_dup(exec->env);
    copy->api_version = xstrdup(exec->api_version);
    copy->install_hint = xstrdup_or_null(exec->install_hint);
    return copy;
}

/* A name is found in PATH; a path is relative to the kubeconfig's folder. */
static int read_command(const struct config_reader *r, const struct node *exec, char **ret)
{
    const struct node *command;
    const int code = config_get_text(r, exec, "command", &command);
    if (code < 0) {
        return code;
    }
    if (command == NULL) {
        return config_fail_at(r, exec->mark, "exec has no command");
    }
    *ret = strchr(command->s, '/') == NULL ? xstrdup(command->s) : config_in_folder(r, command->s);
    return 0;
}

static int read_argv(const struct config_reader *r, const struct node *exec, char ***ret)
{
    VEC(char *) argv = {0};
    char *command = NULL;
    int code = read_command(r, exec, &command);
    *vec_push(&argv) = command;
    const struct node *args = code < 0 ? NULL : tree_get(exec, "args");
    if (args != NULL && args->kind != NODE_SEQ && args->kind != NODE_NULL) {
        code = config_fail_at(r, args->mark, "args must be a list of strings");
    }
    for (size_t i = 0; code == 0 && args != NULL && i < args->n_children; i++) {
        const struct node *arg = args->children[i];
        if (arg->kind == NODE_STRING) {
            *vec_push(&argv) = xstrdup(arg->s);
        } else {
            code = config_fail_at(r, arg->mark, "an argument must be a string, not %s",
                                  node_kind_to_string(arg->kind));
        }
    }
    *vec_push(&argv) = NULL;
    *ret = argv.items;
    return code;
}

static int read_variable(const struct config_reader *r, const struct node *entry, char **ret)
{
    const struct node *name = tree_get(entry, "name"), *value = tree_get(entry, "value");
    if (name == NULL || name->kind != NODE_STRING || name->s[0] == '\0' ||
        strchr(name->s, '=') != NULL ||
        (value != NULL && value->kind != NODE_STRING && value->kind != NODE_NULL)) {
        return config_fail_at(r, entry->mark,
                              "an entry of env must be {name: NAME, value: 'a string'}");
    }
    const bool has_value = value != NULL && value->kind == NODE_STRING;
    *ret = xasprintf("%s=%s", name->s, has_value ? value->s : "");
    return 0;
}

static int read_env(const struct config_reader *r, const struct node *exec, char ***ret)
{
    VEC(char *) env = {0};
    int code = 0;
    const struct node *entries = tree_get(exec, "env");
    if (entries != NULL && entries->kind != NODE_SEQ && entries->kind != NODE_NULL) {
        code = config_fail_at(r, entries->mark, "env must be a list of {name, value}");
    }
    for (size_t i = 0; code == 0 && entries != NULL && i < entries->n_children; i++) {
        char *line = NULL;
        code = read_variable(r, entries->children[i], &line);
        if (code == 0) {
            *vec_push(&env) = line;
        }
    }
    *vec_push(&env) = NULL;
    *ret = env.items;
    return code;
}

static int read_version(const struct config_reader *r, const struct node *exec, char **ret)
{
    const struct node *version;
    const int code = config_get_text(r, exec, "apiVersion", &version);
    if (code < 0) {
        return code;
    }
    const char *text = version == NULL ? "" : version->s;
    if (!str_eq(text, GROUP "v1") && !str_eq(text, GROUP "v1beta1")) {
        return config_fail_at(r, version == NULL ? exec->mark : version->mark,
                              "apiVersion of exec must be " GROUP "v1 or v1beta1 (got '%s'); write "
                              "the kubeconfig again with a current version of your provider's tool",
                              text);
    }
    *ret = xstrdup(text);
    return 0;
}

static int read_mode(const struct config_reader *r, const struct node *exec,
                     const char *api_version, enum kube_exec_mode *ret)
{
    static const char *const names[] = {[KUBE_EXEC_IF_AVAILABLE] = "IfAvailable",
                                        [KUBE_EXEC_NEVER] = "Never",
                                        [KUBE_EXEC_ALWAYS] = "Always"};
    const struct node *mode;
    const int code = config_get_text(r, exec, "interactiveMode", &mode);
    if (code < 0) {
        return code;
    }
    if (mode == NULL && str_eq(api_version, GROUP "v1beta1")) {
        *ret = KUBE_EXEC_IF_AVAILABLE;
        return 0;
    }
    const int index = mode == NULL ? -EINVAL : str_index(mode->s, names, COUNT_OF(names));
    if (index >= 0) {
        *ret = (enum kube_exec_mode)index;
        return 0;
    }
    return config_fail_at(r, mode == NULL ? exec->mark : mode->mark,
                          "interactiveMode of exec must be Never, IfAvailable or Always (got '%s')",
                          mode == NULL ? "" : mode->s);
}

static int read_fields(const struct config_reader *r, const struct node *exec, struct kube_exec *e)
{
    int code = read_version(r, exec, &e->api_version);
    code = code < 0 ? code : read_argv(r, exec, &e->argv);
    code = code < 0 ? code : read_env(r, exec, &e->env);
    code = code < 0 ? code : read_mode(r, exec, e->api_version, &e->mode);
    code = code < 0 ? code : config_copy_text(r, exec, "installHint", &e->install_hint);
    return code < 0 ? code : config_get_bool(r, exec, "provideClusterInfo", &e->gets_cluster);
}

int config_read_exec(const struct config_reader *r, const struct node *user, struct kube_exec **ret)
{
    *ret = NULL;
    const struct node *exec = tree_get(user, "exec");
    if (exec == NULL || exec->kind == NODE_NULL) {
        return 0;
    }
    if (exec->kind != NODE_MAP) {
        return config_fail_at(r, exec->mark, "exec must be a map, not %s",
                              node_kind_to_string(exec->kind));
    }
    struct kube_exec *e = xnew(struct kube_exec);
    const int code = read_fields(r, exec, e);
    if (code < 0) {
        config_exec_free(e);
        return code;
    }
    *ret = e;
    return 0;
}
