/* See paired.h. */
#include "stats/paired.h"

#include <math.h>

#include "base/mem.h"
#include "stats/stats.h"
#include "stats/significance.h"

#define N_MAX 1000

/* The standard deviation of the n values of a mean. */
static double sd_of(const struct contrast *mean, size_t n)
{
    const double sd = sqrt(mean->variance * (double)n);
    return sd < PAIRED_SAME ? 0 : sd;
}

/* t of a difference where nothing varies. */
static double t_without_spread(double difference)
{
    return fabs(difference) >= PAIRED_SAME ? copysign(INFINITY, difference) : 0;
}

static struct paired tested(struct paired p, double error, double df)
{
    p.df = df;
    p.p = 1;
    if (p.known) {
        p.error = error;
        p.t = error > 0 ? p.mean / error : t_without_spread(p.mean);
        p.p = student_two_sided(p.t, p.df);
    }
    return p;
}

struct paired paired_test_staged(const double *differences, size_t n, size_t n_first)
{
    struct contrast mean = significance_mean(&(struct sample){differences, n});
    if (n_first >= PAIRED_MIN_N && n_first < n) {
        const struct contrast first = significance_mean(&(struct sample){differences, n_first});
        const double deviation = stats_two_stage_deviation(n, n_first);
        mean.value = stats_middle(differences, n);
        mean.variance = first.variance * (double)n_first * deviation * deviation;
        mean.df = first.df;
    }
    struct paired p = {
        .known = n >= PAIRED_MIN_N,
        .n = n,
        .mean = mean.value,
        .sd = sd_of(&mean, n),
    };
    return tested(p, p.sd / sqrt((double)n), mean.df);
}

struct estimate paired_ratio(const struct paired *p)
{
    struct estimate e = {.known = p->n > 0, .value = exp(p->mean)};
    if (p->known) {
        e.logs = (struct contrast){.value = p->mean, .variance = p->error * p->error, .df = p->df};
        const double half = student_quantile(p->df, 0.05) * p->error;
        e.has_interval = true;
        e.low = exp(p->mean - half);
        e.high = exp(p->mean + half);
        e.method = INTERVAL_PAIRED_LOG;
    }
    return e;
}

double paired_p(const struct paired *p)
{
    return p->known ? p->p : NAN;
}

double paired_p_above(const struct paired *p, double bound)
{
    const double distance = p->mean - bound;
    if (!p->known) {
        return 1;
    }
    if (p->sd <= 0) {
        return distance > 0 ? 0 : 1;
    }
    const double half = student_two_sided(distance / p->error, p->df) / 2;
    return distance > 0 ? half : 1 - half;
}

double paired_low_95(const struct paired *p)
{
    return p->mean - student_quantile(p->df, 0.10) * p->error;
}

/* In standard errors. */
static double resolution(double df)
{
    return student_quantile(df, 0.10) + student_quantile(df, 0.20);
}

double paired_resolution(const struct paired *p)
{
    return resolution(p->df) * p->error;
}

size_t paired_n_resolving(const struct paired *p, double loss)
{
    for (size_t n = PAIRED_MIN_N; p->known && n < N_MAX; n++) {
        if (resolution((double)(n - 1)) * p->sd / sqrt((double)n) < loss) {
            return n;
        }
    }
    return 0;
}

void paired_adjust(const double *p, size_t n, double *ret)
{
    _cleanup_(freep) struct ranked *ranked = ranked_sort(p, n);
    double least = 0; /* an adjusted p is never below that of a smaller p */
    for (size_t i = 0; i < n; i++) {
        least = fmax(least, fmin(1, (double)(n - i) * ranked[i].value));
        ret[ranked[i].at] = least;
    }
}

struct paired run_spread_test(const double *same, size_t n, double other)
{
    const struct contrast mean = significance_mean(&(struct sample){same, n});
    const double difference = other - mean.value;
    const struct paired b = {.known = n >= RUN_SPREAD_MIN_RUNS,
                             .n = n,
                             .mean = fabs(difference) < PAIRED_SAME ? 0 : difference,
                             .sd = sd_of(&mean, n)};
    return tested(b, b.sd * sqrt(1 + 1 / (double)n), mean.df);
}

void run_spread_widen(struct paired *b, double variance, double df)
{
    const double own = b->error * b->error, both = own + variance;
    if (b->known && variance > 0) {
        *b = tested(*b, sqrt(both), both * both / (own * own / b->df + variance * variance / df));
    }
}
