/* A YAML or JSON document as a tree that remembers line and column of every key and value.
 *
 * YAML goes through libyaml's events; plain scalars are resolved as Kubernetes' YAML-to-JSON step
 * would, but the traps of YAML 1.1 (no, on, 012, 1_000, 1e3, 12:30:00, dates), duplicate keys,
 * tabs, anchors that multiply, more than one document, and everything beyond the limits are errors.
 * JSON is read as the YAML subset it is. Pure: text in, tree out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "doc/diag.h"

enum node_kind { NODE_NULL, NODE_BOOL, NODE_INT, NODE_FLOAT, NODE_STRING, NODE_SEQ, NODE_MAP };

struct node {
    enum node_kind kind;
    struct mark mark;        /* of the value */
    struct mark key_mark;    /* of the key, inside a map */
    char *key;               /* owned; NULL outside a map */
    enum node_kind key_kind; /* what it would be as a value; another one than a text is an error */
    union {
        bool b;
        int64_t i;
        double f;
        char *s; /* owned */
    };
    bool from_local;        /* merged in from spec.local: the path of its place says so */
    bool is_wrong;          /* schema_check found it so, and noted it */
    bool has_wrong;         /* it, or something below it, is wrong, missing or unknown */
    char *origin;           /* as of struct diag (owned) */
    struct node **children; /* SEQ and MAP: owned, in the order of the text */
    size_t n_children;
};

struct tree_limits {
    size_t bytes; /* of the text */
    size_t nodes; /* after expansion of aliases: ten lines can ask for 10^8 */
    unsigned depth;
};
#define TREE_LIMITS_DEFAULT ((struct tree_limits){1024 * 1024, 100000, 64})

/* 0 and the root, or -EINVAL with at least one diagnostic and no tree. In tree_yaml.c. */
int tree_parse(const char *text, size_t len, const struct tree_limits *limits, struct node **ret,
               struct diags *diags);
struct node *tree_new(enum node_kind kind); /* empty, without a place */
void tree_free(struct node *node);          /* NULL is fine */
static inline void tree_freep(struct node **node)
{
    tree_free(*node);
}
struct node *tree_copy(const struct node *node);

struct tree_size {
    size_t nodes;
    size_t bytes;   /* of keys and texts */
    unsigned depth; /* lists and maps around the innermost value; 0: a single value */
};
struct tree_size tree_measure(const struct node *node);

/* Borrowed; NULL if `map` is NULL, no map, or has no such key. */
struct node *tree_get(const struct node *map, const char *key);
/* The text of a string under that key, borrowed; NULL: none is there. */
const char *tree_get_text(const struct node *map, const char *key);
/* Walks keys: tree_path(root, "spec", "sweep", NULL). */
struct node *tree_path(const struct node *root, ...) __attribute__((sentinel));
/* The node at a path as place_path() writes it, "spec.volumes[1].name"; where the way ends early,
 * the last node on it. */
const struct node *tree_at(const struct node *root, const char *path);
/* Sets map[key] = value (value is taken; an older one is freed). */
void tree_set_take(struct node *map, const char *key, struct node *value);
/* map[key], made as a map at the place of `map` if it is not there; it may be of another kind. */
struct node *tree_enter(struct node *map, const char *key);
/* Takes map[key] out of the map; NULL as for tree_get. Owned by the caller. */
struct node *tree_take(struct node *map, const char *key);
void tree_remove(struct node *map, const char *key);
/* Lists: adds a child at the end, or takes the one at `index` out (owned by the caller then). */
void tree_append_take(struct node *parent, struct node *child);
struct node *tree_take_at(struct node *parent, size_t index);

/* As an unquoted scalar of YAML; a number with a point is quoted. Nothing for the other kinds. */
void tree_put_scalar(const struct node *node, struct buf *out);
const char *node_kind_to_string(enum node_kind kind); /* "a string", "a list", ... */

/* What a plain (unquoted) YAML scalar means: 0 and kind and value of *ret; or -EINVAL, why it is
 * refused and what to write instead (both static). In tree_scalar.c. */
int tree_resolve_plain(const char *text, struct node *ret, const char **ret_why,
                       const char **ret_fix);
/* The same document as jansson values, keys in the order of the text, without what schema_check
 * found wrong. Owned by the caller. */
json_t *tree_to_json(const struct node *node);
