/* What the mode and the command line put on top of a definition, as changes of its tree: the local
 * block, then --systems, --set, and the options that are fields. See spec_internal.h.
 *
 * Maps merge and lists replace. Another kind of sweep, dataset or exchange replaces; a grid merges
 * by name. --set keeps some of a list of points, or replaces the list if it gives every name of it.
 * Values from the command line have their option as origin, for messages. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "doc/openapi.h"
#include "doc/openapi_check.h"
#include "spec/schemas.h"
#include "spec/spec_load.h"
#include "spec/spec_internal.h"

static bool has_other_kind(const struct node *a, const struct node *b)
{
    const char *x = tree_get_text(a, "kind"), *y = tree_get_text(b, "kind");
    return x != NULL && y != NULL && !str_eq(x, y);
}

/* Puts `over` (taken) on top of map[key]. */
static void merge_take(struct node *map, const char *key, struct node *over)
{
    struct node *base = tree_get(map, key);
    if (base == NULL || base->kind != NODE_MAP || over->kind != NODE_MAP ||
        has_other_kind(base, over)) {
        tree_set_take(map, key, over);
        return;
    }
    while (over->n_children > 0) {
        struct node *child = tree_take_at(over, 0);
        _cleanup_(freep) char *name = xstrdup(child->key);
        merge_take(base, name, child);
    }
    tree_free(over);
}

static void merge_sweep_take(struct node *spec, struct node *over)
{
    struct node *base = tree_get(spec, "sweep");
    const bool gives_grid = tree_get(over, "grid") != NULL;
    if (tree_get(over, "points") != NULL || (gives_grid && tree_get(base, "grid") == NULL)) {
        tree_set_take(spec, "sweep", over);
        return;
    }
    merge_take(spec, "sweep", over);
}

static void mark_from_local(struct node *node)
{
    node->from_local = true;
    for (size_t i = 0; i < node->n_children; i++) {
        mark_from_local(node->children[i]);
    }
}

void spec_merge_local(struct node *root, struct diags *diags)
{
    const struct place document = place_root(root, schema_document()),
                       spec_place = place_get(&document, "spec"),
                       place = place_get(&spec_place, "local");
    struct node *spec = tree_get(root, "spec"), *own = tree_get(spec, "local");
    if (own == NULL) {
        return;
    }
    schema_check(diags, &place);
    struct node *local = tree_take(spec, "local");
    mark_from_local(local);
    while (local->n_children > 0) {
        struct node *child = tree_take_at(local, 0);
        _cleanup_(freep) char *name = xstrdup_or_null(child->key);
        if (name == NULL || schema_of_field(place.schema, name) == NULL) {
            tree_free(child); /* noted */
        } else if (str_eq(name, "sweep")) {
            merge_sweep_take(spec, child);
        } else {
            merge_take(spec, name, child);
        }
    }
    tree_free(local);
}

/* "10" is a number, "010" and "1.5" are texts. */
static struct node *new_value(const char *text, const char *origin)
{
    struct node *node = tree_new(NODE_INT);
    const char *why, *fix;
    node->origin = xstrdup(origin);
    if (tree_resolve_plain(text, node, &why, &fix) < 0 ||
        (node->kind != NODE_INT && node->kind != NODE_STRING)) {
        node->kind = NODE_STRING;
        node->s = xstrdup(text);
    }
    return node;
}

/* Values for every name are points of their own: a grid, in place of the list. */
static void replace_points(struct node *root, const struct spec_overrides *overrides)
{
    struct node *spec = tree_get(root, "spec");
    const struct node *list =
        overrides->n_sets == 0 ? NULL : spec_list_points(tree_get(spec, "sweep"));
    const struct node *names = list == NULL ? NULL : list->children[0];
    if (names == NULL || names->kind != NODE_MAP) {
        return;
    }
    for (size_t i = 0; i < names->n_children; i++) {
        _cleanup_(freep) char *prefix = xasprintf("%s=", names->children[i]->key);
        if (!array_any(overrides->sets, overrides->n_sets, set, str_has_prefix(*set, prefix))) {
            return;
        }
    }
    tree_set_take(spec, "sweep", tree_new(NODE_MAP));
}

static bool has_value(const struct node *point, const char *name, const struct node *value)
{
    const struct node *own = tree_get(point, name);
    return own != NULL && own->kind == value->kind &&
           (own->kind == NODE_INT ? own->i == value->i : str_eq(own->s, value->s));
}

/* Keeps the points that have one of the values under that name. */
static void choose_points(struct node *list, const char *name, const struct node *values,
                          struct diags *diags)
{
    const size_t n_problems = diags->list.len;
    for (size_t i = 0; i < values->n_children; i++) {
        const struct node *value = values->children[i];
        if (!array_any(list->children, list->n_children, it, has_value(*it, name, value))) {
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            tree_put_scalar(value, &text);
            diags_add_from(diags, value->origin, (struct mark){0}, "",
                           "choose values of the list, or --set all names of its points for others",
                           "no point has %s=%s", name, buf_cstr(&text));
        }
    }
    for (size_t i = list->n_children; i-- > 0 && diags->list.len == n_problems;) {
        const struct node *point = list->children[i];
        if (!array_any(values->children, values->n_children, it, has_value(point, name, *it))) {
            tree_free(tree_take_at(list, i));
        }
    }
}

static void apply_set(struct node *root, const char *set, struct diags *diags)
{
    static const struct mark nowhere = {0};
    _cleanup_(freep) char *origin = xasprintf("--set %s", set);
    const char *equals = strchr(set, '=');
    if (equals == NULL || equals == set || equals[1] == '\0') {
        diags_add_from(diags, origin, nowhere, "", "for example, --set pservers=1,2", "%s",
                       equals == NULL ? "'=' is missing" : "the name or the value is missing");
        return;
    }
    struct node *sweep = tree_path(root, "spec", "sweep", NULL);
    if (sweep == NULL || sweep->kind != NODE_MAP) {
        return; /* the missing sweep is noted when it is read */
    }
    struct node *axis = tree_new(NODE_SEQ);
    axis->origin = xstrdup(origin);
    _cleanup_(freep) char *values = xstrdup(equals + 1);
    char *rest = values;
    for (const char *value; (value = strsep(&rest, ",")) != NULL;) {
        tree_append_take(axis, new_value(value, origin));
    }
    _cleanup_(freep) char *name = xstrndup(set, (size_t)(equals - set));
    struct node *list = spec_list_points(sweep);
    if (list != NULL) {
        choose_points(list, name, axis, diags);
        tree_free(axis);
        return;
    }
    struct node *grid = tree_get(sweep, "points") != NULL ? NULL : tree_enter(sweep, "grid");
    if (grid == NULL || grid->kind != NODE_MAP) {
        tree_free(axis);
        return; /* noted when it is read */
    }
    tree_set_take(grid, name, axis);
}

/* The number of trials: an option's is so many, no more. The default is frozen with the run: read
 * again, the definition alone would have the other one. */
static void merge_repeats(struct node *spec, const struct spec_overrides *overrides)
{
    const struct node *given = tree_path(overrides->fields, "repeats", "min", NULL);
    struct node *repeats = tree_get(spec, "repeats");
    if (given != NULL && tree_get(repeats, "max") != NULL) {
        tree_set_take(repeats, "max", tree_copy(given));
    } else if (overrides->default_repeats != 0 && tree_get(repeats, "min") == NULL) {
        repeats = tree_enter(spec, "repeats");
        struct node *node = repeats->kind != NODE_MAP ? NULL : tree_new(NODE_INT);
        if (node != NULL) {
            node->i = overrides->default_repeats;
            node->origin = xasprintf("default of --local %lld", (long long)node->i);
            tree_set_take(repeats, "min", node);
        }
    }
}

void spec_merge_options(struct node *root, const struct spec_overrides *overrides,
                        struct diags *diags)
{
    struct node *spec = tree_get(root, "spec");
    if (overrides->systems != NULL) {
        spec_keep_systems(root, overrides->systems, diags);
    }
    replace_points(root, overrides);
    for (size_t i = 0; i < overrides->n_sets; i++) {
        apply_set(root, overrides->sets[i], diags);
    }
    if (spec == NULL || spec->kind != NODE_MAP) {
        return; /* noted when it is read */
    }
    for (size_t i = 0; overrides->fields != NULL && i < overrides->fields->n_children; i++) {
        const struct node *field = overrides->fields->children[i];
        if (tree_enter(spec, field->key)->kind == NODE_MAP) {
            merge_take(spec, field->key, tree_copy(field));
        }
    }
    merge_repeats(spec, overrides);
}
