/* See openapi_check.h. */
#include "doc/openapi_check.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/mem.h"
#include "base/str.h"
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

/* What the schema says of a wrong value, with the value for each @; else `message`. */
static bool complain(struct diags *d, const struct place *place, const char *message)
{
    const char *own = tree_get_text(place->schema, "x-wrong");
    const struct node *node = place->node;
    _cleanup_(freep) char *value =
        node->kind == NODE_INT ? xasprintf("%lld", (long long)node->i) : xstrdup(node->s);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    for (const char *c = own == NULL ? message : own; *c != '\0'; c++) {
        if (*c == '@') {
            buf_puts(&text, value);
        } else {
            buf_putc(&text, *c);
        }
    }
    return reader_complain(d, place, tree_get_text(place->schema, "x-fix"), "%s", buf_cstr(&text));
}

static bool matches(const char *text, const char *pattern)
{
    int code;
    size_t at;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                         PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
    if (compiled == NULL) {
        return false; /* a test reads every pattern */
    }
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    const bool is_match =
        pcre2_match(compiled, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) >= 0;
    pcre2_match_data_free(data);
    pcre2_code_free(compiled);
    return is_match;
}

static bool check_word(struct diags *d, const struct place *place, const struct node *words)
{
    const char **names = xcalloc(words->n_children, sizeof(*names));
    for (size_t i = 0; i < words->n_children; i++) {
        names[i] = words->children[i]->s;
    }
    int index;
    const bool is_one = read_enum(d, place, names, words->n_children, &index);
    free(names);
    return is_one;
}

bool schema_check_text(struct diags *d, const struct place *place)
{
    const struct node *schema = place->schema, *words = tree_get(schema, "enum");
    const char *text, *pattern = tree_get_text(schema, "pattern");
    if (!read_text(d, place, SIZE_MAX, &text)) {
        return false;
    }
    if (words != NULL) {
        return check_word(d, place, words);
    }
    const size_t max = (size_t)bound(schema, "maxLength", INT64_MAX), len = strlen(text);
    if (len > max && len > QUOTED_MAX) {
        return read_text(d, place, max, &text);
    }
    if (pattern != NULL && !matches(text, pattern)) {
        return complain(d, place, "'@' is not of the form that this field has");
    }
    if (text[0] == '\0' && bound(schema, "minLength", 0) > 0) {
        return complain(d, place, "the text is empty");
    }
    return read_text(d, place, max, &text);
}

static bool check_text(struct diags *d, const struct place *place)
{
    const char *text;
    return is_set(place->schema, "x-rule") ? read_text(d, place, LONGEST, &text)
                                           : schema_check_text(d, place);
}

static bool check_int_or_text(struct diags *d, const struct place *place)
{
    const struct node *node = place->node;
    if (is_set(place->schema, "x-rule")) {
        return true;
    }
    if (node->kind == NODE_INT) {
        return (node->i >= bound(place->schema, "minimum", INT64_MIN) &&
                node->i <= bound(place->schema, "maximum", INT64_MAX)) ||
               complain(d, place, "the number is out of range");
    }
    if (node->kind == NODE_STRING) {
        return schema_check_text(d, place);
    }
    _cleanup_(freep) char *fix = node->kind == NODE_FLOAT
                                     ? xasprintf("quote the decimal: \"%.15g\"", node->f)
                                     : xstrdup("write a whole number or a quoted string");
    return reader_complain(d, place, fix, "must be a whole number or a string, not %s",
                           node->kind == NODE_FLOAT ? "a decimal number"
                                                    : node_kind_to_string(node->kind));
}

/* ---- lists and maps ---- */

static void check(struct diags *d, const struct place *place, struct node *node);

static bool same_text(const struct node *a, const struct node *b)
{
    return a != NULL && b != NULL && a->kind == NODE_STRING && b->kind == NODE_STRING &&
           str_eq(a->s, b->s);
}

/* Of a set no two items are the same, of a list that is a map no two keys. */
static void check_unique(struct diags *d, const struct place *list)
{
    const char *type = tree_get_text(list->schema, "x-kubernetes-list-type");
    const struct node *keys = tree_get(list->schema, "x-kubernetes-list-map-keys");
    const char *key = keys == NULL ? NULL : keys->children[0]->s;
    if (type == NULL || str_eq(type, "atomic")) {
        return;
    }
    place_each (item, list) {
        const struct node *own = key == NULL ? item.node : tree_get(item.node, key);
        for (size_t i = 0; i < item.index; i++) {
            const struct node *other = list->node->children[i];
            if (same_text(own, key == NULL ? other : tree_get(other, key))) {
                const struct place at = key == NULL ? item : place_get(&item, key);
                const char *fix = tree_get_text(list->schema, "x-fix");
                reader_complain(d, &at, fix == NULL ? "remove one of them" : fix, "duplicate '%s'",
                                own->s);
                break;
            }
        }
    }
}

static bool check_list(struct diags *d, const struct place *place, struct node *node)
{
    const struct node *schema = place->schema;
    if (node->kind != NODE_SEQ) {
        return reader_complain(d, place, "write it as a list: [...]", "must be a list, not %s",
                               node_kind_to_string(node->kind));
    }
    if (node->n_children == 0 && bound(schema, "minItems", 0) > 0) {
        return reader_complain(d, place, "add an item, or remove the field", "the list is empty");
    }
    const size_t max = (size_t)bound(schema, "maxItems", INT64_MAX);
    if (node->n_children > max) {
        return reader_complain(d, place, NULL, "has more than %zu items", max);
    }
    place_each (item, place) {
        check(d, &item, node->children[item.index]);
    }
    check_unique(d, place);
    return true;
}

/* The fields that a map may have, as read_map has them: a required one with '*' before it. */
static char **fields_of(const struct node *schema)
{
    const struct node *properties = tree_get(schema, "properties");
    char **fields = xcalloc(properties->n_children + 1, sizeof(*fields));
    for (size_t i = 0; i < properties->n_children; i++) {
        const char *key = properties->children[i]->key;
        fields[i] = xasprintf("%s%s", schema_requires(schema, key) ? "*" : "", key);
    }
    return fields;
}

/* The required fields of a map that may have others too. */
static void check_required(struct diags *d, const struct place *place)
{
    const struct node *list = tree_get(place->schema, "required");
    for (size_t i = 0; list != NULL && i < list->n_children; i++) {
        const char *key = list->children[i]->s;
        const struct place child = place_get(place, key);
        if (child.node == NULL) {
            _cleanup_(freep) char *fix = xasprintf("add '%s: ...'", key);
            reader_complain(d, &child, fix, "required field '%s' is missing", key);
        }
    }
}

static bool check_map(struct diags *d, const struct place *place, struct node *node)
{
    const struct node *schema = place->schema;
    const bool is_open = is_set(schema, "x-kubernetes-preserve-unknown-fields"),
               is_free = tree_get(schema, "additionalProperties") != NULL;
    const size_t max = (size_t)bound(schema, "maxProperties", INT64_MAX);
    if (node->kind != NODE_MAP) {
        const char *fix = tree_get_text(schema, "x-fix");
        return reader_complain(d, place,
                               fix != NULL ? fix
                               : is_free   ? "write it as {name: value}"
                                           : "write its fields as a map: {name: value, ...}",
                               "must be a map, not %s", node_kind_to_string(node->kind));
    }
    if (node->n_children == 0 && bound(schema, "minProperties", 0) > 0) {
        const bool is_needed = place->up != NULL && schema_requires(place->up->schema, place->key);
        return reader_complain(d, place, is_needed ? "add a field" : "add a field, or remove it",
                               "the map is empty");
    }
    if (node->n_children > max) {
        return reader_complain(d, place, NULL, "has more than %zu fields", max);
    }
    if (is_open || is_free) {
        check_required(d, place);
    } else {
        char **fields = fields_of(schema);
        (void)read_map(d, place, (const char *const *)fields); /* it is a map */
        for (char **it = fields; *it != NULL; it++) {
            free(*it);
        }
        free(fields);
    }
    place_each (child, place) {
        check(d, &child, node->children[child.index]);
    }
    return true;
}

static void check(struct diags *d, const struct place *place, struct node *node)
{
    const char *type = tree_get_text(place->schema, "type");
    const size_t n_before = d->list.len;
    int64_t i;
    if (type == NULL) {
        node->is_wrong =
            is_set(place->schema, "x-kubernetes-int-or-string") && !check_int_or_text(d, place);
    } else if (str_eq(type, "object")) {
        node->is_wrong = !is_set(place->schema, "x-rule") && !check_map(d, place, node);
    } else if (str_eq(type, "array")) {
        node->is_wrong = !check_list(d, place, node);
    } else if (str_eq(type, "integer")) {
        node->is_wrong = !read_int(d, place, bound(place->schema, "minimum", INT64_MIN),
                                   bound(place->schema, "maximum", INT64_MAX), &i);
    } else if (str_eq(type, "boolean")) {
        node->is_wrong =
            node->kind != NODE_BOOL &&
            !reader_complain(d, place, "write true or false", "must be true or false, not %s",
                             node_kind_to_string(node->kind));
    } else if (str_eq(type, "string")) {
        node->is_wrong = !check_text(d, place);
    }
    node->has_wrong = d->list.len > n_before;
}

void schema_check(struct diags *d, const struct place *at, struct node *root)
{
    check(d, at, root);
}
