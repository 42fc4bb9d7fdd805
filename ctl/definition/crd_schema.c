/* See crd_schema.h. */
#include "ctl/definition/crd_schema.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi.h"
#include "logparse/rule.h"
#include "spec/schemas.h"
#include "ctl/cli/cli.h"

/* What a list or a map with free keys holds, at last. */
static const struct node *innermost(const struct node *schema)
{
    const struct node *inner = schema;
    while (inner != NULL) {
        schema = inner;
        inner = tree_get(schema, "items");
        inner = inner == NULL ? tree_get(schema, "additionalProperties") : inner;
    }
    return schema;
}

bool schema_child(const struct schema_field *field, size_t i, struct schema_field *ret)
{
    const bool has_more = tree_get(field->node, "x-explain") != NULL;
    const struct node *parent = has_more ? log_rule_schema() : innermost(field->node);
    const struct node *properties = tree_get(parent, "properties");
    if (properties == NULL || i >= properties->n_children) {
        return false;
    }
    const struct node *child = properties->children[i];
    *ret =
        (struct schema_field){field->kind, child->key, child, schema_requires(parent, child->key)};
    return true;
}

static bool find_child(const struct schema_field *field, const char *name, struct schema_field *ret)
{
    bool is_found = false;
    for (size_t i = 0; !is_found && schema_child(field, i, ret); i++) {
        is_found = str_eq(ret->name, name);
    }
    return is_found;
}

int schema_find(const struct node *kinds, const char *path, struct schema_field *ret,
                char **ret_wrong, struct err *err)
{
    struct schema_field at = {.kind = "Benchmark", .name = ""};
    const size_t first_len = strcspn(path, ".");
    _cleanup_(freep) char *first = xstrndup(path, first_len);
    for (char *c = first; *c != '\0'; c++) { /* a kind may be written as in a manifest */
        *c = ascii_lower(*c);
    }
    if (cli_is_benchmark_kind(first) || cli_is_run_kind(first)) {
        at.kind = cli_is_run_kind(first) ? "BenchmarkRun" : "Benchmark";
        path += first_len + (path[first_len] == '.');
    }
    /* The items of the List are the two kinds in this order. */
    at.node = tree_at(kinds, str_eq(at.kind, "Benchmark")
                                 ? "items[0].spec.versions[0].schema.openAPIV3Schema"
                                 : "items[1].spec.versions[0].schema.openAPIV3Schema");
    *ret = at;
    while (path[0] != '\0') {
        const size_t len = strcspn(path, ".");
        _cleanup_(freep) char *word = xstrndup(path, strcspn(path, ".[")); /* without "[0]" */
        if (!find_child(ret, word, &at)) {
            (void)err_set(err, ENOENT, "%s has no field '%s'",
                          ret->name[0] == '\0' ? ret->kind : ret->name, word);
            *ret_wrong = take_ptr(word);
            return -ENOENT;
        }
        *ret = at;
        path += len + (path[len] == '.');
    }
    return 0;
}

void schema_put_type(const struct schema_field *field, struct buf *out)
{
    const struct node *n = field->node;
    while (tree_get(n, "items") != NULL || tree_get(n, "additionalProperties") != NULL) {
        const bool is_list = tree_get(n, "items") != NULL;
        buf_puts(out, is_list ? "[]" : "map[string]");
        n = tree_get(n, is_list ? "items" : "additionalProperties");
    }
    const char *type = tree_get_text(n, "type");
    if (tree_get(n, "x-explain") != NULL) {
        type = "string or object";
    } else if (tree_get(n, "x-kubernetes-int-or-string") != NULL) {
        type = "integer or string";
    }
    buf_puts(out, type == NULL ? "any" : type);
}

void schema_put_bounds(const struct schema_field *field, struct buf *out)
{
    const struct node *n = innermost(field->node);
    const struct node *words = tree_get(n, "enum"), *low = tree_get(n, "minimum"),
                      *high = tree_get(n, "maximum");
    for (size_t i = 0; words != NULL && i < words->n_children; i++) {
        buf_puts(out, i == 0 ? "one of " : ", ");
        tree_put_scalar(words->children[i], out);
    }
    if (low != NULL) {
        tree_put_scalar(low, out);
        buf_puts(out, high != NULL ? " to " : " or more");
        if (high != NULL) {
            tree_put_scalar(high, out);
        }
    }
}

void schema_put_description(const struct schema_field *field, struct buf *out)
{
    const char *own = tree_get_text(field->node, "description");
    const struct node *value = tree_get(field->node, "x-default");
    own = own == NULL ? tree_get_text(innermost(field->node), "description") : own;
    buf_puts(out, own == NULL ? "" : own);
    if (own != NULL && value != NULL && strstr(own, "efault") == NULL) {
        buf_puts(out, " Default ");
        tree_put_scalar(value, out);
        buf_putc(out, '.');
    }
}
