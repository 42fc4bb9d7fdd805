/* The order of a list by one of its columns, as --sort-by asks for it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a row is sorted by: its text, or where that is NULL its number. */
struct order_key {
    const char *text; /* borrowed */
    double number;    /* NaN: not known; those come last */
    size_t at;        /* the row; rows that are alike keep their order */
};
/* Ascending. All keys have texts, or none has. */
void order_keys(struct order_key *keys, size_t n);

/* How rows of one kind are sorted. */
struct list_order {
    const char *const *columns; /* what --sort-by takes, NULL at the end */
    /* By the column of that index; its `at` stays as it is. */
    struct order_key (*key_of)(const void *row, int column, int64_t now_unix_ms);
};
/* Sorts `n` rows of `size` bytes. */
void order_rows(const struct list_order *order, int column, int64_t now_unix_ms, void *rows,
                size_t n, size_t size);

/* COLUMN as users write it: "AGE", "age", or kubectl's ".metadata.name" and
 * "{.metadata.creationTimestamp}". An index into the NULL-terminated `columns`, or -1. */
int order_column_find(const char *word, const char *const *columns);
