/* Where a series of figures changes: E-divisive with a permutation test (Matteson and James, J. Am.
 * Stat. Assoc. 109, 2014, 334-345), which asks nothing of the noise but that its order does not
 * matter. Pure; used by run_history.c. */
#pragma once

#include <stddef.h>

#include "base/vec.h"

/* A look at each of 60 nights names a change in about 5% of flat series. */
#define CHANGE_POINTS_ALPHA 0.003
#define CHANGE_POINTS_DRAWS 999
#define CHANGE_POINTS_MIN_SIZE 3 /* values on each side of a change: two may be alike by accident */
#define CHANGE_POINTS_SEED 20181120

struct change_point {
    size_t at; /* the first value of the new level */
    double p;  /* that the largest difference of any split of its stretch is chance */
};
struct change_points {
    VEC(struct change_point) list; /* by `at` */
};
/* All changes whose p is at most `alpha`; the same values always give the same ones. */
void change_points_find(const double *values, size_t n, double alpha, struct change_points *ret);
void change_points_done(struct change_points *c);
