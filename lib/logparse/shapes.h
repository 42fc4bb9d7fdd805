/* The lines of an output by their shapes: lines that differ in their numbers only have one. Bounded
 * memory. Used in this folder alone. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "logparse/pattern.h"

struct shape {
    uint64_t hash, n;             /* the number of lines */
    uint64_t number, last_number; /* of the first line, from 1, and of the last one if n > 1 */
    unsigned n_numbers;
    bool is_preparation; /* bars of the preparation of data have one shape */
    char *line;          /* the first one; owned */
    size_t len, prefix;  /* the length of it, and of what a launcher put before it */
    char *second;        /* without the prefix; owned; NULL if n is 1 */
    struct buf last;     /* the same of the last one; empty if n is 1 */
};

struct shapes {
    struct log_matcher *m;  /* borrowed */
    VEC(struct shape) list; /* in the order of their first lines */
    struct buf text;
};

void shapes_read(struct shapes *s, struct log_matcher *m, const char *text, size_t len);
void shapes_done(struct shapes *s);
/* By how much the number at `at` of the first line is higher in the second one; NAN if either is
 * missing. is_steady: it rises by as much from each line to the next, in whole numbers. */
double shape_rise(const struct shape *g, size_t at, bool *ret_is_steady);
/* The length of what begins with a digit and looks like one number. */
size_t shape_number_len(const char *line, size_t len);
