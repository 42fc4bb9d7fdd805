/* What follows from a set's figures: speedup, efficiency, price index, cost,
 * ratios and medians. Pure.
 *
 * A printed figure stands for all numbers that round to it, so everything that follows has a span:
 * a printed speedup is right if some numbers within these spans give it. */
#pragma once

#include <stdbool.h>

#include "reference/reference.h"

struct reference_span {
    bool known;
    double value, low, high;
};

/* Of a row, or of the median over rows (row == n_rows); at a column. */
struct reference_span reference_derive(const struct reference *r, const struct reference_table *t,
                                       enum reference_figure figure, size_t row, size_t column);
/* Does any row of the table have this figure? */
bool reference_has(const struct reference *r, const struct reference_table *t,
                   enum reference_figure figure);
/* Decimals of a number's shortest form, at most 12; `digits` >= 0: so many. */
int reference_decimals(double value, int digits);
