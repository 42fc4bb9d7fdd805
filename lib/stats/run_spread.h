/* How far runs of the same thing differ, and whether one more run differs by more: the trials of a
 * run share the hour and the machine, so they do not show it (docs/contracts/compare.md, "Between
 * runs"). Values are means of logs of throughput, one a run. Used by compare.c. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RUN_SPREAD_MIN_RUNS 3 /* of the same thing, to say how far two of them differ */

struct run_spread {
    bool known; /* RUN_SPREAD_MIN_RUNS or more */
    size_t n_runs;
    double difference; /* the other run less the mean of these */
    double sd;         /* of these, with n - 1 */
    double t, df, p;   /* two-sided, against one more run of the same kind */
};
/* A prediction: difference / (sd sqrt(1 + 1 / n)) is Student's t with n - 1 degrees of freedom if
 * the other run is one more of the same kind. */
struct run_spread run_spread_test(const double *same, size_t n, double other);
