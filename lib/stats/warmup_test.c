/* See warmup_test.h. */
#include "stats/warmup_test.h"

#include <math.h>

#include "base/mem.h"
#include "stats/stats.h"

#define MIN_STRETCH 4 /* fewer have no split that could be significant */

/* ---- scores ---- */

/* Wichura, Appl. Statist. 37 (1988) 477-484, algorithm AS 241, routine PPND7. */
double warmup_test_normal_quantile(double p)
{
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1);
    }
    double r = sqrt(-log(q < 0 ? p : 1 - p)), x;
    if (r <= 5) {
        r -= 1.6;
        x = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
            ((0.12021132975 * r + 0.73700164250) * r + 1);
    } else {
        r -= 5;
        x = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
            ((0.012258202635 * r + 0.24197894225) * r + 1);
    }
    return q < 0 ? -x : x;
}

/* Adds the standardised sum of the scores left of each split to sums[1..n-1]. Values that are alike
 * share the mean of their scores. */
static void add_sums(const double *values, size_t n, double *sums)
{
    _cleanup_(freep) struct ranked *ranked = ranked_sort(values, n);
    _cleanup_(freep) double *scores = xnew_array(double, n);
    if (ranked[0].value == ranked[n - 1].value) {
        return; /* all alike: nothing to rank */
    }
    double squares = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        for (end = i; end < n && ranked[end].value == ranked[i].value; end++) {
            sum += warmup_test_normal_quantile((double)(end + 1) / (double)(n + 1));
        }
        const double score = sum / (double)(end - i);
        squares += score * score * (double)(end - i);
        for (size_t j = i; j < end; j++) {
            scores[ranked[j].at] = score;
        }
    }
    double left = 0; /* all scores together are 0 */
    for (size_t t = 1; t < n; t++) {
        left += scores[t - 1];
        const double variance =
            (double)t * (double)(n - t) / ((double)n * (double)(n - 1)) * squares;
        sums[t] += left / sqrt(variance);
    }
}

/* ---- splits ---- */

/* That the largest of all splits reaches z by chance. */
static double p_of_largest(double z, size_t n)
{
    if (z < 2) {
        return 1; /* the bound is no probability there */
    }
    const double density = exp(-z * z / 2) / sqrt(2 * M_PI);
    const double p = density * ((z - 1 / z) * 2 * log((double)(n - 1)) + 4 / z);
    return p < 1 ? p : 1;
}

struct search {
    const double *const *trials;
    size_t n_trials;
    double alpha, min_change;
};

/* See settle.change. */
static double change_at(const struct search *s, size_t from, size_t at, size_t to)
{
    _cleanup_(freep) double *changes = xnew_array(double, s->n_trials);
    for (size_t i = 0; i < s->n_trials; i++) {
        const double *values = s->trials[i];
        changes[i] = log(stats_median(values + from, at - from).value /
                         stats_median(values + at, to - at).value);
    }
    return stats_median(changes, s->n_trials).value;
}

/* Where it is split best; false: nothing but chance. */
static bool split(const struct search *s, size_t from, size_t to, size_t *ret_at)
{
    const size_t n = to - from;
    if (n < MIN_STRETCH) {
        return false;
    }
    _cleanup_(freep) double *sums = xnew_array(double, n);
    for (size_t i = 0; i < s->n_trials; i++) {
        add_sums(s->trials[i] + from, n, sums);
    }
    size_t best = 1;
    for (size_t t = 2; t < n; t++) {
        best = fabs(sums[t]) > fabs(sums[best]) ? t : best;
    }
    *ret_at = from + best;
    return p_of_largest(fabs(sums[best]) / sqrt((double)s->n_trials), n) <= s->alpha;
}

/* Ranks are better at detecting a change than at locating it: a steady step next to it that is long
 * by chance is as good as a long one. Moves the change past entries that are nearer to the other
 * side, in most trials. */
static size_t refine(const struct search *s, size_t from, size_t at, size_t to, double change)
{
    while (at > from + 1 && fabs(change_at(s, at - 1, at, to)) < fabs(change) / 2) {
        at--;
    }
    while (at + 2 < to && fabs(change_at(s, at, at + 1, to)) > fabs(change) / 2) {
        at++;
    }
    return at;
}

/* The last change that is large enough. Both parts are shorter, so this ends. */
static struct warmup_change find_in(const struct search *s, size_t from, size_t to)
{
    size_t at;
    if (!split(s, from, to, &at)) {
        return (struct warmup_change){0};
    }
    const struct warmup_change later = find_in(s, at, to);
    if (later.has_change) {
        return later;
    }
    const double change = change_at(s, from, at, to);
    return fabs(change) >= s->min_change
               ? (struct warmup_change){true, refine(s, from, at, to, change), change}
               : find_in(s, from, at);
}

struct warmup_change warmup_test_find(const double *const *trials, size_t n_trials, size_t n,
                                      double alpha, double min_change)
{
    const struct search s = {trials, n_trials, alpha, min_change};
    return n < WARMUP_TEST_MIN_ENTRIES || n_trials < WARMUP_TEST_MIN_TRIALS
               ? (struct warmup_change){0}
               : find_in(&s, 0, n);
}
