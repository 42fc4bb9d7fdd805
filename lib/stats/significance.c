/* See significance.h. */
#include "stats/significance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "stats/stats.h"

#define ALPHA 0.05 /* of a 95% interval */

/* ---- Welch ---- */

struct contrast significance_mean(const struct sample *s)
{
    const double sum = array_sum(s->values, s->n, it, *it);
    double squares = 0;
    if (s->n < 2) {
        return (struct contrast){.value = sum};
    }
    const double mean = sum / (double)s->n, df = (double)(s->n - 1);
    for (size_t i = 0; i < s->n; i++) {
        const double d = s->values[i] - mean;
        squares += d * d;
    }
    return (struct contrast){
        .value = mean,
        .variance = squares / df / (double)s->n,
        .df = df,
        .common = squares / df,
        .common_df = df,
        .scale = 1 / (double)s->n,
    };
}

/* Satterthwaite: variance^2 / df adds up. A part without spread adds none. */
static double doubt(double variance, double df)
{
    return variance > 0 ? variance * variance / df : 0;
}

struct contrast significance_sum(const struct contrast *a, double factor, const struct contrast *b)
{
    const double variance_b = factor * factor * b->variance;
    struct contrast c = {
        .value = a->value + factor * b->value,
        .variance = a->variance + variance_b,
        .df = a->df + b->df,
        .is_staged = a->is_staged || b->is_staged,
        .common_df = a->common_df + b->common_df,
        .scale = a->scale + factor * factor * b->scale,
    };
    if (c.variance > 0) {
        c.df = c.variance * c.variance / (doubt(a->variance, a->df) + doubt(variance_b, b->df));
    }
    if (c.common_df > 0) {
        c.common = (a->common_df * a->common + b->common_df * b->common) / c.common_df;
    }
    return c;
}

static double half_width(const struct uncertainty *s)
{
    return student_quantile(s->df, ALPHA) * sqrt(s->variance);
}

/* Welch's. */
static struct uncertainty own_of(const struct contrast *c)
{
    return (struct uncertainty){c->variance, c->df};
}

/* Stein's, which counts in addition to Welch's if some point stopped by its own spread.
 * False: it does not count. */
static bool has_common(const struct contrast *c, struct uncertainty *ret)
{
    *ret = (struct uncertainty){c->common * c->scale, c->common_df};
    return c->is_staged && ret->df > 0;
}

struct uncertainty significance_uncertainty(const struct contrast *c)
{
    const struct uncertainty own = own_of(c);
    struct uncertainty common;
    return has_common(c, &common) && half_width(&common) > half_width(&own) ? common : own;
}

static struct welch test_of(double difference, const struct uncertainty *u)
{
    struct welch w = {.known = true, .df = u->df, .p = 1};
    if (u->variance > 0) {
        w.t = difference / sqrt(u->variance);
        w.p = student_two_sided(w.t, w.df);
    } else if (difference > 0 || difference < 0) { /* nothing varies: certain */
        w.t = difference > 0 ? INFINITY : -INFINITY;
        w.p = 0;
    }
    return w;
}

struct welch significance_welch_of(const struct contrast *a, const struct contrast *b)
{
    if (a->df <= 0 || b->df <= 0) {
        return (struct welch){0};
    }
    const struct contrast d = significance_sum(b, -1, a);
    const struct uncertainty own = own_of(&d);
    const struct welch w = test_of(d.value, &own);
    struct uncertainty common;
    if (!has_common(&d, &common)) {
        return w;
    }
    /* The wider interval is that of the larger p at 5% only; corrected for many points p is judged
     * at less, where the one with fewer degrees of freedom may be the larger. */
    const struct welch c = test_of(d.value, &common);
    return c.p > w.p ? c : w;
}

/* ---- many tests ---- */

void significance_adjust(const double *p, size_t n, double *ret_adjusted)
{
    _cleanup_(freep) struct ranked *ranked = ranked_sort(p, n);
    double least = 1;
    for (size_t rank = n; rank > 0; rank--) {
        least = fmin(least, ranked[rank - 1].value * ((double)n / (double)rank));
        ret_adjusted[ranked[rank - 1].at] = least;
    }
}

/* ---- ranks ---- */

struct ranked *ranked_sort(const double *values, size_t n)
{
    struct ranked *ranked = xnew_array(struct ranked, n);
    for (size_t i = 0; i < n; i++) {
        ranked[i] = (struct ranked){values[i], i};
    }
    for (size_t gap = n / 2; gap > 0;
         gap = gap == 2 ? 1 : gap * 5 / 11) { /* Shell's, for doubles */
        for (size_t i = gap; i < n; i++) {
            const struct ranked moved = ranked[i];
            size_t at = i;
            for (; at >= gap && ranked[at - gap].value > moved.value; at -= gap) {
                ranked[at] = ranked[at - gap];
            }
            ranked[at] = moved;
        }
    }
    return ranked;
}

/* ---- Student's t ---- */

#define FRACTION_MAX_TERMS 1000 /* of order sqrt(max(a, b)): enough for a million trials */
#define FRACTION_PRECISION 1e-15
#define QUANTILE_MAX_STEPS 100 /* 5 to 10 are taken from df = 1 on */

/* One step of Lentz's method: a continued fraction from the front, kept off zero. */
static double lentz(double *c, double *d, double numerator)
{
    *d = 1 + numerator * *d;
    *c = 1 + numerator / *c;
    *d = fabs(*d) < DBL_MIN ? DBL_MIN : *d;
    *c = fabs(*c) < DBL_MIN ? DBL_MIN : *c;
    *d = 1 / *d;
    return *c * *d;
}

/* The continued fraction of DLMF 8.17.22, which converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), fraction = d;
    for (int m = 1; m < FRACTION_MAX_TERMS; m++) {
        const double at = a + 2 * m;
        fraction *= lentz(&c, &d, m * (b - m) * x / ((at - 1) * at));
        const double step = lentz(&c, &d, -(a + m) * (a + b + m) * x / (at * (at + 1)));
        fraction *= step;
        if (fabs(step - 1) < FRACTION_PRECISION) {
            break;
        }
    }
    return fraction;
}

double student_incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    if (x > (a + 1) / (a + b + 2)) { /* DLMF 8.17.4 */
        return 1 - student_incomplete_beta(b, a, 1 - x);
    }
    int sign;
    const double ln_beta = lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
    return exp(a * log(x) + b * log1p(-x) - ln_beta) / a * beta_fraction(a, b, x);
}

double student_two_sided(double t, double df)
{
    if (isinf(t)) {
        return 0;
    }
    /* Abramowitz and Stegun 26.7.1 with 26.5.27. */
    return student_incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

/* Newton's steps from below: p falls and is convex in t > 0, so that they never pass the root. */
double student_quantile(double df, double alpha)
{
    const double precision = 1e-13;
    int sign;
    const double ln_beta =
        lgamma_r(df / 2, &sign) + lgamma_r(0.5, &sign) - lgamma_r((df + 1) / 2, &sign);
    double t = 1; /* below the quantile for any df */
    for (int i = 0; i < QUANTILE_MAX_STEPS; i++) {
        const double density = exp(-(df + 1) / 2 * log1p(t * t / df) - ln_beta) / sqrt(df);
        const double step = (student_two_sided(t, df) - alpha) / (2 * density);
        t += step;
        if (fabs(step) <= precision * t) {
            break;
        }
    }
    return t;
}
