/* Numbers in ascending order: what tests by rank and corrections of many p have in common. Pure. */
#pragma once

#include <stddef.h>

struct ranked {
    double value; /* the first member, which by_double() reads */
    size_t at;    /* its index among those that were given */
};
/* Ascending; values that are alike in any order. Owned. */
struct ranked *ranked_sort(const double *values, size_t n);
