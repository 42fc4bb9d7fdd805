/* Reads values out of a tree and reports every one that is missing or wrong.
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
    const struct node *node; /* NULL: not there */
    const struct node
        *schema; /* what the document's schema says of it (doc/openapi.h); NULL: nothing */
};

struct place place_root(const struct node *root);
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

/* The candidate that the word probably means: another case, or up to two typos. NULL: none. */
const char *suggest_name(const char *word, const char *const *candidates, size_t n);

/* Checks that it is a map with these keys only, and with all required ones. Reports unknown
 * and missing keys; a missing one not where an unknown one is its misspelling. False:
 * it is not a map (reported) or absent; do not read its fields. */
bool read_map(struct diags *d, const struct place *place, const char *const *fields);
/* The fields of a map: a required one has '*' before its name. */
#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Checks that it is a list of 1 to `max` items. False: it is not (reported), or it is absent. */
bool read_list(struct diags *d, const struct place *place, size_t max);
/* Runs its body for each item of such a list: read_items (item, d, &map, "key", MAX) { ... }. */
#define read_items(item, d, map, key, max)                                                         \
    for (struct place item##_list = place_get(map, key), item = read_list(d, &item##_list, max)    \
                                                                    ? place_item(&item##_list, 0)  \
                                                                    : (struct place){0};           \
         item.node != NULL; item = place_item(item.up, item.index + 1))

/* Each returns true and sets *ret if the value exists and is valid, and reports an invalid one. An
 * absent value is not reported here (read_map reports required ones), and *ret is not changed. */
bool read_int(struct diags *d, const struct place *place, int64_t min, int64_t max, int64_t *ret);
bool read_number(struct diags *d, const struct place *place, double min, double max, double *ret);
/* *ret is borrowed from the tree. */
bool read_text(struct diags *d, const struct place *place, size_t max_len, const char **ret);
/* One of `names`. */
bool read_enum(struct diags *d, const struct place *place, const char *const *names, size_t n,
               int *ret);
/* A field of `map`, or `fallback` if it is absent. An invalid value is reported and read as the
 * fallback, so that later checks continue. */
int64_t read_int_or(struct diags *d, const struct place *map, const char *key, int64_t min,
                    int64_t max, int64_t fallback);
double read_number_or(struct diags *d, const struct place *map, const char *key, double min,
                      double max, double fallback);
/* Borrowed; the fallback may be NULL. */
const char *read_text_or(struct diags *d, const struct place *map, const char *key, size_t max_len,
                         const char *fallback);
int read_index_or(struct diags *d, const struct place *map, const char *key,
                  const char *const *names, size_t n, int fallback);
/* The same of a table that is an array, which has the names in the order of its enum. */
#define read_enum_or(d, map, key, names, fallback)                                                 \
    read_index_or(d, map, key, names, COUNT_OF(names), fallback)

/* ---- of a checked document ----
 *
 * A field of a map in which schema_check found nothing wrong. What is absent, or was found wrong,
 * has the x-default of its schema, and without one `none`. Texts are borrowed from the tree. */
bool place_is_good(const struct place *place); /* it is there, and nothing is wrong with it */
int64_t place_int(const struct place *map, const char *key, int64_t none);
/* The number, also that of a text such as "0.9". */
double place_number(const struct place *map, const char *key, double none);
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

/* "10O" -> "100", where a letter stands for the digit it looks like. NULL, or owned. */
char *guess_digits(const char *text);
