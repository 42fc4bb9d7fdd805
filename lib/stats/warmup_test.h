/* Where the step times of a point settle: the last change in them that its trials have in common.
 * It is a recommendation only; no figure depends on it. Pure; called by warmup.c.
 *
 * Maximally selected rank statistics: for each split of the steps, the van der Waerden scores of
 * the steps before it are added up and divided by their standard error, trial by trial, and these
 * are averaged over the trials. The largest is tested by the bound of Miller and Siegmund
 * (Biometrics 38, 1982, 1011-1016), for ranks Lausen and Schumacher (Biometrics 48, 1992, 73-85).
 * It asks nothing of the noise but that its order does not matter. E-divisive (change_points.h)
 * needs draws, which cost too much for every table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WARMUP_TEST_MIN_TRIALS 3  /* else what one trial met is taken for a habit */
#define WARMUP_TEST_MIN_ENTRIES 6 /* of each trial */

struct warmup_change {
    bool has_change;
    size_t at; /* the first entry after the last change */
    /* ln(before / after) of the medians around it, the median over trials: 0.05 if the steps
     * before were 5% slower */
    double change;
};
/* The last change with a p of at most `alpha` (over all splits) that is `min_change` or more, in
 * either direction; the trials have n entries each. */
struct warmup_change warmup_test_find(const double *const *trials, size_t n_trials, size_t n,
                                      double alpha, double min_change);
/* Of the standard normal distribution, within 1e-6; 0 < p < 1. */
double warmup_test_normal_quantile(double p);
