/* See compare_parts.h. */
#include "compare/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "stats/change_points.h"

/* ---- which runs are the base's ---- */

/* Did `other` succeed, with the same asked for, on the same machines and of the same build? */
static bool is_same(const struct result *base, const struct result *other)
{
    if (other->simulated || spec_is_imported(other->def->spec) || other->phase != RUN_SUCCEEDED ||
        other->def->rehearsal != base->def->rehearsal ||
        run_options_lanes(&other->def->options) != run_options_lanes(&base->def->options) ||
        !json_equal(other->def->spec->definition, base->def->spec->definition)) {
        return false;
    }
    struct comparison *c = compare_begin(base, other);
    compare_differences(c);
    const bool same = c->differences.len == 0 && c->only_base.len == 0;
    comparison_free(c);
    return same;
}

/* ---- levels ---- */

/* A run of the same thing leaves its level where it is slower by LEAVES_RATIO or more, and would be
 * so by chance in LEAVES_ALPHA of runs at most. That is sooner than a loss is named: a build that
 * is a little slower, of which nothing says so, must not become a part of what is usual. */
#define LEAVES_RATIO COMPARE_THRESHOLD_RATIO
#define LEAVES_ALPHA 0.05
#define RESOLVED_RATIO 0.05

struct level_run {
    const struct result *result;
    double value;
};

static int by_time(const void *a, const void *b)
{
    const struct result *x = ((const struct level_run *)a)->result;
    const struct result *y = ((const struct level_run *)b)->result;
    const int64_t s = x->def->created_unix_ms, t = y->def->created_unix_ms;
    return s != t ? (s < t ? -1 : 1) : strcmp(x->def->uid, y->def->uid);
}

double compare_mean_log(const struct result *of, const struct result *r, const uint32_t *point)
{
    const char *fix;
    if (compare_check_kind(of, r, &fix, NULL) < 0) {
        return NAN;
    }
    struct comparison *c = compare_begin(of, r);
    double sum = 0;
    size_t n = 0;
    vec_each (const struct compared_point, p, &c->points) {
        if (point != NULL && p->base->point->index != *point) {
            continue;
        }
        const struct figure *f = &p->candidate->throughput;
        const struct figure *own = &p->base->throughput;
        if (!own->estimate.known) {
            continue;
        }
        sum += f->estimate.known && str_eq(f->unit, own->unit)
                   ? log(figure_shown_value(own, f->estimate.value))
                   : NAN;
        n++;
    }
    comparison_free(c);
    const size_t n_wanted = array_sum(
        of->points, of->def->matrix.n_points, p,
        (size_t)(p->throughput.estimate.known && (point == NULL || p->point->index == *point)));
    return n > 0 && n == n_wanted ? sum / (double)n : NAN;
}

static bool leaves(const double *values, size_t n, double value, struct paired *ret)
{
    *ret = run_spread_test(values, n, value);
    return ret->known && ret->mean < -log1p(LEAVES_RATIO) && ret->p / 2 <= LEAVES_ALPHA;
}

bool compare_leaves_level(const struct result *const *level, size_t n, const struct result *run)
{
    _cleanup_(freep) double *values = xnew_array(double, n);
    for (size_t i = 0; i < n; i++) {
        values[i] = compare_mean_log(run, level[i], NULL);
    }
    struct paired shown;
    return leaves(values, n, compare_mean_log(run, run, NULL), &shown);
}

/* The stretch between two changes that has a run in it. */
static void find_stretch(const struct level_run *runs, size_t n, const struct result *of,
                         size_t *ret_from, size_t *ret_to)
{
    struct change_points found;
    _cleanup_(freep) double *values = xnew_array(double, n);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = runs[i].value;
        at = runs[i].result == of ? i : at;
    }
    change_points_find(values, n, CHANGE_POINTS_ALPHA, &found);
    *ret_from = 0;
    *ret_to = n;
    vec_each (const struct change_point, change, &found.list) {
        *ret_from = change->at <= at ? change->at : *ret_from;
        *ret_to = change->at > at && change->at < *ret_to ? change->at : *ret_to;
    }
    change_points_done(&found);
}

/* What was not to be seen from the first runs may be seen from all: each run that leaves the level
 * of the others is left out. Not where that level cannot show RESOLVED_RATIO: to leave out the
 * slowest of runs that differ by much would only hide how much. */
static size_t check_level(const double *values, size_t n, const struct result *of,
                          const struct result **level)
{
    _cleanup_(freep) double *others = xnew_array(double, n);
    struct paired shown;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(others, values, i * sizeof(double));
        memcpy(others + i, values + i + 1, (n - i - 1) * sizeof(double));
        if (level[i] == of || !leaves(others, n - 1, values[i], &shown) ||
            paired_resolution(&shown) > -log1p(-RESOLVED_RATIO)) {
            level[used++] = level[i];
        }
    }
    return used;
}

/* The first runs of a stretch are a level, and so is each later one that does not leave it. Those
 * that do are levels of their own in the same way. */
static size_t find_level(struct level_run *runs, size_t n, const struct result *of,
                         const struct result **ret)
{
    _cleanup_(freep) double *values = xnew_array(double, n);
    struct paired shown;
    bool has_run = false;
    while (!has_run) {
        size_t used = 0, left = 0;
        for (size_t i = 0; i < n; i++) {
            if (leaves(values, used, runs[i].value, &shown)) {
                runs[left++] = runs[i];
                continue;
            }
            has_run = has_run || runs[i].result == of;
            values[used] = runs[i].value;
            ret[used++] = runs[i].result;
        }
        if (has_run) {
            return check_level(values, used, of, ret);
        }
        n = left;
    }
    return 0;
}

size_t compare_level_of(const struct result *base, const struct result *const *runs, size_t n,
                        const struct result **ret)
{
    _cleanup_(freep) struct level_run *same = xnew_array(struct level_run, n + 1);
    size_t used = 0, from, to;
    same[used++] = (struct level_run){base, compare_mean_log(base, base, NULL)};
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(runs[i]->def->uid, base->def->uid) && is_same(base, runs[i])) {
            const double value = compare_mean_log(base, runs[i], NULL);
            same[used] = (struct level_run){runs[i], value};
            used += !isnan(value);
        }
    }
    if (isnan(same[0].value)) { /* it measured nothing */
        ret[0] = base;
        return 1;
    }
    qsort(same, used, sizeof(*same), by_time);
    find_stretch(same, used, base, &from, &to);
    return find_level(same + from, to - from, base, ret);
}

/* ---- a busy machine ---- */

void compare_busy_explain(struct compared_busy *busy, const struct paired *shown, double lost)
{
    busy->explained = shown->mean - busy->alone.mean;
    busy->candidate_share = -expm1(-lost);
    busy->base_share = fmax(0, -expm1(-(lost + busy->explained))); /* rounding may go below */
}

bool compare_busy_is_cause(const struct compared_busy *busy, const struct paired *shown,
                           double threshold_ratio)
{
    const double least = log1p(threshold_ratio);
    const double change = shown->mean, rest = busy->alone.mean;
    if (!busy->alone.known || busy->explained * change <= 0 || fabs(busy->explained) < least) {
        return false;
    }
    const bool is_shown =
        rest * change > 0 && fabs(rest) >= least && busy->p_adjusted <= COMPARE_NAMED_ALPHA;
    return !is_shown || fabs(rest) < fabs(busy->explained);
}

/* ---- the tests ---- */

/* What a run measured, and what it would have without other programs: means of the logs of a
 * point's trials. NaN where none succeeded, or what others took is not known of each. */
enum { AS_MEASURED, ALONE, KINDS };
struct means {
    struct contrast of[KINDS];
};

static struct means means_of(const struct point_result *p)
{
    _cleanup_(freep) double *logs = xnew_array(double, 2 * p->n_succeeded);
    double *alone = logs + p->n_succeeded;
    size_t n = 0;
    point_each_success (t, p) {
        logs[n] = log(t->throughput);
        alone[n] = logs[n] - log1p(-t->others_share); /* NaN stays */
        n++;
    }
    struct means m = {{{.value = NAN}, {.value = NAN}}};
    if (n > 0) {
        m.of[AS_MEASURED] = significance_mean(&(struct sample){logs, n});
        m.of[ALONE] = significance_mean(&(struct sample){alone, n});
    }
    return m;
}

struct tested {
    struct means *base; /* of n runs; owned */
    struct means candidate;
    size_t n;
};

/* Uses the values that are known. If the candidate's own is unknown, all is. Where its trials vary
 * more than those of the base's runs, as on a machine that was busy then, so does its mean. */
static struct paired test(const struct tested *t, int kind)
{
    const struct contrast *candidate = &t->candidate.of[kind];
    _cleanup_(freep) double *known = xnew_array(double, t->n);
    double variance = 0;
    size_t used = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct contrast *of_run = &t->base[i].of[kind];
        if (!isnan(of_run->value) && !isnan(candidate->value)) {
            known[used++] = of_run->value;
            variance += of_run->variance;
        }
    }
    struct paired shown = run_spread_test(known, used, candidate->value);
    run_spread_widen(&shown, candidate->variance - variance / (double)used, candidate->df);
    return shown;
}

static void test_both(const struct tested *t, struct paired *ret_shown,
                      struct compared_busy *ret_busy)
{
    *ret_shown = test(t, AS_MEASURED);
    ret_busy->alone = test(t, ALONE);
    if (ret_busy->alone.n < ret_shown->n) { /* then both would be of other runs */
        ret_busy->alone = (struct paired){.p = 1};
    }
    compare_busy_explain(ret_busy, ret_shown,
                         t->candidate.of[ALONE].value - t->candidate.of[AS_MEASURED].value);
}

/* The mean over points, of which this is one. */
static void add_means(struct means *mean, const struct means *m, size_t n_points)
{
    for (int k = 0; k < KINDS; k++) {
        mean->of[k] = significance_sum(&mean->of[k], 1 / (double)n_points, &m->of[k]);
    }
}

/* A run counts where it measured the point, and in the mean over points where it measured all. */
static void test_point(struct compared_point *p, const struct result *const *runs, size_t n_points,
                       struct tested *mean)
{
    struct tested of_point = {xnew_array(struct means, mean->n), means_of(p->candidate), mean->n};
    for (size_t i = 0; i < mean->n; i++) {
        of_point.base[i] = means_of(&runs[i]->points[p->base->point->index]);
        add_means(&mean->base[i], &of_point.base[i], n_points);
    }
    add_means(&mean->candidate, &of_point.candidate, n_points);
    test_both(&of_point, &p->shown, &p->busy);
    free(of_point.base);
}

/* One trial says less than the runs of the level. */
static bool is_tested(const struct compared_point *p)
{
    return compare_is_measured(p) && p->welch.known;
}

void compare_history_test(struct comparison *c, const struct result *const *history, size_t n)
{
    _cleanup_(freep) const struct result **others = xnew_array(const struct result *, n);
    _cleanup_(freep) const struct result **runs = xnew_array(const struct result *, n + 1);
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(history[i]->def->uid, c->candidate->def->uid)) {
            others[n_others++] = history[i];
        }
    }
    c->n_base_runs = compare_level_of(c->base, others, n_others, runs);
    _cleanup_(freep) struct means *of_runs = xnew_array(struct means, c->n_base_runs);
    struct tested mean = {.base = of_runs, .n = c->n_base_runs};
    const size_t n_points = vec_sum(&c->points, p, (size_t)is_tested(p));
    vec_each (struct compared_point, p, &c->points) {
        if (is_tested(p)) {
            test_point(p, runs, n_points, &mean);
        }
    }
    if (n_points > 0) {
        test_both(&mean, &c->whole, &c->busy);
    }
    vec_each (struct compared_point, p, &c->points) {
        p->busy.p_adjusted = paired_p(&p->busy.alone);
    }
    c->busy.p_adjusted = compare_adjust(c, offsetof(struct compared_point, busy.p_adjusted),
                                        paired_p(&c->busy.alone));
}
