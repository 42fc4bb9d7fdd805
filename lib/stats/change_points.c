/* See change_points.h. Values are looked at by rank: a Fenwick tree has counts and sums of those
 * left of a split, so that a stretch of n values costs n log n. */
#include "stats/change_points.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/splitmix.h"
#include "stats/stats.h"

/* ---- sums of distances ---- */

struct tree { /* of the values left of the split, by rank */
    double *counts, *sums;
    size_t n;
};

static void tree_add(struct tree *t, size_t rank, double value)
{
    for (size_t i = rank + 1; i <= t->n; i += i & -i) {
        t->counts[i] += 1;
        t->sums[i] += value;
    }
}

/* Of the values of a lower or the same rank. */
static void tree_below(const struct tree *t, size_t rank, double *ret_count, double *ret_sum)
{
    *ret_count = *ret_sum = 0;
    for (size_t i = rank + 1; i > 0; i -= i & -i) {
        *ret_count += t->counts[i];
        *ret_sum += t->sums[i];
    }
}

/* The sum of |value - v| over n values with the sum `sum`. n_below of them are not above `value`;
 * their sum is sum_below. */
static double distance(double value, double n, double sum, double n_below, double sum_below)
{
    return value * n_below - sum_below + (sum - sum_below) - value * (n - n_below);
}

/* ---- the best split ---- */

struct stretch {
    const double *sorted; /* its values, ascending */
    const size_t *ranks;  /* of each value in order; ties have ranks of their own */
    size_t n;
    double *all_below; /* by rank: sum of the values up to it */
    struct tree tree;  /* room */
};

/* The energy statistic of the best split:
 *   mn / (m + n) (2 E|X - Y| - E|X - X'| - E|Y - Y'|)
 * *ret_at is the first value after it. */
static double best_split(struct stretch *s, const size_t *ranks, size_t *ret_at)
{
    const size_t n = s->n;
    const double total = s->all_below[n - 1];
    double left = 0, right = 0, best = -INFINITY, left_sum = 0;
    memset(s->tree.counts, 0, (n + 1) * sizeof(double));
    memset(s->tree.sums, 0, (n + 1) * sizeof(double));
    for (size_t r = 0; r < n; r++) { /* all pairs: of the right side, to begin with */
        right += s->sorted[r] * (double)r - (s->all_below[r] - s->sorted[r]);
    }
    const double pairs = right;
    for (size_t i = 0; i + 1 < n; i++) {
        const double value = s->sorted[ranks[i]];
        double n_below, sum_below;
        tree_below(&s->tree, ranks[i], &n_below, &sum_below);
        const double to_left = distance(value, (double)i, left_sum, n_below, sum_below);
        const double to_all =
            distance(value, (double)n, total, (double)ranks[i] + 1, s->all_below[ranks[i]]);
        left += to_left;
        right -= to_all - to_left;
        tree_add(&s->tree, ranks[i], value);
        left_sum += value;
        const double m = (double)(i + 1), k = (double)(n - i - 1);
        if (i + 1 < CHANGE_POINTS_MIN_SIZE || n - i - 1 < CHANGE_POINTS_MIN_SIZE) {
            continue;
        }
        const double energy = 2 * (pairs - left - right) / (m * k) - 2 * left / (m * (m - 1)) -
                              2 * right / (k * (k - 1));
        const double q = m * k / (m + k) * energy;
        if (q > best) {
            best = q;
            *ret_at = i + 1;
        }
    }
    return best;
}

/* The p of a stretch's best split, or any above alpha. */
static double test_split(const double *values, size_t n, double alpha, size_t *ret_at)
{
    struct ranked *ranked = ranked_sort(values, n);
    double *sorted = xnew_array(double, 4 * n + 2);
    size_t *ranks = xnew_array(size_t, 2 * n), *drawn = ranks + n;
    struct stretch s = {.sorted = sorted,
                        .ranks = ranks,
                        .n = n,
                        .all_below = sorted + n,
                        .tree = {sorted + 2 * n, sorted + 3 * n + 1, n}};
    double sum = 0;
    for (size_t r = 0; r < n; r++) {
        sorted[r] = ranked[r].value;
        ranks[ranked[r].at] = r;
        s.all_below[r] = sum += ranked[r].value;
    }
    const double observed = best_split(&s, ranks, ret_at);
    uint64_t state = CHANGE_POINTS_SEED;
    size_t reached = 1;
    const double most = alpha * (CHANGE_POINTS_DRAWS + 1);
    for (size_t draw = 0; draw < CHANGE_POINTS_DRAWS && (double)reached <= most; draw++) {
        size_t ignored = 0;
        memcpy(drawn, ranks, n * sizeof(*ranks));
        for (size_t i = n - 1; i > 0; i--) {
            const size_t k = splitmix_below(&state, (uint32_t)(i + 1)), rank = drawn[i];
            drawn[i] = drawn[k];
            drawn[k] = rank;
        }
        reached += best_split(&s, drawn, &ignored) >= observed * (1 - 1e-12);
    }
    free(ranked);
    free(sorted);
    free(ranks);
    return (double)reached / (CHANGE_POINTS_DRAWS + 1);
}

static void find_in(const double *values, size_t from, size_t to, double alpha,
                    struct change_points *ret)
{
    const size_t n = to - from;
    size_t at = 0;
    if (n < (size_t)2 * CHANGE_POINTS_MIN_SIZE) {
        return;
    }
    const double p = test_split(values + from, n, alpha, &at);
    if (p > alpha) {
        return;
    }
    find_in(values, from, from + at, alpha, ret); /* shorter, so this ends */
    *vec_push(&ret->list) = (struct change_point){.at = from + at, .p = p};
    find_in(values, from + at, to, alpha, ret);
}

void change_points_find(const double *values, size_t n, double alpha, struct change_points *ret)
{
    *ret = (struct change_points){0};
    find_in(values, 0, n, alpha, ret);
}

void change_points_done(struct change_points *c)
{
    vec_done(&c->list);
}
