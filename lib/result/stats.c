/* Medians, intervals and ratios, see stats.h. Throughput is positive and its errors multiply (a
 * slower machine is slower by a factor), so intervals of small samples are made on logarithms.
 * Called by result.c. */
#include "result/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define T_LOG_MIN_N 3
#define ORDER_STATISTIC_MIN_N 6
#define TAIL 0.025 /* on each side of a 95% interval */

const char *interval_method_to_string(enum interval_method method)
{
    switch (method) {
    case INTERVAL_NONE:
        return "None";
    case INTERVAL_T_LOG:
        return "StudentTLog";
    case INTERVAL_ORDER_STATISTIC:
        return "OrderStatistic";
    case INTERVAL_RATIO:
        return "Ratio";
    }
    return "None";
}

double stats_t_quantile_975(size_t df)
{
    static const double table[] = {
        12.70620473617, 4.302652729749, 3.182446305284, 2.776445105198, 2.570581835636,
        2.446911851145, 2.364624251593, 2.306004135204, 2.262157162798, 2.228138851986,
        2.200985160092, 2.178812829667, 2.160368656463, 2.144786687918, 2.131449545560,
        2.119905299221, 2.109815577833, 2.100922040241, 2.093024054408, 2.085963447266,
        2.079613844728, 2.073873067904, 2.068657610419, 2.063898561628, 2.059538552753,
        2.055529438643, 2.051830516480, 2.048407141795, 2.045229642133, 2.042272456301,
    };
    if (df == 0) {
        return INFINITY; /* one value says nothing about its spread */
    }
    if (df <= sizeof(table) / sizeof(table[0])) {
        return table[df - 1];
    }
    /* Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5). */
    const double z = 1.959963984540054, v = (double)df;
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* P(X = k) of a binomial with n fair coins; through logs, since 2^-n leaves double beyond 1,074. */
static double fair_coins(size_t n, size_t k)
{
    int sign;
    double ways = lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
                  lgamma_r((double)(n - k) + 1, &sign);
    return exp(ways - (double)n * log(2));
}

size_t stats_median_rank(size_t n, double *ret_coverage)
{
    /* The interval misses the median when fewer than j values fall on one side of it. */
    double tail = 0;
    size_t j = 0;
    while (j < n / 2 && tail + fair_coins(n, j) <= TAIL) {
        tail += fair_coins(n, j);
        j++;
    }
    *ret_coverage = j == 0 ? 0 : 1 - 2 * tail;
    return j;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Its centre is the mean of the logs, so the median may lie off its centre, but never outside:
 * mean and median are less than one standard deviation apart. */
static void interval_t_log(const double *sorted, size_t n, struct estimate *e)
{
    if (sorted[0] <= 0) {
        return;
    }
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += log(sorted[i]);
    }
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = log(sorted[i]) - mean;
        squares += d * d;
    }
    const double deviation = sqrt(squares / (double)(n - 1));
    const double half = stats_t_quantile_975(n - 1) * deviation / sqrt((double)n);
    e->has_interval = true;
    /* For equal values exp(log(x)) may round to a neighbour of x; the interval must contain x. */
    e->low = fmin(exp(mean - half), e->value);
    e->high = fmax(exp(mean + half), e->value);
    e->method = INTERVAL_T_LOG;
}

static void interval_order_statistic(const double *sorted, size_t n, struct estimate *e)
{
    double coverage;
    const size_t j = stats_median_rank(n, &coverage);
    e->has_interval = true;
    e->low = sorted[j - 1];
    e->high = sorted[n - j];
    e->method = INTERVAL_ORDER_STATISTIC;
}

struct estimate stats_median(const double *values, size_t n)
{
    struct estimate e = {.known = n > 0};
    if (n == 0) {
        return e;
    }
    _cleanup_(freep) double *sorted = xnew_array(double, n);
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_doubles);
    e.value = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    if (n >= ORDER_STATISTIC_MIN_N) {
        interval_order_statistic(sorted, n, &e);
    } else if (n >= T_LOG_MIN_N) {
        interval_t_log(sorted, n, &e);
    }
    return e;
}

/* MOVER (method of variance estimates recovery) on logs: the distances from a value to its limits
 * add up as squares, each side by itself, so off-centre intervals stay off-centre. Zou and Donner,
 * Statistics in Medicine 27 (2008) 1693-1702; the difference of logs is the log of the ratio. */
static void interval_mover(const struct estimate *a, const struct estimate *b, struct estimate *e)
{
    const double a_down = log(a->value / a->low), a_up = log(a->high / a->value);
    const double b_down = log(b->value / b->low), b_up = log(b->high / b->value);
    e->has_interval = true;
    e->low = e->value * exp(-hypot(a_down, b_up));
    e->high = e->value * exp(hypot(a_up, b_down));
    e->method = INTERVAL_RATIO;
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
    if (a->has_interval && b->has_interval && a->low > 0 && b->low > 0) {
        interval_mover(a, b, &e);
    }
    return e;
}

/* The log of a geometric mean is a mean of logs: MOVER once more, for a sum of n parts. */
struct estimate stats_geomean(const struct estimate *ratios, size_t n)
{
    double sum = 0, down = 0, up = 0;
    bool has_interval = true;
    for (size_t i = 0; i < n; i++) {
        const struct estimate *r = &ratios[i];
        if (!r->known || r->value <= 0) {
            return (struct estimate){0};
        }
        sum += log(r->value);
        has_interval = has_interval && r->has_interval && r->low > 0;
        down = has_interval ? hypot(down, log(r->value / r->low)) : 0;
        up = has_interval ? hypot(up, log(r->high / r->value)) : 0;
    }
    if (n == 0) {
        return (struct estimate){0};
    }
    struct estimate e = {.known = true, .value = exp(sum / (double)n)};
    if (has_interval) {
        e.has_interval = true;
        e.low = e.value * exp(-down / (double)n);
        e.high = e.value * exp(up / (double)n);
        e.method = INTERVAL_RATIO;
    }
    return e;
}
