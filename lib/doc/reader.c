/* Places and checked values, see reader.h. */
#include "doc/reader.h"

#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "doc/openapi.h"

struct place place_root(const struct node *root)
{
    return (struct place){.node = root};
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
    const struct node *node = up != NULL && index < up->n_children ? up->children[index] : NULL;
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
    diags_add_text(d, origin, mark, path, fix, message_take);
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
    const char *same = array_find_item(candidates, n, it, str_eq_nocase(word, it));
    return same != NULL ? same : str_suggest(word, candidates, n);
}

static void put_names(struct buf *out, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    }
}

struct field {
    const char *name;
    bool is_required;
};

/* The name of the field that the key probably means; NULL: none. */
static const char *complain_unknown_key(struct diags *d, const struct place *place,
                                        const struct field *fields, size_t n)
{
    const char **names = xcalloc(n + 1, sizeof(*names));
    for (size_t i = 0; i < n; i++) {
        names[i] = fields[i].name;
    }
    struct buf fix = BUF_INIT;
    const char *meant = suggest_name(place->key, names, n);
    if (meant != NULL) {
        buf_printf(&fix, "did you mean '%s'?", meant);
    } else {
        buf_puts(&fix, "allowed: ");
        put_names(&fix, names, n);
    }
    reader_complain_key(d, place, buf_cstr(&fix), "unknown field '%s'", place->key);
    buf_done(&fix);
    free(names);
    return meant;
}

/* The names without the marks of FIELDS. Owned by the caller. */
static struct field *parse_fields(const char *const *names, size_t *ret_n)
{
    size_t n = 0;
    while (names[n] != NULL) {
        n++;
    }
    struct field *fields = xnew_array(struct field, n + 1);
    for (size_t i = 0; i < n; i++) {
        const bool is_required = names[i][0] == '*';
        fields[i] = (struct field){names[i] + is_required, is_required};
    }
    *ret_n = n;
    return fields;
}

bool read_map(struct diags *d, const struct place *place, const char *const *names)
{
    if (place->node == NULL) {
        return false;
    }
    size_t n;
    _cleanup_(freep) struct field *fields = parse_fields(names, &n);
    if (place->node->kind != NODE_MAP) {
        return reader_complain(d, place, "write its fields as a map: {name: value, ...}",
                               "must be a map, not %s", node_kind_to_string(place->node->kind));
    }
    _cleanup_(freep) bool *is_meant = xnew_array(bool, n + 1);
    place_each (child, place) {
        if (array_find(fields, n, it, str_eq(it->name, child.key)) == NULL) {
            const char *meant = complain_unknown_key(d, &child, fields, n);
            for (size_t k = 0; meant != NULL && k < n; k++) {
                is_meant[k] |= str_eq(fields[k].name, meant);
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct place child = place_get(place, fields[i].name);
        /* A misspelt one is one mistake. */
        if (fields[i].is_required && child.node == NULL && !is_meant[i]) {
            _cleanup_(freep) char *fix = xasprintf("add '%s: ...'", fields[i].name);
            reader_complain(d, &child, fix, "required field '%s' is missing", fields[i].name);
        }
    }
    return true;
}

bool read_list(struct diags *d, const struct place *place, size_t max)
{
    if (place->node == NULL) {
        return false;
    }
    if (place->node->kind != NODE_SEQ) {
        return reader_complain(d, place, "write it as a list: [...]", "must be a list, not %s",
                               node_kind_to_string(place->node->kind));
    }
    if (place->node->n_children == 0) {
        return reader_complain(d, place, "add an item, or remove the field", "the list is empty");
    }
    if (place->node->n_children > max) {
        return reader_complain(d, place, NULL, "has more than %zu items", max);
    }
    return true;
}

char *guess_digits(const char *text)
{
    static const char look_alikes[][2] = {{'O', '0'}, {'o', '0'}, {'l', '1'}, {'I', '1'}};
    char *guess = xstrdup(text);
    bool changed = false, has_digit = false;
    for (char *c = guess; *c != '\0'; c++) {
        has_digit |= ascii_is_digit(*c);
        for (size_t i = 0; i < COUNT_OF(look_alikes); i++) {
            if (*c == look_alikes[i][0]) {
                *c = look_alikes[i][1];
                changed = true;
            }
        }
    }
    int64_t value;
    if (changed && has_digit && parse_i64(guess, &value) == 0) {
        return guess;
    }
    free(guess);
    return NULL;
}

/* Owned. */
static char *fix_of_int(const struct node *node, int64_t min, int64_t max)
{
    int64_t value;
    _cleanup_(freep) char *guess = node->kind == NODE_STRING ? guess_digits(node->s) : NULL;
    return guess != NULL
               ? xasprintf("did you mean %s? it contains a letter instead of a digit", guess)
           : node->kind == NODE_FLOAT && node->f >= (double)min && node->f <= (double)max
               ? xasprintf("write it without a point and an exponent: %.0f", node->f)
           : node->kind == NODE_STRING && parse_i64(node->s, &value) == 0
               ? xasprintf("remove the quotes: %s", node->s)
               : xasprintf("write a whole number from %lld to %lld", (long long)min,
                           (long long)max);
}

bool read_int(struct diags *d, const struct place *place, int64_t min, int64_t max, int64_t *ret)
{
    const struct node *node = place->node;
    if (node == NULL) {
        return false;
    }
    _cleanup_(freep) char *fix = fix_of_int(node, min, max);
    if (node->kind == NODE_STRING) {
        return reader_complain(d, place, fix, "must be a whole number, not the string '%s'",
                               node->s);
    }
    if (node->kind != NODE_INT) {
        return reader_complain(d, place, fix, "must be a whole number, not %s",
                               node_kind_to_string(node->kind));
    }
    if (node->i < min || node->i > max) {
        return reader_complain(d, place, fix, "%lld is out of range: must be %lld to %lld",
                               (long long)node->i, (long long)min, (long long)max);
    }
    *ret = node->i;
    return true;
}

bool read_number(struct diags *d, const struct place *place, double min, double max, double *ret)
{
    const struct node *node = place->node;
    if (node == NULL) {
        return false;
    }
    if (node->kind != NODE_INT && node->kind != NODE_FLOAT) {
        const bool is_percent = node->kind == NODE_STRING && str_has_suffix(node->s, "%");
        return reader_complain(
            d, place, is_percent ? "write a ratio: 0.9 for 90%" : "write a number without quotes",
            "must be a number, not %s", node_kind_to_string(node->kind));
    }
    double value = node->kind == NODE_INT ? (double)node->i : node->f;
    if (!(value >= min && value <= max)) {
        return reader_complain(d, place, NULL, "%g is out of range: must be %g to %g", value, min,
                               max);
    }
    *ret = value;
    return true;
}

bool read_text(struct diags *d, const struct place *place, size_t max_len, const char **ret)
{
    const struct node *node = place->node;
    if (node == NULL) {
        return false;
    }
    if (node->kind != NODE_STRING) {
        bool is_number = node->kind == NODE_INT || node->kind == NODE_FLOAT;
        return reader_complain(d, place, is_number ? "put quotes around it" : "write a string",
                               "must be a string, not %s", node_kind_to_string(node->kind));
    }
    if (strlen(node->s) > max_len) {
        return reader_complain(d, place, "shorten it", "is longer than %zu bytes", max_len);
    }
    *ret = node->s;
    return true;
}

bool read_enum(struct diags *d, const struct place *place, const char *const *names, size_t n,
               int *ret)
{
    const char *text;
    if (!read_text(d, place, 256, &text)) {
        return false;
    }
    const int index = str_index(text, names, n);
    if (index >= 0) {
        *ret = index;
        return true;
    }
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    const char *meant = suggest_name(text, names, n);
    if (meant != NULL) {
        buf_printf(&fix, "did you mean '%s'?%s", meant, n == 1 ? "" : " ");
    }
    if (meant == NULL || n > 1) {
        buf_puts(&fix, n == 1 ? "the only value is " : "allowed: ");
        put_names(&fix, names, n);
    }
    return reader_complain(d, place, buf_cstr(&fix), "unknown value '%s'", text);
}

int64_t read_int_or(struct diags *d, const struct place *map, const char *key, int64_t min,
                    int64_t max, int64_t fallback)
{
    (void)read_int(d, PLACE(map, key), min, max, &fallback); /* noted; later checks use it */
    return fallback;
}

double read_number_or(struct diags *d, const struct place *map, const char *key, double min,
                      double max, double fallback)
{
    (void)read_number(d, PLACE(map, key), min, max, &fallback); /* noted */
    return fallback;
}

const char *read_text_or(struct diags *d, const struct place *map, const char *key, size_t max_len,
                         const char *fallback)
{
    (void)read_text(d, PLACE(map, key), max_len, &fallback); /* noted */
    return fallback;
}

int read_index_or(struct diags *d, const struct place *map, const char *key,
                  const char *const *names, size_t n, int fallback)
{
    (void)read_enum(d, PLACE(map, key), names, n, &fallback); /* noted */
    return fallback;
}

/* ---- of a checked document ---- */

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

double place_number(const struct place *map, const char *key, double none)
{
    const struct node *value = value_of(map, key);
    if (value != NULL && value->kind == NODE_STRING) {
        (void)parse_f64(value->s, &none); /* the pattern of the field makes it a number */
    }
    return value != NULL && value->kind == NODE_INT ? (double)value->i : none;
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
        const int index = place_is_good(&item) && item.node->kind == NODE_STRING
                              ? str_index(item.node->s, names, n)
                              : -1;
        if (index >= 0) {
            flags[index] = true;
        }
    }
}
