/* Nodes of a document: life, access, change. Parsing: tree_yaml.c, tree_scalar.c. See tree.h. */
#include "doc/tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct node *tree_new(enum node_kind kind)
{
    struct node *node = xnew(struct node);
    node->kind = kind;
    return node;
}

void tree_free(struct node *node)
{
    if (node == NULL) {
        return;
    }
    for (size_t i = 0; i < node->n_children; i++) {
        tree_free(node->children[i]); /* as deep as the parser's limit */
    }
    free(node->children);
    if (node->kind == NODE_STRING) {
        free(node->s);
    }
    free(node->key);
    free(node->origin);
    free(node);
}

struct node *tree_copy(const struct node *node)
{
    struct node *copy = xnew(struct node);
    *copy = *node;
    copy->key = xstrdup_or_null(node->key);
    copy->origin = xstrdup_or_null(node->origin);
    if (node->kind == NODE_STRING) {
        copy->s = xstrdup(node->s);
    }
    copy->children = NULL;
    copy->n_children = 0;
    for (size_t i = 0; i < node->n_children; i++) {
        tree_append_take(copy, tree_copy(node->children[i]));
    }
    return copy;
}

struct tree_size tree_measure(const struct node *node)
{
    struct tree_size size = {
        .nodes = 1,
        .bytes = (node->key == NULL ? 0 : strlen(node->key)) +
                 (node->kind == NODE_STRING ? strlen(node->s) : 0),
        .depth = node->kind == NODE_SEQ || node->kind == NODE_MAP,
    };
    for (size_t i = 0; i < node->n_children; i++) {
        const struct tree_size child = tree_measure(node->children[i]);
        size.nodes += child.nodes;
        size.bytes += child.bytes;
        size.depth = child.depth + 1 > size.depth ? child.depth + 1 : size.depth;
    }
    return size;
}

/* n_children: `map` has no such key. */
static size_t index_of(const struct node *map, const char *key)
{
    size_t i = 0;
    while (i < map->n_children && !str_eq(map->children[i]->key, key)) {
        i++;
    }
    return i;
}

struct node *tree_get(const struct node *map, const char *key)
{
    if (map == NULL || map->kind != NODE_MAP) {
        return NULL;
    }
    const size_t i = index_of(map, key);
    return i < map->n_children ? map->children[i] : NULL;
}

const char *tree_get_text(const struct node *map, const char *key)
{
    const struct node *node = tree_get(map, key);
    return node != NULL && node->kind == NODE_STRING ? node->s : NULL;
}

struct node *tree_path(const struct node *root, ...)
{
    va_list ap;
    va_start(ap, root);
    struct node *node = NULL;
    const struct node *at = root;
    for (const char *key; (key = va_arg(ap, const char *)) != NULL;) {
        node = tree_get(at, key);
        at = node;
    }
    va_end(ap);
    return node;
}

/* The child that `path` begins with, and the length of its step. A key may have dots in it, so that
 * it must end where the path does, or before a '.' or '['. */
static const struct node *child_at(const struct node *node, const char *path, size_t *ret_len)
{
    for (size_t i = 0; i < node->n_children; i++) {
        char index[24];
        (void)snprintf(index, sizeof(index), "[%zu]", i); /* it fits */
        const char *step = node->kind == NODE_MAP ? node->children[i]->key : index;
        *ret_len = strlen(step);
        if (str_has_prefix(path, step) && strchr(".[", path[*ret_len]) != NULL) {
            return node->children[i];
        }
    }
    return NULL;
}

const struct node *tree_at(const struct node *root, const char *path)
{
    size_t len = 0;
    for (const struct node *next = root; next != NULL; path += len) {
        root = next;
        path += *path == '.';
        next = *path == '\0' ? NULL : child_at(root, path, &len);
    }
    return root;
}

void tree_append_take(struct node *parent, struct node *child)
{
    /* Capacity is the next power of two: grow when the count reaches one. */
    size_t n = parent->n_children;
    if ((n & (n - 1)) == 0) {
        parent->children =
            xreallocarray(parent->children, n == 0 ? 1 : 2 * n, sizeof(*parent->children));
    }
    parent->children[parent->n_children++] = child;
}

void tree_set_take(struct node *map, const char *key, struct node *value)
{
    if (value->key == NULL || !str_eq(value->key, key)) {
        char *own = xstrdup(key); /* first, for `key` may be value->key's text */
        free(value->key);
        value->key = own;
    }
    size_t i = index_of(map, key);
    if (i == map->n_children) {
        tree_append_take(map, value);
        return;
    }
    tree_free(map->children[i]);
    map->children[i] = value;
}

struct node *tree_take_at(struct node *parent, size_t index)
{
    struct node **at = &parent->children[index], *child = *at;
    parent->n_children--;
    memmove(at, at + 1, (parent->n_children - index) * sizeof(struct node *));
    return child;
}

struct node *tree_enter(struct node *map, const char *key)
{
    struct node *child = tree_get(map, key);
    if (child == NULL) {
        child = tree_new(NODE_MAP);
        child->mark = map->mark;
        tree_set_take(map, key, child);
    }
    return child;
}

struct node *tree_take(struct node *map, const char *key)
{
    return tree_get(map, key) == NULL ? NULL : tree_take_at(map, index_of(map, key));
}

void tree_remove(struct node *map, const char *key)
{
    tree_free(tree_take(map, key));
}

void tree_put_scalar(const struct node *node, struct buf *out)
{
    if (node->kind == NODE_INT) {
        buf_printf(out, "%" PRId64, node->i);
    } else if (node->kind == NODE_FLOAT) {
        buf_printf(out, "\"%.15g\"", node->f);
    } else if (node->kind == NODE_STRING) {
        buf_puts(out, node->s);
    }
}

const char *node_kind_to_string(enum node_kind kind)
{
    static const char *const names[] = {
        [NODE_NULL] = "null",          [NODE_BOOL] = "a boolean",
        [NODE_INT] = "a whole number", [NODE_FLOAT] = "a decimal number",
        [NODE_STRING] = "a string",    [NODE_SEQ] = "a list",
        [NODE_MAP] = "a map",
    };
    return names[kind];
}

json_t *tree_to_json(const struct node *node)
{
    switch (node->kind) {
    case NODE_NULL:
        return json_null();
    case NODE_BOOL:
        return json_boolean(node->b);
    case NODE_INT:
        return json_integer(node->i);
    case NODE_FLOAT:
        return json_real(node->f);
    case NODE_STRING:
        return json_string(node->s);
    case NODE_SEQ:
    case NODE_MAP:
        break;
    }
    json_t *json = node->kind == NODE_SEQ ? json_array() : json_object();
    for (size_t i = 0; i < node->n_children; i++) {
        if (node->children[i]->is_wrong) {
            continue;
        }
        json_t *value = tree_to_json(node->children[i]);
        /* Cannot fail: the tree holds valid UTF-8 only (libyaml checked it), and memory aborts. */
        if (node->kind == NODE_SEQ) {
            (void)json_array_append_new(json, value);
        } else {
            (void)json_object_set_new(json, node->children[i]->key, value);
        }
    }
    return json;
}
