/* --systems: only these systems of a definition, and nothing that only the others used: their
 * roles, the sweep names that counted those, the targets of parameters. See spec_internal.h.
 *
 * Works on the tree, like the other overrides, so that what stays is read and checked as if it had
 * been written so. What is not as it should be is left alone here, and noted when it is read. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "spec/spec_internal.h"

static size_t n_items(const struct node *list)
{
    return list != NULL && list->kind == NODE_SEQ ? list->n_children : 0;
}

/* Drops the items of a list, each as `it`, for which the condition holds, from the last one on. */
#define drop_items(list, it, condition)                                                            \
    for (size_t i_##it = n_items(list); i_##it-- > 0;) {                                           \
        struct node *it = (list)->children[i_##it];                                                \
        if (condition) {                                                                           \
            tree_free(tree_take_at(list, i_##it));                                                 \
        }                                                                                          \
    }

/* A list of a map that has become empty goes, too; one that was is a mistake. */
static void remove_if_emptied(struct node *map, const char *key, size_t n_before)
{
    if (n_before > 0 && n_items(tree_get(map, key)) == 0) {
        tree_remove(map, key);
    }
}

/* ---- roles ---- */

/* Its own, or the workload's. What cannot be read may use any role. */
static enum exchange_kind exchange_of(const struct node *spec, const struct node *system)
{
    const struct node *own = tree_get(system, "exchange");
    const struct node *exchange = own != NULL ? own : tree_path(spec, "workload", "exchange", NULL);
    if (exchange == NULL) {
        return EXCHANGE_PSERVER;
    }
    const char *name = tree_get_text(exchange, "kind");
    int kind = name == NULL ? -1 : exchange_kind_from_string(name);
    return kind < 0 ? EXCHANGE_OTHER : (enum exchange_kind)kind;
}

static void note_roles(const struct node *spec, const struct node *system, bool *used)
{
    const enum exchange_kind kind = exchange_of(spec, system);
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        used[role] |= role == ROLE_LAUNCHER
                          ? tree_path(system, "roles", "launcher", NULL) != NULL ||
                                tree_path(system, "job", "pods", "launcher", NULL) != NULL
                          : exchange_need(kind, role) != EXCHANGE_NEEDS_NONE;
    }
}

/* The name that counts its replicas goes, too. A declared one may mean more: see drop_targets. */
static void drop_role(struct node *spec, enum role role, struct node *gone)
{
    struct node *roles = tree_get(spec, "roles");
    const struct node *own = tree_get(roles, role_to_string(role));
    if (own == NULL) {
        return;
    }
    const char *from = tree_get_text(tree_get(own, "replicas"), "from");
    if (from != NULL && builtin_find(from) != NULL) {
        tree_set_take(gone, from, tree_new(NODE_NULL));
    }
    tree_remove(roles, role_to_string(role));
}

/* Does the target lose its only role? */
static bool loses_roles(const struct node *target, const char *role)
{
    struct node *roles = tree_get(target, "roles");
    const size_t n_before = n_items(roles);
    drop_items(roles, it, it->kind == NODE_STRING && str_eq(it->s, role));
    return n_before > 0 && n_items(roles) == 0;
}

/* Does the parameter lose its only targets? Its name goes, too. */
static bool loses_targets(const struct node *parameter, const char *role, struct node *gone)
{
    struct node *targets = tree_get(parameter, "targets");
    const char *name = tree_get_text(parameter, "name");
    const size_t n_before = n_items(targets);
    drop_items(targets, it, loses_roles(it, role));
    const bool is_gone = name != NULL && n_before > 0 && n_items(targets) == 0;
    if (is_gone) {
        tree_set_take(gone, name, tree_new(NODE_NULL));
    }
    return is_gone;
}

/* No parameter has the role as its target; one that has no other goes with its name. */
static void drop_targets(struct node *spec, enum role role, struct node *gone)
{
    struct node *parameters = tree_get(spec, "parameters");
    const size_t n_before = n_items(parameters);
    drop_items(parameters, it, loses_targets(it, role_to_string(role), gone));
    remove_if_emptied(spec, "parameters", n_before);
}

/* A name that counts a role that stays is needed. */
static void keep_counts(const struct node *spec, struct node *gone)
{
    const struct node *roles = tree_get(spec, "roles");
    for (int role = 0; role < ROLE_COUNT; role++) {
        const struct node *own = tree_get(roles, role_to_string((enum role)role));
        const char *from = tree_get_text(tree_get(own, "replicas"), "from");
        if (from != NULL) {
            tree_remove(gone, from);
        }
    }
}

/* ---- names ---- */

static bool has_any(const struct node *map, const struct node *gone)
{
    return array_any(gone->children, gone->n_children, it, tree_get(map, (*it)->key) != NULL);
}

static void remove_keys(struct node *map, const struct node *gone)
{
    for (size_t i = 0; i < gone->n_children; i++) {
        tree_remove(map, gone->children[i]->key);
    }
}

/* Items about a name that is gone apply to no point of the systems that stay. `field`: where the
 * item has its names, NULL: itself. */
static void drop_about(struct node *map, const char *key, const char *field,
                       const struct node *gone)
{
    struct node *list = tree_get(map, key);
    const size_t n_before = n_items(list);
    drop_items(list, it, has_any(field == NULL ? it : tree_get(it, field), gone));
    remove_if_emptied(map, key, n_before);
}

static bool is_same(const struct node *a, const struct node *b)
{
    json_auto_t *x = tree_to_json(a), *y = tree_to_json(b);
    return json_equal(x, y);
}

static void drop_swept(struct node *sweep, const struct node *gone)
{
    struct node *points = spec_list_points(sweep);
    if (sweep == NULL || sweep->kind != NODE_MAP) {
        return;
    }
    drop_about(sweep, "exclude", NULL, gone);
    remove_keys(tree_get(sweep, "grid"), gone);
    for (size_t i = 0; i < n_items(points); i++) {
        remove_keys(points->children[i], gone);
    }
    /* Points that differed in a name that is gone are one. */
    drop_items(points, it, array_any(points->children, i_it, other, is_same(*other, it)));
}

static void drop_names(struct node *spec, const struct node *gone)
{
    drop_swept(tree_get(spec, "sweep"), gone);
    drop_swept(tree_path(spec, "local", "sweep", NULL), gone);
    drop_about(spec, "thresholds", "where", gone);
    remove_keys(tree_path(spec, "baseline", "where", NULL), gone);
}

/* ---- systems ---- */

static bool is_listed(const struct node *system, const char *names)
{
    const char *own = tree_get_text(system, "name");
    _cleanup_(freep) char *name = xasprintf(",%s,", own == NULL ? "" : own);
    _cleanup_(freep) char *list = xasprintf(",%s,", names);
    return own != NULL && strstr(list, name) != NULL;
}

static void check_listed(const struct node *systems, const char *names, struct diags *diags)
{
    _cleanup_(freep) char *copy = xstrdup(names), *origin = xasprintf("--systems %s", names);
    char *rest = copy;
    for (const char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (!array_any(systems->children, systems->n_children, it,
                       str_eq_or_null(tree_get_text(*it, "name"), name))) {
            diags_add_from(diags, origin, (struct mark){0}, "spec.systems",
                           "list systems of the definition, separated by commas",
                           "system '%s' not found", name);
        }
    }
}

void spec_keep_systems(struct node *root, const char *names, struct diags *diags)
{
    struct node *spec = tree_get(root, "spec");
    struct node *systems = tree_get(spec, "systems");
    if (systems == NULL || systems->kind != NODE_SEQ) {
        return; /* noted when it is read */
    }
    size_t n_before = diags->list.len;
    check_listed(systems, names, diags);
    if (diags->list.len > n_before) {
        return; /* nothing is left out for a name that is wrong */
    }
    bool was_used[ROLE_COUNT] = {0}, is_used[ROLE_COUNT] = {0};
    for (size_t i = 0; i < systems->n_children; i++) {
        const struct node *system = systems->children[i];
        note_roles(spec, system, is_listed(system, names) ? is_used : was_used);
    }
    drop_items(systems, it, !is_listed(it, names));
    struct node *gone = tree_new(NODE_MAP); /* its keys: names that are swept no longer */
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (was_used[role] && !is_used[role]) {
            drop_role(spec, role, gone);
            drop_targets(spec, role, gone);
        }
    }
    keep_counts(spec, gone);
    drop_names(spec, gone);
    tree_free(gone);
}
