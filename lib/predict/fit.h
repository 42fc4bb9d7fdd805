/* Two costs from what was measured: sum = a x + b y, by least squares, neither of
 * them negative. Pure. */
#pragma once

#include <stddef.h>

struct fit_row {
    double x, y, sum;
};
struct fit {
    double a, b;
};

/* sum = a x: a. 0 where nothing was measured; never negative. */
double fit_cost(double sum, double x);

/* Rows that have all the same ratio of x to y, or only one of them, cannot separate a and b: then b
 * is 0, or a if all x are
 * 0. No rows: both are 0. */
struct fit fit_costs(const struct fit_row *rows, size_t n);
