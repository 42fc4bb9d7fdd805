/* See run_spread.h. */
#include "stats/run_spread.h"

#include <math.h>

#include "stats/student.h"
#include "stats/paired.h"
#include "stats/significance.h"

struct run_spread run_spread_test(const double *same, size_t n, double other)
{
    const struct contrast mean = significance_mean(&(struct sample){same, n});
    struct run_spread b = {.known = n >= RUN_SPREAD_MIN_RUNS, .n_runs = n, .df = mean.df, .p = 1};
    if (!b.known) {
        return b;
    }
    b.difference = other - mean.value;
    b.sd = sqrt(mean.variance * (double)n);
    if (b.sd < PAIRED_SAME) {
        b.sd = 0;
    }
    if (b.sd > 0) {
        b.t = b.difference / (b.sd * sqrt(1 + 1 / (double)n));
        b.p = student_two_sided(b.t, b.df);
    } else if (fabs(b.difference) >= PAIRED_SAME) {
        b.t = copysign(INFINITY, b.difference);
        b.p = 0;
    }
    return b;
}
