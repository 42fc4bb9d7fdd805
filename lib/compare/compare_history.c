/* See compare_parts.h. */
#include "compare/compare_parts.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- which runs are the base's ---- */

bool compare_history_is_same(const struct result *base, const struct result *other)
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

/* ---- a busy machine ---- */

void compare_busy_explain(struct compared_busy *busy, const struct run_spread *between, double lost)
{
    busy->explained = between->difference - busy->alone.difference;
    busy->candidate_share = -expm1(-lost);
    busy->base_share = fmax(0, -expm1(-(lost + busy->explained))); /* rounding may go below */
}

bool compare_busy_is_cause(const struct compared_busy *busy, const struct run_spread *between,
                           double threshold_ratio)
{
    const double least = log1p(threshold_ratio);
    const double change = between->difference, rest = busy->alone.difference;
    if (!busy->alone.known || busy->explained * change <= 0 || fabs(busy->explained) < least) {
        return false;
    }
    const bool is_shown =
        rest * change > 0 && fabs(rest) >= least && busy->p_adjusted <= COMPARE_HISTORY_ALPHA;
    return !is_shown || fabs(rest) < fabs(busy->explained);
}

/* ---- the tests ---- */

/* What a run measured, and what it would have without other programs: means of the logs of a
 * point's trials. NaN: none succeeded, or what others took is not known of each. */
enum { AS_MEASURED, ALONE, KINDS };
struct means {
    double of[KINDS];
};

static struct means means_of(const struct point_result *p)
{
    double sum = 0, lost = 0, n = 0;
    point_each_success (t, p) {
        sum += log(t->throughput);
        lost -= log1p(-t->others_share); /* NaN stays */
        n++;
    }
    return n > 0 ? (struct means){{sum / n, sum / n + lost / n}} : (struct means){{NAN, NAN}};
}

struct tested {
    struct means *base; /* of n runs; owned */
    struct means candidate;
    size_t n;
};

/* Uses the values that are known. If the candidate's own is unknown, all is. */
static struct run_spread test(const struct tested *t, int kind)
{
    _cleanup_(freep) double *known = xnew_array(double, t->n);
    size_t used = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!isnan(t->base[i].of[kind]) && !isnan(t->candidate.of[kind])) {
            known[used++] = t->base[i].of[kind];
        }
    }
    return run_spread_test(known, used, t->candidate.of[kind]);
}

static void test_both(const struct tested *t, struct run_spread *ret_between,
                      struct compared_busy *ret_busy)
{
    *ret_between = test(t, AS_MEASURED);
    ret_busy->alone = test(t, ALONE);
    if (ret_busy->alone.n_runs < ret_between->n_runs) { /* then both would be of other runs */
        ret_busy->alone = (struct run_spread){.p = 1};
    }
    compare_busy_explain(ret_busy, ret_between,
                         t->candidate.of[ALONE] - t->candidate.of[AS_MEASURED]);
}

static void add_means(struct means *sum, const struct means *m)
{
    for (int k = 0; k < KINDS; k++) {
        sum->of[k] += m->of[k];
    }
}

/* A run counts where it measured the point. `sums` adds up the points of each run. */
static void test_point(struct compared_point *p, const struct result *const *runs, size_t n,
                       struct tested *sums)
{
    struct tested of_point = {xnew_array(struct means, n), means_of(p->candidate), n};
    for (size_t i = 0; i < n; i++) {
        of_point.base[i] = means_of(&runs[i]->points[p->base->point->index]);
        add_means(&sums->base[i], &of_point.base[i]);
    }
    add_means(&sums->candidate, &of_point.candidate);
    test_both(&of_point, &p->between, &p->busy);
    free(of_point.base);
}

/* The mean over points of each run that has all of them. */
static void test_whole(struct comparison *c, struct tested *sums, size_t n_points)
{
    for (int k = 0; k < KINDS; k++) {
        sums->candidate.of[k] /= (double)n_points;
        for (size_t i = 0; i < sums->n; i++) {
            sums->base[i].of[k] /= (double)n_points;
        }
    }
    test_both(sums, &c->between, &c->busy);
}

/* NaN: it was not tested. */
static double p_of(const struct run_spread *test)
{
    return test->known ? test->p : NAN;
}

/* The points have no adjusted p yet. */
static void adjust(struct comparison *c)
{
    vec_each (struct compared_point, p, &c->points) {
        p->between_p_adjusted = p_of(&p->between);
        p->busy.p_adjusted = p_of(&p->busy.alone);
    }
    c->between_p_adjusted =
        compare_adjust(c, offsetof(struct compared_point, between_p_adjusted), p_of(&c->between));
    c->busy.p_adjusted =
        compare_adjust(c, offsetof(struct compared_point, busy.p_adjusted), p_of(&c->busy.alone));
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
    _cleanup_(freep) struct means *of_runs = xnew_array(struct means, used);
    struct tested sums = {.base = of_runs, .n = used};
    size_t n_points = 0;
    vec_each (struct compared_point, p, &c->points) {
        if (compare_is_measured(p)) {
            test_point(p, runs, used, &sums);
            n_points++;
        }
    }
    test_whole(c, &sums, n_points);
    adjust(c);
}

enum change compare_history_judge(const struct comparison *c, const struct run_spread *between,
                                  double p_adjusted)
{
    return between->known ? compare_judge_log(c, between->difference, p_adjusted,
                                              COMPARE_HISTORY_ALPHA, CHANGE_USUAL)
                          : CHANGE_SPREAD_UNKNOWN;
}
