/* The line to write, where a definition has what other tools or older habits taught. See
 * spec_internal.h. */
#include "spec/spec_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/openapi.h"
#include "spec/schemas.h"

#define VALUE_SHOWN 60 /* characters of a value; a name has 63 at most */

bool spec_hints_refuse_kind(const struct node *root, struct diags *diags)
{
    const char *kind = tree_get_text(root, "kind");
    const char *version = tree_get_text(root, "apiVersion");
    if (kind == NULL) {
        return false;
    }
    const struct node *at = tree_get(root, "kind");
    if (str_eq(kind, "BenchmarkRun")) {
        diags_add(
            diags, at->mark, "kind",
            "give the file of the Benchmark that spec.benchmarkRef names; 'kubectl apply' starts "
            "this one",
            "a BenchmarkRun is one run of a Benchmark, not a definition");
        return true;
    }
    const struct node *row = schema_of_field(schema_document(), "kind");
    const char *profile = tree_get_text(tree_get(row, "x-foreign"), kind);
    if (profile == NULL || (version != NULL && str_has_prefix(version, "benchd.io/"))) {
        return false;
    }
    _cleanup_(freep) char *fix =
        xasprintf("'benchctl init --profile %s --image IMAGE -- COMMAND' writes "
                  "the Benchmark for the image and command of its containers",
                  profile);
    diags_add(diags, at->mark, "kind", fix, "a %s is not a Benchmark", kind);
    return true;
}

static void put_value(struct buf *out, const struct node *node)
{
    if (node->kind == NODE_INT) {
        buf_printf(out, "%" PRId64, node->i);
    } else if (node->kind == NODE_FLOAT) {
        buf_printf(out, "\"%.15g\"", node->f);
    } else {
        buf_printf(out, "%.*s", VALUE_SHOWN, node->kind == NODE_STRING ? node->s : "...");
    }
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
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const size_t len = strlen(text);
    for (size_t i = 0; len > 1 && i < COUNT_OF(units); i++) {
        _cleanup_(freep) char *digits = xstrndup(text, len - 1);
        int64_t n;
        if (text[len - 1] == units[i].unit && parse_i64(digits, &n) == 0 && n > 0 && n < 1000000) {
            return n * units[i].seconds;
        }
    }
    return 0;
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
    return str_has_suffix(path, "Seconds") || str_has_suffix(path, ".seconds") ||
           (str_has_prefix(path, "spec.thresholds[") &&
            (str_has_suffix(path, "].min") || str_has_suffix(path, "].max")));
}

/* The line for a value of a wrong kind, for a key that is no field, or for a word that is no value.
 * NULL: no habit that is known. */
static const char *habit_of(const struct diag *diag, const struct node *node)
{
    const struct node *schema = schema_document(), *map = NULL;
    for (const char *at = diag->path; *at != '\0'; at += *at == '.') {
        const size_t len = strcspn(at, ".[");
        _cleanup_(freep) char *key = xstrndup(at, len);
        map = schema;
        schema = *at == '[' ? schema_of_item(map) : schema_of_field(map, key);
        at += *at == '[' ? strcspn(at, "]") + 1 : len;
    }
    if (str_has_prefix(diag->message, "unknown field ")) {
        return tree_get_text(tree_get(map, "x-habits"), node->key);
    }
    if (str_has_prefix(diag->message, "unknown value ")) {
        return tree_get_text(tree_get(schema, "x-meant"), node->s);
    }
    const char *of_text = tree_get_text(schema, "x-habit-of-text");
    return !str_has_prefix(diag->message, "must be ")     ? NULL
           : node->kind == NODE_STRING && of_text != NULL ? of_text
                                                          : tree_get_text(schema, "x-habit");
}

/* Owned; NULL: none is better than what the problem has. */
static char *find_line(const struct diag *diag, const struct node *node)
{
    const int64_t seconds = node->kind == NODE_STRING ? parse_duration_s(node->s) : 0;
    if (seconds > 0 && str_has_prefix(diag->message, "must be ") && is_in_seconds(diag->path)) {
        return xasprintf("write '%s: %" PRId64 "'", node->key, seconds);
    }
    if (node->kind == NODE_STRING && str_has_suffix(diag->path, "]") &&
        strspn(node->s, "0123456789 ") == strlen(node->s) && strchr(node->s, ' ') != NULL) {
        _cleanup_(buf_done) struct buf items = BUF_INIT;
        put_items(&items, node);
        return xasprintf("put commas between the values: [%s]", buf_cstr(&items));
    }
    const char *line = habit_of(diag, node);
    return line == NULL ? NULL : make_line(line, node);
}

/* The node that the path names in full; NULL if none exists, so what is said
 * is that it is missing. */
static const struct node *find_node(const struct node *root, const struct diag *diag)
{
    const struct node *node = tree_at(root, diag->path);
    const char *last = strrchr(diag->path, '.');
    last = last == NULL ? diag->path : last + 1;
    const bool is_item = str_has_suffix(diag->path, "]");
    return is_item || (node->key != NULL && str_eq(node->key, last)) ? node : NULL;
}

void spec_hints_apply(const struct node *root, struct diags *found)
{
    vec_each (struct diag, it, &found->list) {
        const struct node *node = it->origin == NULL ? find_node(root, it) : NULL;
        _cleanup_(freep) char *line = node == NULL ? NULL : find_line(it, node);
        if (line != NULL) {
            diag_set_fix(it, line);
        }
    }
}
