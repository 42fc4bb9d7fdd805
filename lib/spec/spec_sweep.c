/* Reading the sweep: axes, points, exclusions, and the values in them. See spec_internal.h. */
#include <string.h>

#include "base/mem.h"
#include "core/link.h"
#include "doc/openapi_check.h"
#include "spec/spec_internal.h"

/* In its one form, so that equal links are equal values. */
static bool read_link(struct diags *d, const struct place *place, struct value *ret)
{
    struct link link;
    if (place->node->kind != NODE_STRING || link_parse(place->node->s, &link) < 0) {
        return reader_complain(
            d, place, "write 1gbit, 100mbit, \"1gbit 1ms\" or none",
            "a link must have a rate from 1mbit to 100gbit and may have a delay of at "
            "most 1s");
    }
    char text[LINK_TEXT_MAX];
    link_text(&link, text);
    *ret = (struct value){.s = xstrdup(text)};
    return true;
}

static bool read_free_value(struct diags *d, const struct place *place, struct value *ret)
{
    const struct node *node = place->node;
    if (!schema_check_value(d, place)) {
        return false;
    }
    *ret = node->kind == NODE_INT ? (struct value){.is_int = true, .i = node->i}
                                  : (struct value){.s = xstrdup(node->s)};
    return true;
}

static bool read_value(struct reading *r, const struct place *place, const char *name,
                       struct value *ret)
{
    const struct builtin *builtin = builtin_find(name);
    if (builtin == NULL || place->node->kind == NODE_FLOAT) {
        return read_free_value(r->diags, place, ret); /* how to write a decimal is said there */
    }
    if (builtin->max == 0) {
        return read_link(r->diags, place, ret);
    }
    const bool is_started = builtin->counts >= 0 && !spec_is_imported(r->spec);
    *ret = (struct value){.is_int = true, .i = place->node->i};
    return schema_check_int(r->diags, place, builtin->min,
                            is_started ? SPEC_MAX_REPLICAS : builtin->max);
}

/* Built in, or declared in spec.parameters? *ret_meant: the name that its values are read as, of
 * an unknown name the one that it looks like: so the mistakes in its values are found in the
 * same pass. Borrowed. */
static bool check_name(struct reading *r, const struct place *place, const char **ret_meant)
{
    const char *name = *ret_meant = place->key;
    if (spec_is_known_name(r, name)) {
        return true;
    }
    size_t n = 0;
    const char **names = xcalloc(BUILTIN_COUNT + r->spec->parameters.len, sizeof(*names));
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        names[n++] = builtins[i].name;
    }
    vec_each (const struct parameter, it, &r->spec->parameters) {
        names[n++] = it->name;
    }
    const char *meant = suggest_name(name, names, n);
    free(names);
    _cleanup_(freep) char *fix =
        meant != NULL ? xasprintf("did you mean '%s'?", meant)
        : strchr(name, '.') != NULL
            ? xstrdup("write a swept name, such as workers; other fields are changed in the file")
            : xasprintf("use batch_size, link, threads, pservers, trainers or workers, or "
                        "declare '%s' in spec.parameters",
                        name);
    reader_complain_key(r->diags, place, fix, "unknown sweep parameter '%s'", name);
    *ret_meant = meant != NULL ? meant : name;
    return false;
}

void spec_read_params(struct reading *r, const struct place *place, struct params *ret)
{
    *ret = (struct params){0};
    if (!place_is_good(place)) {
        return;
    }
    place_each (child, place) {
        const char *meant;
        struct value value;
        const bool is_known = check_name(r, &child, &meant);
        if (read_value(r, &child, meant, &value)) {
            if (is_known) {
                params_set(ret, child.key, &value);
            }
            free(value.s);
        }
    }
}

static void read_axis(struct reading *r, const struct place *place)
{
    const char *meant;
    const bool is_known = check_name(r, place, &meant);
    if (!place_is_good(place)) {
        return;
    }
    struct axis *axis = is_known ? vec_push(&r->spec->sweep.axes) : NULL;
    if (is_known) {
        *axis = (struct axis){.name = xstrdup(place->key)};
    }
    place_each (item, place) {
        struct value value;
        if (!read_value(r, &item, meant, &value)) {
            continue;
        }
        if (is_known && !vec_any(&axis->values, it, value_eq(it, &value))) {
            *vec_push(&axis->values) = value;
            continue;
        }
        if (is_known) {
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            value_format(&value, &text);
            reader_complain(r->diags, &item, "remove one of the two", "duplicate value %s",
                            buf_cstr(&text));
        }
        free(value.s);
    }
}

static int compare_axes(const void *a, const void *b)
{
    return strcmp(((const struct axis *)a)->name, ((const struct axis *)b)->name);
}

static void read_axes(struct reading *r, const struct place *place)
{
    if (!place_is_good(place)) {
        return;
    }
    place_each (axis, place) {
        read_axis(r, &axis);
    }
    array_sort(r->spec->sweep.axes.items, r->spec->sweep.axes.len, sizeof(struct axis),
               compare_axes);
}

/* Every point has the names of the first one. One that is no map is noted when it is read. */
static void check_names(struct diags *d, const struct place *point, const struct node *first)
{
    if (point->node->kind != NODE_MAP || first->kind != NODE_MAP) {
        return;
    }
    for (size_t i = 0; i < first->n_children; i++) {
        if (tree_get(point->node, first->children[i]->key) == NULL) {
            reader_complain(d, point, "give every point the same parameters",
                            "'%s' is missing, but points[0] has it", first->children[i]->key);
        }
    }
    if (point->node->n_children > first->n_children) {
        reader_complain(d, point, "give every point the same parameters",
                        "has parameters that points[0] does not have");
    }
}

static void read_points(struct reading *r, const struct place *sweep)
{
    place_items (item, sweep, "points") {
        spec_read_params(r, &item, vec_push(&r->spec->sweep.points));
        check_names(r->diags, &item, item.up->node->children[0]);
    }
}

void spec_read_sweep(struct reading *r)
{
    struct place place = place_get(&r->at, "sweep");
    if (!place_is_good(&place)) {
        return;
    }
    r->spec->sweep.kind = tree_get(place.node, "points") != NULL ? SWEEP_POINTS : SWEEP_GRID;
    if (r->spec->sweep.kind == SWEEP_POINTS) {
        read_points(r, &place);
    } else {
        read_axes(r, PLACE(&place, "grid"));
    }
    place_items (item, &place, "exclude") {
        spec_read_params(r, &item, vec_push(&r->spec->sweep.exclude));
    }
    place_items (item, &place, "require") {
        if (place_is_good(&item)) {
            *vec_push(&r->spec->sweep.require) = xstrdup(item.node->s);
        }
    }
}

void spec_complain_axis(struct reading *r, const char *name, const char *fix, const char *message)
{
    struct place sweep = place_get(&r->at, "sweep");
    struct place kind = place_get(&sweep, sweep_kind_names[r->spec->sweep.kind]);
    struct place axis = place_get(&kind, name);
    reader_complain_key(r->diags, axis.node != NULL ? &axis : &kind, fix, "%s", message);
}

bool spec_is_known_name(const struct reading *r, const char *name)
{
    return builtin_find(name) != NULL || spec_find_parameter(r->spec, name) != NULL;
}

const struct node *spec_swept_names(const struct reading *r)
{
    struct node *sweep = tree_get(r->at.node, "sweep"), *points = spec_list_points(sweep);
    const struct node *names = points == NULL ? tree_get(sweep, "grid") : points->children[0];
    return names == NULL || names->kind != NODE_MAP ? NULL : names;
}

struct node *spec_list_points(struct node *sweep)
{
    struct node *points = tree_get(sweep, "points");
    return points != NULL && points->kind == NODE_SEQ && points->n_children > 0 ? points : NULL;
}
