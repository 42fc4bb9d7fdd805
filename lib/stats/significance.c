/* See significance.h. */
#include "stats/significance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/splitmix.h"
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

/* ---- permutation ---- */

/* The spread inside the groups counts as at least 3e-5 of the distance between them. A stratum
 * without spread then has a statistic too, and rounding does not decide between two such strata. */
#define SHARE_MAX (1 - 1e-9)
#define NEAR 1e-9
#define PRODUCT_MIN 1e-200 /* a factor is at least 1 - SHARE_MAX */
#define TIE 1e-7           /* relative: sums of the same values in another order are the same */

struct pool {       /* the values of a stratum, of both groups; owned */
    double *values; /* less their mean, ascending */
    size_t n, k;    /* k: values of the smaller group */
    double scale;   /* squared sum of the smaller group to its share of the squares; 0: all alike */
    double observed;
    double *terms; /* of all arrangements; NULL where some are drawn */
    size_t n_terms;
};

/* N ln(1 + t^2 / (N - 2)) = -N ln(1 - R^2), R^2 the share of the squares that the groups explain;
 * twice the log-likelihood ratio of "each group has its mean" to "one mean", with normal errors
 * (Wilks, Ann. Math. Statist. 9 (1938) 60-62). Like t it knows no unit, so noisy points count no
 * more than calm ones; it has no sign, so gains here do not hide losses there; and one clear change
 * is not lost in many points without, as in a sum of t^2 that permutation bounds by N - 1. */
static double term(const struct pool *pool, double share)
{
    return -(double)pool->n * log1p(-share);
}

/* R^2, where the values of the smaller group have this sum. */
static double share(const struct pool *pool, double sum)
{
    const double share = sum * sum * pool->scale;
    return share < SHARE_MAX ? share : SHARE_MAX;
}

static void pool_init(struct pool *pool, const struct stratum *s)
{
    const bool a_is_smaller = s->a.n <= s->b.n;
    const struct sample *small = a_is_smaller ? &s->a : &s->b;
    const struct sample *large = a_is_smaller ? &s->b : &s->a;
    *pool = (struct pool){.n = small->n + large->n, .k = small->n};
    const double n = (double)pool->n, k = (double)pool->k;
    pool->values = xnew_array(double, pool->n);
    memcpy(pool->values, small->values, small->n * sizeof(double));
    memcpy(pool->values + small->n, large->values, large->n * sizeof(double));
    double least = INFINITY, most = -INFINITY, sum = 0, group = 0, squares = 0;
    for (size_t i = 0; i < pool->n; i++) {
        least = fmin(least, pool->values[i]);
        most = fmax(most, pool->values[i]);
        sum += pool->values[i];
    }
    for (size_t i = 0; i < pool->n; i++) {
        pool->values[i] -= sum / n;
        squares += pool->values[i] * pool->values[i];
    }
    for (size_t i = 0; i < pool->k; i++) {
        group += pool->values[i];
    }
    pool->scale = least < most ? n / (k * (n - k) * squares) : 0;
    pool->observed = term(pool, share(pool, group));
    qsort(pool->values, pool->n, sizeof(double), by_double);
}

/* A fixed order, independent of the caller's: draws follow one after another. */
static int by_content(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    if (x->n != y->n || x->k != y->k) {
        return x->n < y->n || (x->n == y->n && x->k < y->k) ? -1 : 1;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (x->values[i] < y->values[i] || x->values[i] > y->values[i]) {
            return x->values[i] < y->values[i] ? -1 : 1;
        }
    }
    return 0;
}

/* The number of ways to choose k of n: exact as long as arrangements are counted, infinite far
 * beyond that. */
static double ways(size_t n, size_t k)
{
    double product = 1;
    for (size_t i = 1; i <= k; i++) {
        product = product * (double)(n - k + i) / (double)i;
    }
    return round(product);
}

/* The share of the most extreme arrangements: there is one, or one and its mirror image. */
static double best_share(size_t n, size_t k)
{
    return (2 * k == n ? 2 : 1) / ways(n, k);
}

/* The terms of all arrangements: combinations in lexicographic order. */
static void list_terms(struct pool *pool)
{
    _cleanup_(freep) size_t *chosen = xnew_array(size_t, pool->k);
    pool->terms = xnew_array(double, (size_t)ways(pool->n, pool->k));
    for (size_t i = 0; i < pool->k; i++) {
        chosen[i] = i;
    }
    for (;;) {
        double sum = 0;
        for (size_t i = 0; i < pool->k; i++) {
            sum += pool->values[chosen[i]];
        }
        pool->terms[pool->n_terms++] = term(pool, share(pool, sum));
        size_t i = pool->k;
        while (i > 0 && chosen[i - 1] == pool->n - pool->k + i - 1) {
            i--;
        }
        if (i == 0) {
            return;
        }
        chosen[i - 1]++;
        for (; i < pool->k; i++) {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

/* How many arrangements of these pools, and `before` from the others, reach `limit`. */
static uint64_t count_reaching(const struct pool *pools, size_t n, double before, double limit)
{
    if (n == 0) {
        return before >= limit;
    }
    return array_sum(pools->terms, pools->n_terms, it,
                     count_reaching(pools + 1, n - 1, before + *it, limit));
}

/* The share of the squares that k of the pool's values explain, drawn at random. They stay
 * shuffled, which does no harm. `inverses`: of splitmix_below_by, for each number of values. */
static double draw_share(const struct pool *pool, const uint64_t *inverses, double *values,
                         uint64_t *state)
{
    double sum = 0;
    for (size_t i = 0; i < pool->k; i++) {
        const size_t left = pool->n - i;
        const size_t at = i + splitmix_below_by(state, (uint32_t)left, inverses[left]);
        const double drawn = values[at];
        values[at] = values[i];
        values[i] = drawn;
        sum += drawn;
    }
    return share(pool, sum);
}

/* Do the terms of these shares reach the limit? The logarithm of a product is one logarithm where
 * the sum of terms takes one each. The two differ by rounding, which NEAR bounds for each value of
 * a pool: only closer to the limit than that the terms are needed. */
static bool is_reached(const struct pool *pools, size_t n, const double *shares, double limit)
{
    double sum = 0, product = 1, n_values = 0;
    for (size_t j = 0; j < n; j++) {
        product *= 1 - shares[j];
        n_values += (double)pools[j].n;
        if (j + 1 == n || pools[j + 1].n != pools[j].n || product < PRODUCT_MIN) {
            sum -= (double)pools[j].n * log(product);
            product = 1;
        }
    }
    if (fabs(sum - limit) > NEAR * n_values) {
        return sum > limit;
    }
    return array_sum(shares, n, it, term(&pools[it - shares], *it)) >= limit;
}

/* Each draw walks all pools: their values, which sorting has scattered, are put side by side. */
static uint64_t draw_reaching(const struct pool *pools, size_t n, double limit, uint64_t seed)
{
    uint64_t count = 0, state = seed;
    _cleanup_(freep) double *shares = xnew_array(double, n);
    _cleanup_(freep) double *values = xnew_array(double, array_sum(pools, n, p, p->n));
    const size_t most = pools[n - 1].n; /* they are sorted */
    _cleanup_(freep) uint64_t *inverses = xnew_array(uint64_t, most + 1);
    for (size_t i = 1; i <= most; i++) {
        inverses[i] = UINT64_MAX / i;
    }
    double *next = values;
    for (size_t j = 0; j < n; next += pools[j++].n) {
        memcpy(next, pools[j].values, pools[j].n * sizeof(double));
    }
    for (int i = 0; i < SIGNIFICANCE_DRAWS; i++) {
        next = values;
        for (size_t j = 0; j < n; next += pools[j++].n) {
            shares[j] = draw_share(&pools[j], inverses, next, &state);
        }
        count += is_reached(pools, n, shares, limit);
    }
    return count;
}

static void test_pools(struct pool *pools, size_t n, uint64_t seed, struct permutation *ret)
{
    double arrangements = 1;
    ret->p_least = 1;
    for (size_t i = 0; i < n; i++) {
        ret->statistic += pools[i].observed;
        ret->p_least *= best_share(pools[i].n, pools[i].k);
        arrangements *= ways(pools[i].n, pools[i].k);
    }
    const double limit = ret->statistic * (1 - TIE);
    ret->is_exact = arrangements <= SIGNIFICANCE_EXACT_MAX;
    if (ret->is_exact) {
        for (size_t i = 0; i < n; i++) {
            list_terms(&pools[i]);
        }
        ret->n_arrangements = (uint64_t)arrangements;
        ret->p = (double)count_reaching(pools, n, 0, limit) / arrangements;
    } else {
        const double drawn = SIGNIFICANCE_DRAWS;
        ret->n_arrangements = SIGNIFICANCE_DRAWS;
        ret->p_least = fmax(ret->p_least, 1 / (drawn + 1));
        ret->p = ((double)draw_reaching(pools, n, limit, seed) + 1) / (drawn + 1);
    }
}

struct permutation significance_permute(const struct stratum *strata, size_t n, uint64_t seed)
{
    struct permutation result = {.p = 1, .p_least = 1};
    _cleanup_(freep) struct pool *pools = xnew_array(struct pool, n);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (strata[i].a.n + strata[i].b.n >
            2) { /* with one value against one, both arrangements are equally extreme */
            pool_init(&pools[used++], &strata[i]);
        }
    }
    if (used > 0) {
        result.known = true;
        qsort(pools, used, sizeof(*pools), by_content);
        test_pools(pools, used, seed, &result);
    }
    for (size_t i = 0; i < used; i++) {
        free(pools[i].values);
        free(pools[i].terms);
    }
    return result;
}

double significance_least(size_t n_a, size_t n_b)
{
    return best_share(n_a + n_b, n_a < n_b ? n_a : n_b);
}

size_t significance_values_needed(size_t n_strata, double alpha)
{
    size_t n = 2;
    while (n_strata > 0 && pow(best_share(2 * n, n), (double)n_strata) > alpha) {
        n++;
    }
    return n;
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
