/* See compare_history.h. */
#include "result/compare_history.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "result/compare_runs.h"

/* ---- which runs are the base's ---- */

bool compare_history_is_same(const struct result *base, const struct result *other)
{
    if (other->simulated || spec_is_imported(other->def->spec) || other->phase != RUN_SUCCEEDED ||
        other->def->rehearsal != base->def->rehearsal ||
        !json_equal(other->def->spec->definition, base->def->spec->definition)) {
        return false;
    }
    struct comparison *c = xnew(struct comparison);
    c->base = base;
    c->candidate = other;
    compare_match(c);
    compare_differences(c);
    const bool same = c->differences.len == 0 && c->only_base.len == 0;
    comparison_free(c);
    return same;
}

/* Mean of the logs of a point's trials in a run of the base's definition; NaN: none succeeded. */
static double mean_of(const struct point_result *p)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->n_trials; i++) {
        if (p->trials[i].phase == TRIAL_SUCCEEDED) {
            sum += log(p->trials[i].throughput.estimate.value);
            n++;
        }
    }
    return n > 0 ? sum / (double)n : NAN;
}

/* ---- the tests ---- */

/* A run counts where it measured the point. `sums` adds up each run's points for the whole. */
static void test_point(struct compared_point *p, const struct result *const *runs, size_t n,
                       double *sums, double *ret_other)
{
    _cleanup_(freep) double *means = xnew_array(double, n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const double mean = mean_of(&runs[i]->points[p->base->point->index]);
        sums[i] += mean;
        if (!isnan(mean)) {
            means[used++] = mean;
        }
    }
    const double other = mean_of(p->candidate);
    *ret_other += other;
    p->between = between_test(means, used, other);
}

static void test_whole(struct comparison *c, const double *sums, size_t n, double other,
                       size_t n_points)
{
    _cleanup_(freep) double *means = xnew_array(double, n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(sums[i])) {
            means[used++] = sums[i] / (double)n_points;
        }
    }
    c->between = between_test(means, used, other / (double)n_points);
}

/* As in compare_axis.c: one half of alpha for the whole, one half for the points by Holm. */
static void adjust(struct comparison *c)
{
    _cleanup_(freep) double *p_values = xnew_array(double, c->points.len + 1);
    size_t n = 0;
    vec_each (const struct compared_point, p, &c->points) {
        if (p->between.known) {
            p_values[n++] = p->between.p;
        }
    }
    const double share = n > 1 ? 2 : 1;
    paired_adjust(p_values, n, p_values);
    n = 0;
    vec_each (struct compared_point, p, &c->points) {
        p->between_p_adjusted = p->between.known ? fmin(1, share * p_values[n++]) : NAN;
    }
    c->between_p_adjusted = c->between.known && n > 1 ? fmin(1, share * c->between.p) : NAN;
}

void compare_history_test(struct comparison *c, const struct result *const *history, size_t n)
{
    _cleanup_(freep) const struct result **runs = xnew_array(const struct result *, n + 1);
    size_t used = 0;
    runs[used++] = c->base;
    for (size_t i = 0; i < n; i++) {
        const char *uid = history[i]->def->uid;
        if (!str_eq(uid, c->base->def->uid) && !str_eq(uid, c->candidate->def->uid) &&
            compare_history_is_same(c->base, history[i])) {
            runs[used++] = history[i];
        }
    }
    c->n_base_runs = used;
    _cleanup_(freep) double *sums = xnew_array(double, used);
    double other = 0;
    size_t n_points = 0;
    vec_each (struct compared_point, p, &c->points) {
        if (compare_is_measured(p)) {
            test_point(p, runs, used, sums, &other);
            n_points++;
        }
    }
    test_whole(c, sums, used, other, n_points);
    adjust(c);
}

enum change compare_history_judge(const struct comparison *c, const struct between *between,
                                  double p_adjusted)
{
    const double ratio = exp(between->difference);
    if (!between->known) {
        return CHANGE_SPREAD_UNKNOWN;
    }
    if (p_adjusted > COMPARE_ALPHA || fmax(ratio, 1 / ratio) < 1 + c->threshold_ratio) {
        return CHANGE_USUAL;
    }
    return p_adjusted > COMPARE_HISTORY_ALPHA ? CHANGE_INCONCLUSIVE
           : ratio > 1                        ? CHANGE_FASTER
                                              : CHANGE_SLOWER;
}
