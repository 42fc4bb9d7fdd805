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

/* ---- pairs ---- */

#define SINGULAR 1e-9 /* a pivot that is 0 but for rounding */

struct fit {
    const double *values;
    size_t n, n_pairs;
    double *inverse; /* (n, n), of the normal matrix */
    double *b;       /* (n) */
    double variance; /* of a value */
};

/* In place, by Gauss and Jordan; m has no negative eigenvalue. False: it has one that is 0. */
static bool invert(double *m, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double pivot = m[k * n + k];
        if (!(pivot > SINGULAR)) {
            return false;
        }
        m[k * n + k] = 1;
        for (size_t j = 0; j < n; j++) {
            m[k * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            const double factor = i == k ? 0 : m[i * n + k];
            m[i * n + k] -= factor; /* column k of the inverse begins with 0 here */
            for (size_t j = 0; j < n; j++) {
                m[i * n + j] -= factor * m[k * n + j];
            }
        }
    }
    return true;
}

/* ret: n_pairs of each item. */
static bool solve(struct fit *f, struct pair_effect *ret)
{
    const size_t n = f->n;
    _cleanup_(freep) double *right = xnew_array(double, n);
    for (size_t k = 0; k < n * n; k++) {
        const size_t i = k / n, j = k % n;
        if (i < j && !isnan(f->values[k])) {
            f->n_pairs++;
            ret[i].n_pairs++;
            ret[j].n_pairs++;
            f->inverse[i * n + i]++;
            f->inverse[j * n + j]++;
            f->inverse[i * n + j] = f->inverse[j * n + i] = 1;
            right[i] += f->values[k];
            right[j] += f->values[k];
        }
    }
    if (f->n_pairs <= n || !invert(f->inverse, n)) {
        return false;
    }
    for (size_t k = 0; k < n * n; k++) {
        f->b[k / n] += f->inverse[k] * right[k % n];
    }
    for (size_t k = 0; k < n * n; k++) {
        const size_t i = k / n, j = k % n;
        const double residual = i < j ? f->values[k] - f->b[i] - f->b[j] : NAN;
        f->variance += isnan(residual) ? 0 : residual * residual / (double)(f->n_pairs - n);
    }
    return true;
}

/* The variance of b_i less the mean of the others, over that of a value. The weights are 1 and
 * -1 / (n - 1), so it is own b_i - weight (sum of all b). */
static double scale_of(const struct fit *f, size_t i)
{
    const double weight = 1 / ((double)f->n - 1), own = 1 + weight;
    double row = 0, total = 0;
    for (size_t k = 0; k < f->n * f->n; k++) {
        total += f->inverse[k];
        row += k / f->n == i ? f->inverse[k] : 0;
    }
    return own * own * f->inverse[i * f->n + i] - 2 * own * weight * row + weight * weight * total;
}

static void test_each(const struct fit *f, struct pair_effect *ret)
{
    const double middle = stats_middle(f->b, f->n);
    _cleanup_(freep) double *p = xnew_array(double, f->n);
    for (size_t i = 0; i < f->n; i++) {
        struct paired d = {.known = true, .n = 1, .mean = f->b[i] - middle};
        d.df = (double)(f->n_pairs - f->n);
        d.sd = sqrt(f->variance * scale_of(f, i)); /* of the mean, since n is 1 */
        ret[i].ratio = paired_ratio(&d);
        d.mean = -d.mean;
        p[i] = paired_p_above(&d, PAIRED_SAME);
    }
    paired_adjust(p, f->n, p);
    for (size_t i = 0; i < f->n; i++) {
        ret[i].p = p[i];
    }
}

bool pairs_fit(const double *values, size_t n, struct pair_effect *ret)
{
    _cleanup_(freep) double *inverse = xnew_array(double, n *n);
    _cleanup_(freep) double *b = xnew_array(double, n);
    struct fit fit = {.values = values, .n = n, .inverse = inverse, .b = b};
    const bool is_known = solve(&fit, ret);
    if (is_known) {
        test_each(&fit, ret);
    }
    return is_known;
}
