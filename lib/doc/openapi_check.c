/* See openapi_check.h. */
#include "doc/openapi_check.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/match.h"
#include "doc/openapi.h"

#define LONGEST 4096   /* of a text that a function checks */
#define QUOTED_MAX 256 /* a longer text is too long, whatever else is wrong with it */

/* A bound that is a whole number; without one the fallback. */
static int64_t bound(const struct node *schema, const char *key, int64_t fallback)
{
    const struct node *node = tree_get(schema, key);
    return node == NULL ? fallback : node->i;
}

static bool is_set(const struct node *schema, const char *key)
{
    const struct node *node = tree_get(schema, key);
    return node != NULL && node->kind == NODE_BOOL && node->b;
}

/* ---- single values; each returns whether it is right ---- */

/* What the schema says of a wrong value, with the value for each @; else these. */
static bool complain(struct diags *d, const struct place *place, const char *fix,
                     const char *message)
{
    const char *own = tree_get_text(place->schema, "x-wrong"),
               *own_fix = tree_get_text(place->schema, "x-fix");
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    for (const char *c = own == NULL ? message : own; *c != '\0'; c++) {
        if (*c == '@') {
            tree_put_scalar(place->node, &text);
        } else {
            buf_putc(&text, *c);
        }
    }
    return reader_complain(d, place, own_fix == NULL ? fix : own_fix, "%s", buf_cstr(&text));
}

static bool complain_kind(struct diags *d, const struct place *place, const char *fix,
                          const char *wanted)
{
    return reader_complain(d, place, fix, "must be %s, not %s", wanted,
                           node_kind_to_string(place->node->kind));
}

/* Characters, as the API server counts them: bytes that begin one. */
static size_t length_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

/* It is a text, of at most so many characters. */
static bool check_length(struct diags *d, const struct place *place, size_t max)
{
    const struct node *node = place->node;
    const bool is_single = node->kind >= NODE_BOOL && node->kind <= NODE_FLOAT;
    if (node->kind != NODE_STRING) {
        return complain_kind(d, place, is_single ? "put quotes around it" : "write a string",
                             "a string");
    }
    return length_of(node->s) <= max ||
           reader_complain(d, place, "shorten it", "is longer than %zu characters", max);
}

static void put_names(struct buf *out, const char *const *names, size_t n, const char *last)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == n ? last : ", ", names[i]);
    }
}

int schema_check_word(struct diags *d, const struct place *place, const char *const *words,
                      size_t n)
{
    if (!check_length(d, place, QUOTED_MAX)) {
        return -1;
    }
    const char *text = place->node->s, *meant = suggest_name(text, words, n);
    const int index = str_index(text, words, n);
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    if (index >= 0) {
        return index;
    }
    if (meant != NULL) {
        buf_printf(&fix, "did you mean '%s'?%s", meant, n == 1 ? "" : " ");
    }
    if (meant == NULL || n > 1) {
        buf_puts(&fix, n == 1 ? "the only value is " : "allowed: ");
        put_names(&fix, words, n, " or ");
    }
    reader_complain(d, place, buf_cstr(&fix), "unknown value '%s'", text);
    return -1;
}

/* The texts of a list, or the keys of a map; owned, as an array. */
static const char **names_of(const struct node *node)
{
    const char **names = xnew_array(const char *, node->n_children);
    for (size_t i = 0; i < node->n_children; i++) {
        const struct node *child = node->children[i];
        names[i] = node->kind == NODE_MAP ? child->key : child->s;
    }
    return names;
}

static bool check_text(struct diags *d, const struct place *place)
{
    const struct node *schema = place->schema, *words = tree_get(schema, "enum");
    const char *pattern = tree_get_text(schema, "pattern"),
               *reserved = tree_get_text(schema, "x-reserved");
    const size_t max = (size_t)bound(schema, "maxLength", INT64_MAX);
    if (words != NULL) {
        _cleanup_(freep) const char **names = names_of(words);
        return schema_check_word(d, place, names, words->n_children) >= 0;
    }
    if (!check_length(d, place, SIZE_MAX)) {
        return false;
    }
    const char *text = place->node->s;
    if (strlen(text) > QUOTED_MAX && !check_length(d, place, max)) {
        return false;
    }
    if (pattern != NULL && !text_matches(text, pattern, NULL)) {
        return complain(d, place, NULL, "'@' is not of the form that this field has");
    }
    if (text[0] == '\0' && bound(schema, "minLength", 0) > 0) {
        return complain(d, place, NULL, "the text is empty");
    }
    if (reserved != NULL && str_has_prefix(text, reserved)) {
        return reader_complain(d, place, "choose another name",
                               "names that begin with %s are benchd's own", reserved);
    }
    return check_length(d, place, max);
}

/* "10O" -> "100", where a letter stands for the digit it looks like. NULL, or owned. */
static char *guess_digits(const char *text)
{
    static const char letters[] = "OolI", digits[] = "0011";
    char *guess = xstrdup(text);
    int64_t value;
    for (char *c = guess; *c != '\0'; c++) {
        const char *letter = strchr(letters, *c);
        *c = letter == NULL ? *c : digits[letter - letters];
    }
    if (strpbrk(text, letters) != NULL && strpbrk(text, "0123456789") != NULL &&
        parse_i64(guess, &value) == 0) {
        return guess;
    }
    free(guess);
    return NULL;
}

bool schema_check_int(struct diags *d, const struct place *place, long long min, long long max)
{
    const struct node *node = place->node;
    if (node->kind == NODE_INT && node->i >= min && node->i <= max) {
        return true;
    }
    int64_t value;
    const bool is_text = node->kind == NODE_STRING;
    _cleanup_(freep) char *guess = is_text ? guess_digits(node->s) : NULL;
    _cleanup_(freep) char *fix =
        guess != NULL ? xasprintf("did you mean %s? it contains a letter instead of a digit", guess)
        : node->kind == NODE_FLOAT && node->f >= (double)min && node->f <= (double)max &&
                fmod(node->f, 1) == 0
            ? xasprintf("write it without a point and an exponent: %.0f", node->f)
        : is_text && parse_i64(node->s, &value) == 0
            ? xasprintf("remove the quotes: %s", node->s)
            : xasprintf("write a whole number from %lld to %lld", min, max);
    if (node->kind == NODE_INT) {
        return reader_complain(d, place, fix, "%lld is out of range: must be %lld to %lld",
                               (long long)node->i, min, max);
    }
    return is_text ? reader_complain(d, place, fix, "must be a whole number, not the string '%s'",
                                     node->s)
                   : complain_kind(d, place, fix, "a whole number");
}

static bool check_int(struct diags *d, const struct place *place)
{
    return schema_check_int(d, place, bound(place->schema, "minimum", INT64_MIN),
                            bound(place->schema, "maximum", INT64_MAX));
}

static bool check_flag(struct diags *d, const struct place *place)
{
    return place->node->kind == NODE_BOOL ||
           complain_kind(d, place, "write true or false", "true or false");
}

static bool check_number(struct diags *d, const struct place *place)
{
    const struct node *node = place->node;
    const double min = node_number(tree_get(place->schema, "minimum"), 0),
                 max = node_number(tree_get(place->schema, "maximum"), 0),
                 value = node_number(node, 0);
    if (node->kind != NODE_INT && node->kind != NODE_FLOAT) {
        return complain_kind(d, place, "write a number without quotes", "a number");
    }
    return (value >= min && value <= max) ||
           reader_complain(d, place, NULL, "%g is out of range: must be %g to %g", value, min, max);
}

static bool check_int_or_text(struct diags *d, const struct place *place)
{
    const struct node *node = place->node;
    if (node->kind == NODE_INT) {
        return (node->i >= bound(place->schema, "minimum", INT64_MIN) &&
                node->i <= bound(place->schema, "maximum", INT64_MAX)) ||
               complain(d, place, NULL, "the number is out of range");
    }
    if (node->kind == NODE_STRING) {
        return check_text(d, place);
    }
    if (node->kind == NODE_FLOAT && is_set(place->schema, "x-decimal")) {
        return true;
    }
    _cleanup_(freep) char *fix = node->kind == NODE_FLOAT
                                     ? xasprintf("quote the decimal: \"%.15g\"", node->f)
                                     : xstrdup("write a whole number or a quoted string");
    return complain_kind(d, place, fix, "a whole number or a string");
}

/* ---- lists and maps ---- */

static bool same_text(const struct node *a, const struct node *b)
{
    return a != NULL && b != NULL && a->kind == NODE_STRING && b->kind == NODE_STRING &&
           str_eq(a->s, b->s);
}

/* Of a set no two items are the same, of a list that is a map no two keys, of others no two fields
 * that x-unique names. */
static void check_unique(struct diags *d, const struct place *list)
{
    const char *type = tree_get_text(list->schema, "x-kubernetes-list-type");
    const struct node *keys = tree_get(list->schema, "x-kubernetes-list-map-keys");
    const char *key = keys == NULL ? tree_get_text(list->schema, "x-unique") : keys->children[0]->s;
    if (type == NULL || (str_eq(type, "atomic") && key == NULL)) {
        return;
    }
    place_each (item, list) {
        const struct place at = key == NULL ? item : place_get(&item, key);
        const char *fix = tree_get_text(list->schema, "x-fix");
        if (array_any(list->node->children, item.index, it,
                      same_text(at.node, key == NULL ? *it : tree_get(*it, key)))) {
            reader_complain(d, &at, fix == NULL ? "remove one of them" : fix, "duplicate '%s'",
                            at.node->s);
        }
    }
}

static bool check_list(struct diags *d, const struct place *place)
{
    const struct node *schema = place->schema, *node = place->node;
    const size_t max = (size_t)bound(schema, "maxItems", INT64_MAX);
    if (node->kind != NODE_SEQ) {
        const char *fix =
            node->kind == NODE_MAP ? "begin each item with '- '" : "write it as a list: [...]";
        return complain_kind(d, place, fix, "a list");
    }
    if (node->n_children == 0 && bound(schema, "minItems", 0) > 0) {
        return reader_complain(d, place, "add an item, or remove the field", "the list is empty");
    }
    if (node->n_children > max) {
        return reader_complain(d, place, "remove some", "has more than %zu items", max);
    }
    place_each (item, place) {
        schema_check(d, &item);
    }
    check_unique(d, place);
    return true;
}

/* The field that an unknown key probably means; NULL: none. */
static const char *field_meant(const struct node *schema, const char *key)
{
    const struct node *properties = tree_get(schema, "properties");
    _cleanup_(freep) const char **names = names_of(properties);
    return suggest_name(key, names, properties->n_children);
}

/* Where an unknown key is a field: a map around it, or a map in that. Owned; NULL: nowhere. */
static char *path_meant(const struct place *unknown)
{
    for (const struct place *map = unknown->up; map != NULL; map = map->up) {
        const struct node *fields = tree_get(map->schema, "properties");
        if (tree_get(fields, unknown->key) != NULL) {
            return map->up == NULL ? xstrdup("the document") : place_path(map);
        }
        for (size_t i = 0; fields != NULL && i < fields->n_children; i++) {
            const struct place child = place_get(map, fields->children[i]->key);
            if (tree_path(child.schema, "properties", unknown->key, NULL) != NULL) {
                return place_path(&child);
            }
        }
    }
    return NULL;
}

static void complain_unknown(struct diags *d, const struct place *place, const struct node *schema)
{
    const struct node *properties = tree_get(schema, "properties");
    const char *meant = field_meant(schema, place->key);
    _cleanup_(freep) char *other = meant != NULL ? NULL : path_meant(place);
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    if (meant != NULL) {
        buf_printf(&fix, "did you mean '%s'?", meant);
    } else if (other != NULL) {
        buf_printf(&fix, "it is a field of %s: move it there", other);
    } else {
        _cleanup_(freep) const char **names = names_of(properties);
        buf_puts(&fix, "allowed: ");
        put_names(&fix, names, properties->n_children, " or ");
    }
    reader_complain_key(d, place, buf_cstr(&fix), "unknown field '%s'", place->key);
}

/* Fields that are missing, and in a map with no others those that are unknown. */
static void check_fields(struct diags *d, const struct place *place, bool is_closed)
{
    const struct node *schema = place->schema, *node = place->node,
                      *required = tree_get(schema, "required");
    place_each (child, place) {
        if (child.schema == NULL && is_closed) {
            complain_unknown(d, &child, schema);
        }
    }
    for (size_t i = 0; required != NULL && i < required->n_children; i++) {
        const char *key = required->children[i]->s;
        const bool is_misspelt = /* one mistake, which was noted */
            is_closed && array_any(node->children, node->n_children, it,
                                   schema_of_field(schema, (*it)->key) == NULL &&
                                       str_eq_or_null(field_meant(schema, (*it)->key), key));
        if (tree_get(node, key) == NULL && !is_misspelt) {
            const struct place child = place_get(place, key);
            const char *example = tree_get_text(child.schema, "x-example");
            _cleanup_(freep) char *fix =
                xasprintf("add '%s: %s'", key, example == NULL ? "..." : example);
            reader_complain(d, &child, fix, "required field '%s' is missing", key);
        }
    }
}

/* How many of some fields a map has. */
static void check_choice(struct diags *d, const struct place *place)
{
    const struct node *exactly = tree_get(place->schema, "x-exactly-one"),
                      *some = tree_get(place->schema, "x-at-least-one"),
                      *names = exactly != NULL ? exactly : some;
    if (names == NULL) {
        return;
    }
    const size_t n =
        array_sum(names->children, names->n_children, it, tree_get(place->node, (*it)->s) != NULL);
    if (n == 0 || (n > 1 && exactly != NULL)) {
        _cleanup_(freep) const char **all = names_of(names);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        const char *fix = tree_get_text(place->schema, "x-fix");
        put_names(&text, all, names->n_children, " and ");
        reader_complain_key(d, place,
                            n > 0         ? "keep one of them and remove the others"
                            : fix != NULL ? fix
                                          : "add one of them",
                            "%s one of %s is required", exactly != NULL ? "exactly" : "at least",
                            buf_cstr(&text));
    }
}

static bool check_map(struct diags *d, const struct place *place)
{
    const struct node *schema = place->schema, *node = place->node;
    const bool is_open = is_set(schema, "x-kubernetes-preserve-unknown-fields"),
               is_free = tree_get(schema, "additionalProperties") != NULL,
               is_needed = place->up != NULL && schema_requires(place->up->schema, place->key);
    const size_t max = (size_t)bound(schema, "maxProperties", INT64_MAX);
    const char *fix = tree_get_text(schema, "x-fix");
    if (node->kind != NODE_MAP) {
        return complain_kind(d, place,
                             fix != NULL ? fix
                             : is_free   ? "write it as {name: value}"
                                         : "write its fields as a map: {name: value, ...}",
                             "a map");
    }
    if (node->n_children == 0 && bound(schema, "minProperties", 0) > 0) {
        return complain(d, place, is_needed ? "add a field" : "add a field, or remove it",
                        "the map is empty");
    }
    if (node->n_children > max) {
        _cleanup_(freep) char *message = xasprintf("has more than %zu fields", max);
        return complain(d, place, NULL, message);
    }
    check_fields(d, place, !is_open && !is_free);
    place_each (child, place) {
        schema_check(d, &child);
    }
    check_choice(d, place);
    return true;
}

bool schema_check_value(struct diags *d, const struct place *place)
{
    static const struct {
        const char *type;
        bool (*check)(struct diags *d, const struct place *place);
    } types[] = {{"object", check_map},  {"array", check_list},    {"boolean", check_flag},
                 {"integer", check_int}, {"number", check_number}, {"string", check_text}};
    const char *type = tree_get_text(place->schema, "type");
    if (place->node->kind == NODE_NULL && is_set(place->schema, "nullable")) {
        return true;
    }
    if (type == NULL) {
        return !is_set(place->schema, "x-kubernetes-int-or-string") || check_int_or_text(d, place);
    }
    return array_find(types, COUNT_OF(types), it, str_eq(it->type, type))->check(d, place);
}

void schema_check(struct diags *d, const struct place *place)
{
    struct node *node = place->node;
    const size_t n_before = diags_count(d);
    const bool is_text = str_eq_or_null(tree_get_text(place->schema, "type"), "string");
    node->is_wrong = !is_set(place->schema, "x-rule") ? !schema_check_value(d, place)
                     : is_text                        ? !check_length(d, place, LONGEST)
                                                      : false;
    node->has_wrong = diags_count(d) > n_before;
}
