/* The line to write, where a document has what other tools or older habits taught: the keys
 * x-habit, x-habits and x-meant of its schema. See reader.h. */
#include "doc/reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define VALUE_SHOWN 60 /* characters of a value; a name has 63 at most */

static void put_value(struct buf *out, const struct node *node)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    tree_put_scalar(node, &text);
    const bool is_single = text.len > 0 || node->kind == NODE_STRING;
    buf_printf(out, "%.*s", VALUE_SHOWN, is_single ? buf_cstr(&text) : "...");
}

/* "1-4", and short enough to be written out. */
static bool is_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    const char *dash = strchr(text, '-');
    _cleanup_(freep) char *first = dash == NULL ? NULL : xstrndup(text, (size_t)(dash - text));
    return dash != NULL && parse_i64_in(first, 0, 1000000, ret_first) == 0 &&
           parse_i64_in(dash + 1, *ret_first + 1, *ret_first + 15, ret_last) == 0;
}

/* "1,2, 4", [1, 2, 4] and "1-4" as a list's items. */
static void put_items(struct buf *out, const struct node *node)
{
    if (node->kind == NODE_SEQ) {
        for (size_t i = 0; i < node->n_children; i++) {
            buf_puts(out, i == 0 ? "" : ", ");
            put_value(out, node->children[i]);
        }
        return;
    }
    if (node->kind != NODE_STRING) {
        put_value(out, node);
        return;
    }
    int64_t first, last;
    if (is_range(node->s, &first, &last)) {
        for (int64_t i = first; i <= last; i++) {
            buf_printf(out, "%s%" PRId64, i == first ? "" : ", ", i);
        }
        return;
    }
    static const char between[] = ", ";
    bool is_first = true;
    for (const char *at = node->s; at += strspn(at, between), *at != '\0';) {
        size_t len = strcspn(at, between);
        buf_printf(out, "%s%.*s", is_first ? "" : ", ", (int)len, at);
        is_first = false;
        at += len;
    }
}

/* "4h" as seconds; 0: it is not a duration. */
static int64_t parse_duration_s(const char *text)
{
    _cleanup_(freep) char *digits = xstrndup(text, strcspn(text, "s"));
    int64_t n = 0;
    if (str_eq(text + strlen(digits), "s")) {
        (void)parse_i64_in(digits, 1, 999999, &n); /* else n stays 0 */
    } else if (parse_age_ms(text, &n) == 0) {
        n /= 1000;
    }
    return n;
}

/* Owned; NULL: the line is for values of another kind. */
static char *make_line(const char *line, const struct node *node)
{
    const bool is_list = node->kind == NODE_SEQ;
    const bool is_single = !is_list && node->kind != NODE_MAP && node->kind != NODE_NULL;
    const int64_t seconds = node->kind == NODE_STRING ? parse_duration_s(node->s) : 0;
    if ((strchr(line, '@') != NULL && !is_single) || (strchr(line, '&') != NULL && seconds == 0) ||
        (strchr(line, '~') != NULL && !is_single && !is_list)) {
        return NULL;
    }
    struct buf out = BUF_INIT;
    for (const char *c = line; *c != '\0'; c++) {
        if (*c == '@') {
            put_value(&out, node);
        } else if (*c == '~') {
            put_items(&out, node);
        } else if (*c == '#') {
            buf_puts(&out, node->key);
        } else if (*c == '&') {
            buf_printf(&out, "%" PRId64, seconds);
        } else {
            buf_append(&out, c, 1);
        }
    }
    return buf_take(&out);
}

/* Of the bounds of thresholds only a time is ever written as "2m". */
static bool is_in_seconds(const char *path)
{
    return strstr(path, "Seconds") != NULL || str_has_suffix(path, ".seconds") ||
           (str_has_prefix(path, "spec.thresholds[") &&
            (str_has_suffix(path, "].min") || str_has_suffix(path, "].max")));
}

/* The line for a value of a wrong kind, for a key that is no field, or for a word that is no value.
 * NULL: no habit that is known. */
static const char *habit_of(const struct place *place, const char *message)
{
    const struct node *node = place->node, *map = place->up == NULL ? NULL : place->up->schema;
    if (str_has_prefix(message, "unknown field ")) {
        return tree_get_text(tree_get(map, "x-habits"), node->key);
    }
    if (str_has_prefix(message, "unknown value ")) {
        return tree_get_text(tree_get(place->schema, "x-meant"), node->s);
    }
    const char *of_text = tree_get_text(place->schema, "x-habit-of-text");
    return !str_has_prefix(message, "must be ")           ? NULL
           : node->kind == NODE_STRING && of_text != NULL ? of_text
                                                          : tree_get_text(place->schema, "x-habit");
}

char *habit_line(const struct place *place, const char *path, const char *message)
{
    const struct node *node = place->node;
    const int64_t seconds = node->kind == NODE_STRING ? parse_duration_s(node->s) : 0;
    if (seconds > 0 && str_has_prefix(message, "must be ") && is_in_seconds(path)) {
        return xasprintf("write '%s: %" PRId64 "'", node->key, seconds);
    }
    if (node->kind == NODE_STRING && place->key == NULL &&
        strspn(node->s, "0123456789 ") == strlen(node->s) && strchr(node->s, ' ') != NULL) {
        _cleanup_(buf_done) struct buf items = BUF_INIT;
        put_items(&items, node);
        return xasprintf("put commas between the values: [%s]", buf_cstr(&items));
    }
    const char *line = habit_of(place, message);
    return line == NULL ? NULL : make_line(line, node);
}
