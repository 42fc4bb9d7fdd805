/* Medians, intervals and ratios, see stats.h. Throughput is positive and its errors multiply (a
 * slower machine is slower by a factor), so intervals of small samples are made on logarithms.
 * Called by result_build.c. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define T_LOG_MIN_N 3
#define ORDER_STATISTICS_MIN_N 6
#define TAIL 0.025 /* on each side of a 95% interval */

const char *const interval_method_names[] = {
    [INTERVAL_NONE] = "None",
    [INTERVAL_T_LOG] = "StudentTLog",
    [INTERVAL_ORDER_STATISTICS] = "InterpolatedOrderStatistics",
    [INTERVAL_TWO_STAGE_LOG] = "SteinTwoStageTLog",
    [INTERVAL_WELCH_LOG] = "WelchLog",
    [INTERVAL_PAIRED_LOG] = "PairedTLog",
    [INTERVAL_RUNS_LOG] = "RunSpreadTLog",
    [INTERVAL_MODEL_LOG] = "ModelTLog",
};

/* P(X = k) of a binomial with n fair coins; through logs, since 2^-n leaves double beyond 1,074. */
static double fair_coins(size_t n, size_t k)
{
    int sign;
    double ways = lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
                  lgamma_r((double)(n - k) + 1, &sign);
    return exp(ways - (double)n * log(2));
}

struct median_rank stats_median_rank(size_t n)
{
    /* The interval misses the median when fewer than j values fall on one side of it. */
    double tail = 0, next = fair_coins(n, 0);
    size_t j = 0;
    while (j < n / 2 && tail + next <= TAIL) {
        tail += next;
        j++;
        next = fair_coins(n, j);
    }
    if (j == 0) {
        return (struct median_rank){0};
    }
    /* Coverage falls from 1 - 2 tail at j to 1 - 2 (tail + next) at j + 1;
     * share: how far to 95%. */
    const double share = (TAIL - tail) / next, above = (double)(n - j), below = (double)j;
    const double weight = above * share / (below + (above - below) * share);
    return (struct median_rank){.j = j, .weight = weight, .coverage = 1 - 2 * tail};
}

static struct contrast mean_of_logs(const double *sorted, size_t n)
{
    if (n < T_LOG_MIN_N || sorted[0] <= 0) {
        return (struct contrast){0};
    }
    _cleanup_(freep) double *logs = xnew_array(double, n);
    for (size_t i = 0; i < n; i++) {
        logs[i] = log(sorted[i]);
    }
    return significance_mean(&(struct sample){logs, n});
}

/* Its centre is exp of the mean of the logs, so the value may lie off its centre. Up to 6 trials
 * the median is never outside, because mean and median are less than one standard deviation apart.
 * Of more it may be, where the noise is far from normal: then the interval reaches to it. */
static void interval_of_logs(struct estimate *e, enum interval_method method)
{
    const struct uncertainty u = significance_uncertainty(&e->logs);
    const double half = student_quantile(u.df, 0.05) * sqrt(u.variance);
    e->has_interval = true;
    /* For equal values exp(log(x)) may round to a neighbour of x; the interval must contain x. */
    e->low = fmin(exp(e->logs.value - half), e->value);
    e->high = fmax(exp(e->logs.value + half), e->value);
    e->method = method;
}

static void interval_of_ranks(const double *sorted, size_t n, struct estimate *e)
{
    const struct median_rank rank = stats_median_rank(n);
    const double *low = &sorted[rank.j - 1], *high = &sorted[n - rank.j];
    e->has_interval = true;
    e->low = low[0] + rank.weight * (low[1] - low[0]);
    e->high = high[0] - rank.weight * (high[0] - high[-1]);
    e->method = INTERVAL_ORDER_STATISTICS;
}

struct estimate stats_median(const double *values, size_t n)
{
    struct estimate e = {.known = n > 0};
    if (n == 0) {
        return e;
    }
    _cleanup_(freep) double *sorted = xnew_array(double, n);
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_double);
    e.value = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    e.logs = mean_of_logs(sorted, n);
    if (n >= ORDER_STATISTICS_MIN_N) {
        interval_of_ranks(sorted, n, &e);
    } else if (e.logs.df > 0) {
        interval_of_logs(&e, INTERVAL_T_LOG);
    }
    return e;
}

/* Moves values until the k-th smallest is at k, none before it is greater and none after it is
 * smaller (Hoare, Algorithm 65, Commun. ACM 4, 1961, 321). */
static void select_kth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) {
                i++;
            }
            while (values[j] > pivot) {
                j--;
            }
            if (i > j) {
                break;
            }
            const double swapped = values[i];
            values[i++] = values[j];
            values[j] = swapped;
            if (j == 0) {
                break;
            }
            j--;
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            return;
        }
    }
}

double stats_middle(const double *values, size_t n)
{
    if (n == 0) {
        return NAN;
    }
    _cleanup_(freep) double *copy = xnew_array(double, n);
    memcpy(copy, values, n * sizeof(*copy));
    select_kth(copy, n, n / 2);
    if (n % 2 == 1) {
        return copy[n / 2];
    }
    double below = copy[0];
    for (size_t i = 1; i < n / 2; i++) {
        below = fmax(below, copy[i]);
    }
    return (below + copy[n / 2]) / 2;
}

double stats_two_stage_deviation(size_t n, size_t n_first)
{
    return n <= n_first ? 1 / sqrt((double)n) : sqrt(M_PI / (2 * (double)n + M_PI - 2));
}

struct estimate stats_two_stage(const double *values, size_t n, double variance, size_t n_first)
{
    struct estimate e = stats_median(values, n);
    if (e.logs.df > 0) {
        const double deviation = stats_two_stage_deviation(n, n_first);
        const double df = (double)(n_first - 1);
        e.logs = (struct contrast){
            .value = n > n_first ? log(e.value) : e.logs.value,
            .variance = variance * deviation * deviation,
            .df = df,
            .is_staged = true,
            .common = variance,
            .common_df = df,
            .scale = deviation * deviation,
        };
        interval_of_logs(&e, INTERVAL_TWO_STAGE_LOG);
    }
    return e;
}

struct estimate stats_ratio(const struct estimate *a, const struct estimate *b, double factor)
{
    if (!a->known || !b->known || a->value <= 0 || b->value <= 0) {
        return (struct estimate){0};
    }
    if (a == b) {
        return (struct estimate){.known = true, .value = factor};
    }
    struct estimate e = {.known = true, .value = a->value / b->value * factor};
    if (a->logs.df > 0 && b->logs.df > 0) {
        e.logs = significance_sum(&a->logs, -1, &b->logs);
        e.logs.value += log(factor);
        interval_of_logs(&e, INTERVAL_WELCH_LOG);
    }
    return e;
}

/* The log of a geometric mean is a mean of logs. */
struct estimate stats_geomean(const struct estimate *ratios, size_t n)
{
    struct contrast logs = {0};
    double sum = 0;
    bool has_interval = true;
    for (size_t i = 0; i < n; i++) {
        const struct estimate *r = &ratios[i];
        if (!r->known || r->value <= 0) {
            return (struct estimate){0};
        }
        sum += log(r->value);
        has_interval = has_interval && r->has_interval && r->logs.df > 0;
        logs = significance_sum(&logs, 1 / (double)n, &r->logs);
    }
    if (n == 0) {
        return (struct estimate){0};
    }
    struct estimate e = {.known = true, .value = exp(sum / (double)n)};
    if (has_interval) {
        e.logs = logs;
        interval_of_logs(&e, INTERVAL_WELCH_LOG);
    }
    return e;
}
