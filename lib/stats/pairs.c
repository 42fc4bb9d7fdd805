/* See pairs.h. */
#include "stats/pairs.h"

#include <math.h>

#include "base/mem.h"
#include "stats/paired.h"

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
