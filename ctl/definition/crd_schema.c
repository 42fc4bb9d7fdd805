/* See crd_schema.h. */
#include "ctl/definition/crd_schema.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/definition/schema_text.h"
#include "ctl/cli/cli.h"

static const struct tree_limits limits = {1024 * 1024, 100000, 10000, 64, true};

static int parse(const char *text, struct node **ret, struct err *err)
{
    _cleanup_(diags_done) struct diags diags = {0};
    const int r = tree_parse(text, strlen(text), &limits, ret, &diags);
    if (r < 0) {
        const struct diag *d = &diags.list.items[0];
        (void)err_set(err, EBADMSG, "the schema: line %u: %s", d->mark.line, d->message);
    }
    return r < 0 ? -EBADMSG : 0;
}

int schema_open(struct schema *ret, struct err *err)
{
    *ret = (struct schema){0};
    int r = parse(schema_text_kinds, &ret->kinds, err);
    r = r < 0 ? r : parse(schema_text_rule, &ret->rule, err);
    if (r < 0) {
        schema_done(ret);
    }
    return r;
}

void schema_done(struct schema *s)
{
    tree_free(s->kinds);
    tree_free(s->rule);
    *s = (struct schema){0};
}

/* A key of a schema, or of the one that is merged into it. */
static const struct node *get(const struct node *schema, const char *key)
{
    const struct node *own = tree_get(schema, key);
    return own != NULL ? own : tree_get(tree_get(schema, "<<"), key);
}

static const char *text_of(const struct node *schema, const char *key)
{
    const struct node *text = get(schema, key);
    return text != NULL && text->kind == NODE_STRING ? text->s : "";
}

/* The schema of a kind: the items of the List, by name. */
static const struct node *find_kind(const struct schema *s, const char *kind)
{
    const struct node *items = tree_get(s->kinds, "items");
    for (size_t i = 0; items != NULL && i < items->n_children; i++) {
        const struct node *spec = tree_get(items->children[i], "spec");
        const struct node *versions = tree_get(spec, "versions");
        if (str_eq(text_of(tree_get(spec, "names"), "kind"), kind) && versions != NULL &&
            versions->n_children > 0) {
            return tree_path(versions->children[0], "schema", "openAPIV3Schema", NULL);
        }
    }
    return NULL;
}

/* What a list or a map with free keys holds, at last. */
static const struct node *innermost(const struct node *schema)
{
    const struct node *inner = schema;
    while (inner != NULL) {
        schema = inner;
        inner = get(schema, "items");
        inner = inner == NULL ? get(schema, "additionalProperties") : inner;
    }
    return schema;
}

/* The fields of a log rule are not in the schema of a definition: the field takes a name as well,
 * and there it has no type. */
static const struct node *inside(const struct schema *s, const struct schema_field *field)
{
    return str_eq(field->name, "log") ? s->rule : innermost(field->node);
}

static bool is_required(const struct node *parent, const char *name)
{
    const struct node *required = get(parent, "required");
    return required != NULL &&
           array_any(required->children, required->n_children, it, str_eq((*it)->s, name));
}

bool schema_child(const struct schema *s, const struct schema_field *field, size_t i,
                  struct schema_field *ret)
{
    const struct node *parent = inside(s, field);
    const struct node *properties = get(parent, "properties");
    if (properties == NULL || i >= properties->n_children) {
        return false;
    }
    const struct node *child = properties->children[i];
    *ret = (struct schema_field){field->kind, child->key, child, is_required(parent, child->key)};
    return true;
}

static bool find_child(const struct schema *s, const struct schema_field *field, const char *name,
                       struct schema_field *ret)
{
    struct schema_field child;
    for (size_t i = 0; schema_child(s, field, i, &child); i++) {
        if (str_eq(child.name, name)) {
            *ret = child;
            return true;
        }
    }
    return false;
}

/* "", "[0]", "[1][0]". */
static bool is_index(const char *text, size_t len)
{
    while (len > 0) {
        const size_t n_digits = strspn(text + 1, "0123456789");
        if (text[0] != '[' || n_digits == 0 || n_digits + 2 > len || text[n_digits + 1] != ']') {
            return false;
        }
        text += n_digits + 2;
        len -= n_digits + 2;
    }
    return true;
}

int schema_find(const struct schema *s, const char *path, struct schema_field *ret,
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
    at.node = find_kind(s, at.kind);
    *ret = at;
    while (path[0] != '\0') {
        const size_t len = strcspn(path, ".");
        const size_t word_len = strcspn(path, ".[");
        _cleanup_(freep) char *word = xstrndup(path, word_len);
        if (!is_index(path + word_len, len - word_len)) {
            (void)err_set(err, ENOENT, "'%.*s' is not an index: an item of a list is [0], [1], ...",
                          (int)(len - word_len), path + word_len);
            *ret_wrong = take_ptr(word);
            return -ENOENT;
        }
        if (!find_child(s, ret, word, &at)) {
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
    while (get(n, "items") != NULL || get(n, "additionalProperties") != NULL) {
        const bool is_list = get(n, "items") != NULL;
        buf_puts(out, is_list ? "[]" : "map[string]");
        n = get(n, is_list ? "items" : "additionalProperties");
    }
    const char *type = text_of(n, "type");
    if (str_eq(field->name, "log")) {
        type = "string or object";
    } else if (get(n, "x-kubernetes-int-or-string") != NULL) {
        type = "integer or string";
    }
    buf_puts(out, type[0] == '\0' ? "any" : type);
}

static void put_scalar(const struct node *n, struct buf *out)
{
    if (n->kind == NODE_STRING) {
        buf_puts(out, n->s);
    } else if (n->kind == NODE_INT) {
        buf_printf(out, "%lld", (long long)n->i);
    } else if (n->kind == NODE_FLOAT) {
        buf_printf(out, "%g", n->f);
    }
}

void schema_put_bounds(const struct schema_field *field, struct buf *out)
{
    const struct node *n = innermost(field->node);
    const struct node *words = get(n, "enum"), *low = get(n, "minimum"), *high = get(n, "maximum");
    for (size_t i = 0; words != NULL && i < words->n_children; i++) {
        buf_puts(out, i == 0 ? "one of " : ", ");
        put_scalar(words->children[i], out);
    }
    if (low != NULL) {
        put_scalar(low, out);
        buf_puts(out, high != NULL ? " to " : " or more");
    }
    if (low != NULL && high != NULL) {
        put_scalar(high, out);
    }
}

const char *schema_description(const struct schema *s, const struct schema_field *field)
{
    const char *own = text_of(field->node, "description");
    return str_eq(field->name, "log") ? text_of(s->rule, "description")
           : own[0] != '\0'           ? own
                                      : text_of(innermost(field->node), "description");
}
