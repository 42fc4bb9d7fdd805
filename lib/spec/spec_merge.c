/* What the mode and the command line put on top of a definition, as changes of its tree: the local
 * block, then --systems, --set, and the options that are fields. See spec_internal.h.
 *
 * Maps merge and lists replace. Another kind of sweep, dataset or exchange replaces; a grid merges
 * by name. --set keeps some of a list of points, or replaces the list if it gives every name of it.
 * Values from the command line have their option as origin, for messages. */
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/texts.h"
#include "spec/spec_load.h"
#include "spec/spec_internal.h"

static const char *const overridable[] = {"workload", "sweep", "measure", "repeats"};

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
    bool gives_other = tree_get(over, "zip") != NULL || tree_get(over, "points") != NULL;
    bool gives_grid = tree_get(over, "grid") != NULL;
    if (gives_other || (gives_grid && tree_get(base, "grid") == NULL)) {
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

static void complain_local(const struct node *root, const struct node *child, struct diags *diags)
{
    struct place document = place_root(root);
    struct place place = {.up = PLACE(&document, "spec"), .key = child->key, .node = child};
    const char *meant = suggest_name(child->key, overridable, COUNT_OF(overridable));
    _cleanup_(freep) char *fix =
        meant != NULL ? xasprintf("did you mean '%s'?", meant)
                      : xstrdup("remove it; local takes only workload, sweep, measure and repeats");
    reader_complain_key(diags, &place, fix, "'%s' is not a field that local can override",
                        child->key);
}

void spec_merge_local(struct node *root, struct diags *diags)
{
    struct node *spec = tree_get(root, "spec");
    struct node *local = tree_take(spec, "local");
    if (local == NULL) {
        return;
    }
    mark_from_local(local);
    if (local->kind != NODE_MAP) {
        diags_add(diags, local->mark, "spec.local", "write its fields as a map: {name: value, ...}",
                  "must be a map, not %s", node_kind_to_string(local->kind));
        tree_free(local);
        return;
    }
    while (local->n_children > 0) {
        struct node *child = tree_take_at(local, 0);
        if (str_index(child->key, overridable, COUNT_OF(overridable)) < 0) {
            complain_local(root, child, diags);
            tree_free(child);
        } else if (str_eq(child->key, "sweep")) {
            merge_sweep_take(spec, child);
        } else {
            _cleanup_(freep) char *name = xstrdup(child->key);
            merge_take(spec, name, child);
        }
    }
    tree_free(local);
}

/* "10" is a number, "010" and "1.5" are texts. */
static bool looks_like_int(const char *s)
{
    const char *digits = s + (*s == '-');
    return ascii_is_digit(digits[0]) && (digits[0] != '0' || digits[1] == '\0') &&
           digits[strspn(digits, "0123456789")] == '\0';
}

static struct node *new_value(const char *text, const char *origin)
{
    struct node *node = tree_new(NODE_INT);
    node->origin = xstrdup(origin);
    if (!looks_like_int(text) || parse_i64(text, &node->i) < 0) {
        node->kind = NODE_STRING;
        node->s = xstrdup(text);
    }
    return node;
}

static char *scalar_text(const struct node *node)
{
    return node != NULL && node->kind == NODE_INT
               ? xasprintf("%lld", (long long)node->i)
               : xstrdup(node != NULL && node->kind == NODE_STRING ? node->s : "");
}

static void remove_point(struct node *list, size_t i)
{
    if (list->kind == NODE_SEQ) {
        tree_free(tree_take_at(list, i));
    }
    for (size_t k = 0; list->kind == NODE_MAP && k < list->n_children; k++) {
        if (i < list->children[k]->n_children) { /* other lengths are noted when it is read */
            tree_free(tree_take_at(list->children[k], i));
        }
    }
}

/* The list of points, or the zip, of a sweep; NULL for a grid. */
static struct node *points_of(struct node *sweep)
{
    struct node *zip = tree_get(sweep, "zip");
    return zip != NULL ? zip : tree_get(sweep, "points");
}

/* Its children have the names of the points. */
static const struct node *names_of(const struct node *list)
{
    return list->kind == NODE_MAP || list->n_children == 0 ? list : list->children[0];
}

/* Values for every name are points of their own: a grid, in place of the list. */
static void replace_points(struct node *root, const struct spec_overrides *overrides)
{
    struct node *spec = tree_get(root, "spec"), *list = points_of(tree_get(spec, "sweep"));
    const struct node *names = list == NULL ? NULL : names_of(list);
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

/* Keeps the points of a list, or of a zip, that have one of the values under that name. */
static void choose_points(struct node *list, const char *name, const struct node *values,
                          struct diags *diags)
{
    _cleanup_(texts_done) struct texts own = {0}, wanted = {0}; /* own: of the points */
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    const size_t n_problems = diags->list.len;
    const bool is_zip = list->kind == NODE_MAP;
    const struct node *column = is_zip ? tree_get(list, name) : list; /* an item for each point */
    const struct node *names = names_of(list);
    for (size_t i = 0; column != NULL && i < column->n_children; i++) {
        const struct node *item = column->children[i];
        char *text = scalar_text(is_zip ? item : tree_get(item, name));
        if (text[0] != '\0' && !texts_have(&own, text)) {
            buf_printf(&fix, "%s%s", fix.len == 0 ? "use one of " : ", ", text);
        }
        *vec_push(&own.list) = text;
    }
    buf_puts(&fix, fix.len > 0 ? "; or --set all of " : "--set all of ");
    for (size_t i = 0; i < names->n_children; i++) {
        buf_printf(&fix, "%s%s", i > 0 ? ", " : "", names->children[i]->key);
    }
    buf_printf(&fix, "%s for other points", tree_get(names, name) == NULL ? ", too," : "");
    for (size_t i = 0; i < values->n_children; i++) {
        char *text = *vec_push(&wanted.list) = scalar_text(values->children[i]);
        if (!texts_have(&own, text)) {
            diags_add_from(diags, values->origin, (struct mark){0}, "", buf_cstr(&fix),
                           "no point has %s=%s", name, text);
        }
    }
    for (size_t i = own.list.len; i-- > 0 && diags->list.len == n_problems;) {
        if (!texts_have(&wanted, own.list.items[i])) {
            remove_point(list, i);
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
    struct node *list = points_of(sweep);
    if (list != NULL) {
        choose_points(list, name, axis, diags);
        tree_free(axis);
        return;
    }
    struct node *grid = tree_enter(sweep, "grid");
    if (grid->kind != NODE_MAP) {
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
