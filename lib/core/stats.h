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
const char *interval_method_to_string(enum interval_method method);

struct estimate {
    bool known;
    double value;
    bool has_interval;
    double low, high; /* 95% */
    enum interval_method method;
};

/* Median of n positive values with its 95% interval. n == 0: unknown. */
struct estimate stats_median(const double *values, size_t n);
/* a / b of two independent estimates, multiplied by `factor` (exact). */
struct estimate stats_ratio(const struct estimate *a, const struct estimate *b, double factor);
/* The same value divided by itself: factor, with no interval. */
double stats_t_quantile_975(size_t degrees_of_freedom);
