/* Puts the rule of a system into the text of a definition. See try.h. */
#include <string.h>

#include "base/str.h"
#include "ctl/try/try.h"
#include "doc/tree.h"

json_t *try_json_of(const char *text, size_t len)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return NULL;
    }
    json_t *json = tree_to_json(root);
    tree_free(root);
    return json;
}

/* The old rule among the fields of the system that begins in this line, or the comment that init
 * writes in its place; NULL without either. */
static const char *find_log(const char *line, size_t indent)
{
    while ((line = strchr(line, '\n')) != NULL) {
        const size_t n = strspn(++line, " ");
        const char *field = line + n;
        if (n == indent && (str_has_prefix(field, "log:") || str_has_prefix(field, "# log:"))) {
            return field;
        }
        if (n < indent && *field != '\n') {
            return NULL; /* the system has ended */
        }
    }
    return NULL;
}

/* Replaces the old rule or the comment, or else writes below the first field of the system. Returns
 * where the rule is in `out`. */
static size_t put_log(const char *text, const struct node *system, const char *rule,
                      struct buf *out)
{
    const struct mark *mark = &system->children[0]->key_mark;
    const size_t indent = mark->column - 1;
    const char *first = text;
    for (unsigned line = 1; line < mark->line; line++) {
        first = strchr(first, '\n') + 1; /* a node begins there */
    }
    const char *found = find_log(first, indent);
    const char *at = found != NULL ? found : first + strcspn(first, "\n");
    const char *rest = at + strcspn(at, "\n"), *comment = strstr(at + 1, "  # ");
    rest = found != NULL && comment != NULL && comment < rest ? comment : rest;
    buf_append(out, text, (size_t)(at - text));
    buf_printf(out, "%s%*s", found != NULL ? "" : "\n", found != NULL ? 0 : (int)indent, "");
    const size_t place = out->len;
    buf_printf(out, "log: %s%s", rule, rest);
    return place;
}

bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return false;
    }
    json_auto_t *wanted = tree_to_json(root);
    const json_t *items = json_object_get(json_object_get(wanted, "spec"), "systems");
    const struct node *systems = tree_path(root, "spec", "systems", NULL);
    size_t place = 0;
    for (size_t i = 0; i < systems->n_children; i++) { /* it was read before */
        if (str_eq_or_null(tree_get_text(systems->children[i], "name"), system)) {
            place = put_log(text, systems->children[i], rule, out);
            (void)json_object_set_new(json_array_get(items, i), "log",
                                      try_json_of(rule, strlen(rule)));
        }
    }
    tree_free(root);
    *ret_line = 1;
    for (size_t i = 0; i < place; i++) {
        *ret_line += out->data[i] == '\n';
    }
    json_auto_t *got = try_json_of(buf_cstr(out), out->len);
    return json_equal(wanted, got) != 0; /* does the new text mean the old one with this rule? */
}
