/* Point estimates and intervals (docs/contracts/result.md, "Numbers"). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/significance.h"

enum interval_method {
    INTERVAL_NONE,             /* under 3 trials */
    INTERVAL_T_LOG,            /* 3 to 5: Student t on log throughput */
    INTERVAL_ORDER_STATISTICS, /* from 6: interpolated order statistics of the median */
    INTERVAL_TWO_STAGE_LOG,    /* of a point with a stop rule: Stein's, on log throughput */
    INTERVAL_WELCH_LOG,        /* of ratios: Welch's t on the logs of both sides */
    INTERVAL_PAIRED_LOG,       /* of ratios of pairs: Student's t on the logs of their ratios */
    INTERVAL_RUNS_LOG,         /* of ratios to a level: Student's t on the logs of its runs */
    INTERVAL_MODEL_LOG,        /* of what is predicted: Student's t on the logs of sizes */
};
extern const char *const interval_method_names[]; /* "StudentTLog", ... */

struct estimate {
    bool known;
    double value;
    bool has_interval;
    double low, high; /* 95% */
    enum interval_method method;
    struct contrast logs; /* mean of the logs of the trials, of a ratio their difference, of a
                             geometric mean the mean of these; df 0: unknown */
};

/* Median of n values with its 95% interval: none under 3 values, or where Student's t would need
 * the log of one that is not positive. n == 0: unknown. */
struct estimate stats_median(const double *values, size_t n);

/* Its value alone, without sorting them all; NaN: n is 0. */
double stats_middle(const double *values, size_t n);

/* The same of a point whose number of trials followed from the first `n_first` of them
 * (spec/stop_rule.h): the interval has the variance that these showed of one log, and
 * n_first - 1 degrees of freedom. With more than n_first values it is around the median. From
 * 3 values on, all positive. */
struct estimate stats_two_stage(const double *values, size_t n, double variance, size_t n_first);

/* How far what n trials are summed up to deviates, in deviations of one log: of the first stage
 * alone the mean of the logs, 1 / sqrt(n); else the median of n normal numbers, sqrt(pi / (2 n +
 * pi - 2)). That is exact for 1 and for many; between them 1% too small for odd n, and up to 7% too
 * large for even n. */
double stats_two_stage_deviation(size_t n, size_t n_first);

/* a / b of two independent estimates, multiplied by `factor` (exact, positive): the ratio of their
 * values, with the interval of Welch's test on the logs, widened to hold that ratio where it does
 * not. An estimate divided by itself (the same address) is exactly `factor`, with no interval:
 * there is nothing uncertain in it. Unknown unless both are known and positive; no interval
 * unless both have one. */
struct estimate stats_ratio(const struct estimate *a, const struct estimate *b, double factor);

/* The interval of a median from n sorted values (from 1): from X_j + weight (X_j+1 - X_j) to its
 * mirror image. j: the largest where X_j..X_n+1-j holds the median with 95% at least; the weight
 * makes that 95%, or nearly so. j 0 if none exists (n < 6). Hettmansperger and Sheather, Statistics
 * and Probability Letters 4 (1986) 75-79. */
struct median_rank {
    size_t j;
    double weight;   /* 0 to 1 */
    double coverage; /* of X_j..X_n+1-j, exact for any continuous distribution; a ratio */
};
struct median_rank stats_median_rank(size_t n);

/* The geometric mean of n independent ratios, with an interval where all have one. Unknown unless
 * all are known and positive, and there is one. */
struct estimate stats_geomean(const struct estimate *ratios, size_t n);
