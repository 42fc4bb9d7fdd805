/* See paired.h. */
#include "stats/paired.h"

#include <math.h>

#include "base/mem.h"
#include "stats/ranked.h"
#include "stats/student.h"
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
        .df = mean.df,
        .p = 1,
    };
    if (p.known) {
        p.t = p.sd > 0 ? p.mean / sqrt(mean.variance) : t_without_spread(p.mean);
        p.p = student_two_sided(p.t, p.df);
    }
    return p;
}

struct estimate paired_ratio(const struct paired *p)
{
    struct estimate e = {.known = p->n > 0, .value = exp(p->mean)};
    if (p->known) {
        e.logs = (struct contrast){
            .value = p->mean, .variance = p->sd * p->sd / (double)p->n, .df = p->df};
        const double half = student_quantile(p->df, 0.05) * sqrt(e.logs.variance);
        e.has_interval = true;
        e.low = exp(p->mean - half);
        e.high = exp(p->mean + half);
        e.method = INTERVAL_PAIRED_LOG;
    }
    return e;
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
    const double half = student_two_sided(distance / (p->sd / sqrt((double)p->n)), p->df) / 2;
    return distance > 0 ? half : 1 - half;
}

double paired_low_95(const struct paired *p)
{
    return p->mean - student_quantile(p->df, 0.10) * p->sd / sqrt((double)p->n);
}

size_t paired_n_above(const struct paired *p, double bound)
{
    for (size_t n = PAIRED_MIN_N; p->known && n < N_MAX; n++) {
        const double half = student_quantile((double)(n - 1), 0.10) * p->sd / sqrt((double)n);
        if (p->mean - half > bound) {
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

struct run_spread run_spread_test(const double *same, size_t n, double other)
{
    const struct contrast mean = significance_mean(&(struct sample){same, n});
    struct run_spread b = {.known = n >= RUN_SPREAD_MIN_RUNS, .n_runs = n, .df = mean.df, .p = 1};
    if (b.known) {
        b.difference = other - mean.value;
        b.sd = sd_of(&mean, n);
        b.t = b.sd > 0 ? b.difference / (b.sd * sqrt(1 + 1 / (double)n))
                       : t_without_spread(b.difference);
        b.p = student_two_sided(b.t, b.df);
    }
    return b;
}
