/* See compare_history.h. */
#include "compare/compare_history.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare/compare_busy.h"
#include "compare/compare_runs.h"

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

/* What a run measured, and what it would have without other programs. NaN: not known. */
enum { AS_MEASURED, ALONE, KINDS };
static void means_of(const struct point_result *p, double ret[static KINDS])
{
    ret[AS_MEASURED] = mean_of(p);
    ret[ALONE] = ret[AS_MEASURED] + compare_busy_lost(p);
}

/* Uses the values that are known. If the candidate's own is unknown, all is. */
static struct run_spread test(const double *values, size_t n, double other)
{
    _cleanup_(freep) double *known = xnew_array(double, n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i]) && !isnan(other)) {
            known[used++] = values[i];
        }
    }
    return run_spread_test(known, used, other);
}

struct tested {          /* the runs of the base, and the candidate */
    double *base[KINDS]; /* (n) owned */
    double other[KINDS];
    size_t n;
};

static void test_both(const struct tested *t, struct run_spread *ret_between,
                      struct compared_busy *ret_busy)
{
    *ret_between = test(t->base[AS_MEASURED], t->n, t->other[AS_MEASURED]);
    ret_busy->alone = test(t->base[ALONE], t->n, t->other[ALONE]);
    if (ret_busy->alone.n_runs < ret_between->n_runs) { /* then both would be of other runs */
        ret_busy->alone = (struct run_spread){.p = 1};
    }
    compare_busy_explain(ret_busy, ret_between, t->other[ALONE] - t->other[AS_MEASURED]);
}

/* A run counts where it measured the point. `sums` adds up the points of each run. */
static void test_point(struct compared_point *p, const struct result *const *runs, size_t n,
                       struct tested *sums)
{
    struct tested of_point = {.n = n};
    for (int k = 0; k < KINDS; k++) {
        of_point.base[k] = xnew_array(double, n);
    }
    means_of(p->candidate, of_point.other);
    for (size_t i = 0; i < n; i++) {
        double means[KINDS];
        means_of(&runs[i]->points[p->base->point->index], means);
        for (int k = 0; k < KINDS; k++) {
            of_point.base[k][i] = means[k];
            sums->base[k][i] += means[k];
        }
    }
    test_both(&of_point, &p->between, &p->busy);
    for (int k = 0; k < KINDS; k++) {
        sums->other[k] += of_point.other[k];
        free(of_point.base[k]);
    }
}

/* The mean over points of each run that has all of them. */
static void test_whole(struct comparison *c, struct tested *sums, size_t n_points)
{
    for (int k = 0; k < KINDS; k++) {
        sums->other[k] /= (double)n_points;
        for (size_t i = 0; i < sums->n; i++) {
            sums->base[k][i] /= (double)n_points;
        }
    }
    test_both(sums, &c->between, &c->busy);
}

/* As in compare_axis.c: one half of alpha for the whole, one half for the points by Holm. `test_of`
 * and `p_of` choose one of both kinds. */
static void adjust(struct comparison *c, struct run_spread *(*test_of)(struct compared_point *),
                   double *(*p_of)(struct compared_point *), const struct run_spread *whole,
                   double *ret_whole)
{
    _cleanup_(freep) double *p_values = xnew_array(double, c->points.len + 1);
    size_t n = 0;
    vec_each (struct compared_point, p, &c->points) {
        if (test_of(p)->known) {
            p_values[n++] = test_of(p)->p;
        }
    }
    const double share = n > 1 ? 2 : 1;
    paired_adjust(p_values, n, p_values);
    n = 0;
    vec_each (struct compared_point, p, &c->points) {
        *p_of(p) = test_of(p)->known ? fmin(1, share * p_values[n++]) : NAN;
    }
    *ret_whole = whole->known && n > 1 ? fmin(1, share * whole->p) : NAN;
}

static struct run_spread *measured_test(struct compared_point *p)
{
    return &p->between;
}

static double *measured_p(struct compared_point *p)
{
    return &p->between_p_adjusted;
}

static struct run_spread *alone_test(struct compared_point *p)
{
    return &p->busy.alone;
}

static double *alone_p(struct compared_point *p)
{
    return &p->busy.p_adjusted;
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
    struct tested sums = {.n = used};
    for (int k = 0; k < KINDS; k++) {
        sums.base[k] = xnew_array(double, used);
    }
    size_t n_points = 0;
    vec_each (struct compared_point, p, &c->points) {
        if (compare_is_measured(p)) {
            test_point(p, runs, used, &sums);
            n_points++;
        }
    }
    test_whole(c, &sums, n_points);
    for (int k = 0; k < KINDS; k++) {
        free(sums.base[k]);
    }
    adjust(c, measured_test, measured_p, &c->between, &c->between_p_adjusted);
    adjust(c, alone_test, alone_p, &c->busy.alone, &c->busy.p_adjusted);
}

enum change compare_history_judge(const struct comparison *c, const struct run_spread *between,
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
