/* The order of a list by one of its columns, as --sort-by asks for it. Pure. */
#pragma once

#include <stddef.h>

/* What a row is sorted by: its text, or where that is NULL its number. */
struct order_key {
    const char *text; /* borrowed */
    double number;    /* NaN: not known; those come last */
    size_t at;        /* the row; rows that are alike keep their order */
};
/* Ascending. All keys have texts, or none has. */
void order_keys(struct order_key *keys, size_t n);

/* COLUMN as users write it: "AGE", "age", or kubectl's ".metadata.name" and
 * "{.metadata.creationTimestamp}". An index into the NULL-terminated `columns`, or -1. */
int order_column_find(const char *word, const char *const *columns);
