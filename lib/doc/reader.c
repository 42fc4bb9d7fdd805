/* Places and checked values, see reader.h. */
#include "doc/reader.h"

#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "doc/openapi.h"

struct place place_root(struct node *root, const struct node *schema)
{
    return (struct place){.node = root, .schema = schema};
}

struct place place_get(const struct place *map, const char *key)
{
    return (struct place){.up = map,
                          .key = key,
                          .node = tree_get(map->node, key),
                          .schema = schema_of_field(map->schema, key)};
}

struct place place_item(const struct place *list, size_t index)
{
    const struct node *up = list->node;
    struct node *node = up != NULL && index < up->n_children ? up->children[index] : NULL;
    const char *key = node != NULL && up->kind == NODE_MAP ? node->key : NULL;
    return (struct place){.up = list,
                          .key = key,
                          .index = index,
                          .node = node,
                          .schema = key != NULL ? schema_of_field(list->schema, key)
                                                : schema_of_item(list->schema)};
}

static void put_steps(const struct place *place, bool from_local, struct buf *out)
{
    if (place->up == NULL) {
        return;
    }
    put_steps(place->up, from_local, out);
    if (place->key == NULL) {
        buf_printf(out, "[%zu]", place->index);
    } else {
        buf_printf(out, "%s%s", out->len == 0 ? "" : ".", place->key);
    }
    if (from_local && place->up->up == NULL) {
        buf_puts(out, ".local"); /* where the value was before it was merged */
    }
}

/* The node, or the nearest one on the way to where it is missing. */
static const struct place *nearest(const struct place *place)
{
    while (place->node == NULL && place->up != NULL) {
        place = place->up;
    }
    return place;
}

char *place_path(const struct place *place)
{
    struct buf path = BUF_INIT;
    const struct node *node = nearest(place)->node;
    put_steps(place, node != NULL && node->from_local, &path);
    return buf_take(&path);
}

/* Returns false. */
static bool complain_at(struct diags *d, const struct place *place, bool at_key, const char *fix,
                        char *message_take)
{
    const struct place *there = nearest(place);
    at_key = at_key || there != place;
    struct mark mark = {0};
    const char *origin = NULL;
    if (there->node != NULL) {
        bool has_key = there->node->key_mark.line != 0;
        mark = at_key && has_key ? there->node->key_mark : there->node->mark;
        origin = there->node->origin;
    }
    _cleanup_(freep) char *path = place_path(place);
    _cleanup_(freep) char *habit =
        place->node == NULL || origin != NULL ? NULL : habit_line(place, path, message_take);
    diags_add_text(d, origin, mark, path, habit != NULL ? habit : fix, message_take);
    return false;
}

bool reader_complain(struct diags *d, const struct place *place, const char *fix, const char *fmt,
                     ...)
{
    return complain_at(d, place, false, fix, xasprintf_rest(fmt));
}

bool reader_complain_key(struct diags *d, const struct place *place, const char *fix,
                         const char *fmt, ...)
{
    return complain_at(d, place, true, fix, xasprintf_rest(fmt));
}

const char *suggest_name(const char *word, const char *const *candidates, size_t n)
{
    const char *same = array_find_item(candidates, n, it, str_eq_nocase(word, it)),
               *like = same != NULL ? same : str_suggest(word, candidates, n);
    const bool is_cut = array_sum(candidates, n, it, str_has_prefix(*it, word)) == 1;
    return like == NULL && is_cut && strlen(word) > 1
               ? array_find_item(candidates, n, it, str_has_prefix(it, word))
               : like;
}

bool place_is_good(const struct place *place)
{
    return place->node != NULL && !place->node->is_wrong;
}

/* The value, else the default; NULL: neither. */
static const struct node *value_of(const struct place *map, const char *key)
{
    const struct place place = place_get(map, key);
    return place_is_good(&place) ? place.node : tree_get(place.schema, "x-default");
}

int64_t place_int(const struct place *map, const char *key, int64_t none)
{
    const struct node *value = value_of(map, key);
    return value != NULL && value->kind == NODE_INT ? value->i : none;
}

double node_number(const struct node *value, double none)
{
    if (value != NULL && value->kind == NODE_STRING) {
        (void)parse_f64(value->s, &none); /* the pattern of the field makes it a number */
    }
    return value == NULL               ? none
           : value->kind == NODE_INT   ? (double)value->i
           : value->kind == NODE_FLOAT ? value->f
                                       : none;
}

double place_number(const struct place *map, const char *key, double none)
{
    return node_number(value_of(map, key), none);
}

double place_value(const struct place *place, double none)
{
    return place_is_good(place) ? node_number(place->node, none) : none;
}

const char *place_text(const struct place *map, const char *key)
{
    const struct node *value = value_of(map, key);
    return value != NULL && value->kind == NODE_STRING ? value->s : NULL;
}

int place_index(const struct place *map, const char *key, const char *const *names, size_t n,
                int none)
{
    const char *word = place_text(map, key);
    const int index = word == NULL ? -1 : str_index(word, names, n);
    return index < 0 ? none : index;
}

void place_flags(const struct place *map, const char *key, const char *const *names, size_t n,
                 bool *flags)
{
    place_items (item, map, key) {
        const int index = place_is_good(&item) ? str_index(item.node->s, names, n) : -1;
        if (index >= 0) {
            flags[index] = true;
        }
    }
}
