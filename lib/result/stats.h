/* Point estimates and intervals (docs/contracts/result.md, "Numbers"). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum interval_method {
    INTERVAL_NONE,            /* under 3 trials */
    INTERVAL_T_LOG,           /* 3 to 5: Student t on log throughput */
    INTERVAL_ORDER_STATISTIC, /* from 6: order statistics of the median */
    INTERVAL_RATIO,           /* carried from numerator and baseline */
};
const char *interval_method_to_string(enum interval_method method); /* "StudentTLog", ... */

struct estimate {
    bool known;
    double value;
    bool has_interval;
    double low, high; /* 95% */
    enum interval_method method;
};

/* Median of n values with its 95% interval: none under 3 values, or where Student's t would need
 * the log of one that is not positive. n == 0: unknown. */
struct estimate stats_median(const double *values, size_t n);

/* a / b of two independent estimates, multiplied by `factor` (exact, positive). An estimate divided
 * by itself (the same address) is exactly `factor`, with no interval: there is nothing uncertain in
 * it. Unknown unless both are known and positive; no interval unless both have one. */
struct estimate stats_ratio(const struct estimate *a, const struct estimate *b, double factor);

/* The 0.975 quantile of Student's t, within 3e-6. */
double stats_t_quantile_975(size_t degrees_of_freedom);

/* The interval of a median from n sorted values: the values of rank j and n + 1 - j (from 1), j the
 * largest whose exact coverage is at least 95%. Returns j, 0 if there is none (n < 6), and the
 * coverage for any distribution, a ratio. */
size_t stats_median_rank(size_t n, double *ret_coverage);

/* The geometric mean of n independent ratios, with an interval where all have one. Unknown unless
 * all are known and positive, and there is one. */
struct estimate stats_geomean(const struct estimate *ratios, size_t n);
