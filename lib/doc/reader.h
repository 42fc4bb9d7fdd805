/* Reads values out of a tree that a schema was checked against (doc/openapi_check.h), and reports
 * what else is wrong with them.
 *
 * A `place` is a node and the way to it. Places live on the caller's stack and point up, so that a
 * path is only spelled out when something is wrong. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doc/diag.h"
#include "doc/tree.h"

struct place {
    const struct place *up; /* NULL: the document */
    const char *key;        /* NULL: an item of a list */
    size_t index;
    struct node *node;         /* NULL: not there */
    const struct node *schema; /* what says its form (doc/openapi.h); NULL: any is right */
};

struct place place_root(struct node *root, const struct node *schema);
struct place place_get(const struct place *map, const char *key);
/* The same without a variable: a pointer to it, as long as the block lasts. */
#define PLACE(map, key) ((const struct place[]){place_get(map, key)})
/* An item of a list, or a value of a map; its node is NULL after the last one. */
struct place place_item(const struct place *list, size_t index);
/* Runs its body for each of them: place_each (item, &list) { ... }. None has what is absent. */
#define place_each(item, list)                                                                     \
    for (struct place item = place_item(list, 0); item.node != NULL;                               \
         item = place_item(item.up, item.index + 1))
/* "spec.sweep.grid.pservers[2]", owned. */
char *place_path(const struct place *place);

/* Reports a problem at a place: at its value or, if it is missing, at the map that should have it.
 * Returns false, which is what the caller's caller gets of a value that is wrong. */
bool reader_complain(struct diags *d, const struct place *place, const char *fix, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
/* The same with the caret under the key. */
bool reader_complain_key(struct diags *d, const struct place *place, const char *fix,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* In habit.c: the fix of such a problem at a value of the file, where the schema knows the habit:
 * `repeats: 5` gets "write 'repeats: {min: 5}'". NULL: it knows none. Owned. */
char *habit_line(const struct place *place, const char *path, const char *message);

/* The candidate that the word probably means: another case, up to two typos, or the only one that
 * begins with it. NULL: none. */
const char *suggest_name(const char *word, const char *const *candidates, size_t n);

/* A field of a map. What is absent, or was found wrong by schema_check, has the x-default of its
 * schema, and without one `none`. Texts are borrowed from the tree. */
bool place_is_good(const struct place *place); /* it is there, and nothing is wrong with it */
int64_t place_int(const struct place *map, const char *key, int64_t none);
/* The number, also that of a text such as "0.9". */
double place_number(const struct place *map, const char *key, double none);
double place_value(const struct place *place, double none);       /* of an item */
double node_number(const struct node *value, double none);        /* `none` if it is NULL */
const char *place_text(const struct place *map, const char *key); /* NULL: none */
/* The place of a word in a table that is an array, which has the names in the order of its enum. */
int place_index(const struct place *map, const char *key, const char *const *names, size_t n,
                int none);
#define place_enum(map, key, names, none) place_index(map, key, names, COUNT_OF(names), none)
/* flags[i] is set where the list has names[i]. */
void place_flags(const struct place *map, const char *key, const char *const *names, size_t n,
                 bool *flags);
/* Runs its body for each item of a good list: place_items (item, &map, "key") { ... }. */
#define place_items(item, map, key)                                                                \
    for (struct place item##_list = place_get(map, key), item = place_is_good(&item##_list)        \
                                                                    ? place_item(&item##_list, 0)  \
                                                                    : (struct place){0};           \
         item.node != NULL; item = place_item(item.up, item.index + 1))
