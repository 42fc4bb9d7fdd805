/* Two runs side by side, see comparison.h and docs/contracts/compare.md. Which points they share
 * and what else differs: compare_runs.c. */
#include "compare/comparison.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "compare/compare_parts.h"

const char *const change_names[] = {CHANGES(ENUM_NAME)};
const char *const margin_verdict_names[] = {MARGIN_VERDICTS(ENUM_NAME)};

void comparison_describe_side(const struct comparison *c, bool is_base, struct buf *out)
{
    if (c->axis == NULL) {
        buf_puts(out, (is_base ? c->base : c->candidate)->def->name);
    } else {
        buf_printf(out, "%s=%s", c->axis, is_base ? c->axis_base : c->axis_candidate);
    }
}

/* ---- the tests ---- */

/* The logs of a point's succeeded trials, in *values (owned). */
static struct sample logs_of(const struct point_result *p, double **values)
{
    *values = xnew_array(double, p->n_succeeded);
    size_t n = 0;
    point_each_success (t, p) {
        (*values)[n++] = log(t->throughput);
    }
    return (struct sample){*values, n};
}

/* Where a stop rule has chosen the number of trials, only its first stage may say how they vary. */
static struct contrast mean_of(const struct point_result *p, const struct sample *logs)
{
    const struct estimate *e = &p->throughput.estimate;
    return e->logs.is_staged ? e->logs : significance_mean(logs);
}

/* Welch's test of each point, the adjustment for their number, and the gate over all of them. Only
 * points with two trials on both sides take part: the others can never be flagged. */
static void test_points(struct comparison *c)
{
    const size_t n = c->points.len;
    _cleanup_(freep) struct stratum *strata = xnew_array(struct stratum, n);
    _cleanup_(freep) double **values = xnew_array(double *, 2 * n);
    _cleanup_(freep) double *p_values = xnew_array(double, n);
    _cleanup_(freep) double *adjusted = xnew_array(double, n);
    size_t tested = 0, used = 0;
    vec_each (struct compared_point, p, &c->points) {
        struct stratum s = {
            .a = logs_of(p->base, &values[used]),
            .b = logs_of(p->candidate, &values[used + 1]),
        };
        used += 2;
        const struct contrast a = mean_of(p->base, &s.a), b = mean_of(p->candidate, &s.b);
        p->welch = significance_welch_of(&a, &b);
        if (p->welch.known) {
            p_values[tested] = p->welch.p;
            strata[tested++] = s;
        }
    }
    significance_adjust(p_values, tested, adjusted);
    tested = 0;
    vec_each (struct compared_point, p, &c->points) {
        p->p_adjusted = p->welch.known ? adjusted[tested++] : NAN;
    }
    c->gate = significance_permute(strata, tested, COMPARE_SEED);
    c->gate_rejects = c->gate.known && c->gate.p <= COMPARE_ALPHA;
    for (size_t i = 0; i < used; i++) {
        free(values[i]);
    }
}

/* ---- what they mean ---- */

/* Medians and means of logs may disagree about the direction: then nothing is said. */
static bool is_large_enough(const struct comparison *c, const struct compared_point *p)
{
    const double a = p->base->throughput.estimate.value;
    const double b = p->candidate->throughput.estimate.value;
    return fmax(a, b) / fmin(a, b) >= 1 + c->threshold_ratio &&
           (b > a ? p->welch.t > 0 : p->welch.t < 0);
}

/* No change of any size could be shown: not here, or not by the gate. */
static bool is_blind(const struct comparison *c, const struct compared_point *p)
{
    return !p->welch.known || c->gate.p_least > COMPARE_ALPHA;
}

/* Both tests show a change of this point. */
static bool is_named(const struct comparison *c, const struct compared_point *p)
{
    return compare_is_measured(p) && !is_blind(c, p) && c->gate_rejects &&
           p->p_adjusted <= COMPARE_ALPHA && is_large_enough(c, p);
}

/* The trials of two runs show a change: is it one of what was compared, or do any two runs differ
 * so? Where this run of the base is unusual itself, both may point in opposite directions. Where
 * the machine was busier, that may be it. */
static enum change ask_history(const struct comparison *c, const struct run_spread *between,
                               double p_adjusted, const struct compared_busy *busy, double ratio)
{
    const enum change change = compare_history_judge(c, between, p_adjusted);
    if (change != CHANGE_SLOWER && change != CHANGE_FASTER) {
        return change;
    }
    const bool agrees = (ratio > 1) == (between->difference > 0);
    return !agrees                                                    ? CHANGE_INCONCLUSIVE
           : compare_busy_is_cause(busy, between, c->threshold_ratio) ? CHANGE_MACHINE_BUSY
                                                                      : change;
}

/* What the gate rejects is explained where a point is named; else it is not. */
static enum change judge(const struct comparison *c, const struct compared_point *p, bool any_named)
{
    if (!compare_is_measured(p)) {
        return CHANGE_NOT_MEASURED;
    }
    if (is_blind(c, p)) {
        return CHANGE_TOO_FEW;
    }
    const enum change asked =
        ask_history(c, &p->between, p->between_p_adjusted, &p->busy, p->ratio.estimate.value);
    if (is_named(c, p)) {
        return asked;
    }
    const bool one_test_rejects = p->p_adjusted <= COMPARE_ALPHA || (c->gate_rejects && !any_named);
    if (one_test_rejects && is_large_enough(c, p)) {
        return asked == CHANGE_USUAL ? CHANGE_USUAL : CHANGE_INCONCLUSIVE;
    }
    return p->ratio.estimate.has_interval ? CHANGE_NONE : CHANGE_TOO_FEW;
}

enum change compare_judge_whole(const struct comparison *c)
{
    const size_t n_busy = c->counts[CHANGE_MACHINE_BUSY] + (c->whole_change == CHANGE_MACHINE_BUSY);
    const size_t n_open = c->counts[CHANGE_INCONCLUSIVE] + c->counts[CHANGE_TOO_FEW] +
                          c->counts[CHANGE_NOT_MEASURED] + c->counts[CHANGE_SPREAD_UNKNOWN] +
                          n_busy + c->only_base.len + (c->whole_change == CHANGE_INCONCLUSIVE);
    const bool is_slower = c->counts[CHANGE_SLOWER] > 0 || c->whole_change == CHANGE_SLOWER;
    const bool is_faster = c->counts[CHANGE_FASTER] > 0 || c->whole_change == CHANGE_FASTER;
    return is_slower    ? CHANGE_SLOWER
           : n_open > 0 ? CHANGE_INCONCLUSIVE
           : is_faster  ? CHANGE_FASTER
                        : CHANGE_NONE;
}

/* With as many on both sides a change of this point alone would be shown. Where there are as many
 * already and the tests disagree, the change is about as large as what they can see: twice as many
 * see one that is smaller by sqrt(2). */
static size_t repeats_of(const struct compared_point *p)
{
    const size_t n_a = p->base->n_succeeded, n_b = p->candidate->n_succeeded;
    const size_t least = significance_values_needed(1, COMPARE_ALPHA);
    return p->change == CHANGE_TOO_FEW || n_a < least || n_b < least ? least
                                                                     : 2 * (n_a > n_b ? n_a : n_b);
}

/* Trials are permuted within a point only: if one point alone changed, the P of the gate is
 * about the P of that point, however large the change. */
static void count_repeats(struct comparison *c)
{
    vec_each (const struct compared_point, p, &c->points) {
        const size_t n_a = p->base->n_succeeded, n_b = p->candidate->n_succeeded;
        if (compare_is_measured(p) && significance_least(n_a, n_b) > COMPARE_ALPHA) {
            c->repeats_for_one = significance_values_needed(1, COMPARE_ALPHA);
        }
        if (compare_is_measured(p) && is_blind(c, p)) {
            c->repeats_for_all = significance_values_needed(c->n_measured, COMPARE_ALPHA);
        }
        if (p->change == CHANGE_TOO_FEW || p->change == CHANGE_INCONCLUSIVE) {
            const size_t n = repeats_of(p);
            c->repeats_to_decide = n > c->repeats_to_decide ? n : c->repeats_to_decide;
        }
    }
}

static void judge_points(struct comparison *c)
{
    bool any_named = false;
    vec_each (struct compared_point, p, &c->points) {
        p->ratio = (struct figure){.unit = "ratio", .scope = "job"};
        p->ratio.estimate =
            stats_ratio(&p->candidate->throughput.estimate, &p->base->throughput.estimate, 1);
        any_named = any_named || is_named(c, p);
    }
    vec_each (struct compared_point, p, &c->points) {
        p->change = judge(c, p, any_named);
        c->counts[p->change]++;
    }
    count_repeats(c);
}

/* All points together, where the gate says that the runs differ and the history that no two
 * runs of the base do so. */
static void judge_together(struct comparison *c)
{
    c->whole_change = CHANGE_NONE;
    if (c->gate_rejects && !isnan(c->between_p_adjusted)) {
        const enum change change = ask_history(c, &c->between, c->between_p_adjusted, &c->busy,
                                               c->geomean_ratio.estimate.value);
        c->whole_change = change == CHANGE_USUAL ? CHANGE_NONE : change;
    }
}

/* The mean of medians says nothing about its own spread; the mean of ratios does. */
static struct figure mean_throughput(const struct estimate *medians, size_t n, const char *unit)
{
    struct figure f = {.unit = unit, .scope = "job"};
    const struct estimate mean = stats_geomean(medians, n);
    f.estimate = (struct estimate){.known = mean.known, .value = mean.value};
    return f;
}

void compare_take_means(struct comparison *c)
{
    const size_t n = c->n_measured;
    _cleanup_(freep) struct estimate *base = xnew_array(struct estimate, n);
    _cleanup_(freep) struct estimate *candidate = xnew_array(struct estimate, n);
    _cleanup_(freep) struct estimate *ratios = xnew_array(struct estimate, n);
    size_t i = 0;
    vec_each (const struct compared_point, p, &c->points) {
        if (compare_is_measured(p)) {
            base[i] = figure_shown(&p->base->throughput).estimate;
            candidate[i] = figure_shown(&p->candidate->throughput).estimate;
            ratios[i++] = p->ratio.estimate;
        }
    }
    bool is_mixed;
    c->geomean_base = mean_throughput(base, n, result_shown_unit(c->base, &is_mixed));
    c->geomean_candidate =
        mean_throughput(candidate, n, result_shown_unit(c->candidate, &is_mixed));
    c->geomean_ratio = (struct figure){.unit = "ratio", .scope = "job"};
    c->geomean_ratio.estimate = stats_geomean(ratios, n);
}

/* ---- the whole ---- */

static int check_points(const struct comparison *c, const char **ret_fix, struct err *err)
{
    const char *a = c->base->def->name, *b = c->candidate->def->name;
    if (c->points.len == 0) {
        *ret_fix = "compare runs of one definition and the same values, which benchctl describe "
                   "RUN shows; or sweep both values in one run, and compare RUN --axis NAME";
        return err_set(err, EINVAL,
                       "run/%s and run/%s have no point in common: none has the same system, "
                       "replicas, batch size, threads and other parameters",
                       a, b);
    }
    if (c->n_measured > 0) {
        return 0;
    }
    *ret_fix = "benchctl results RUN shows why";
    return err_set(err, EINVAL, "no point has a throughput in both run/%s and run/%s", a, b);
}

static int check_strict(const struct comparison *c, const char **ret_fix, struct err *err)
{
    if (c->differences.len == 0) {
        return 0;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT, names = BUF_INIT;
    vec_each (const struct difference, d, &c->differences) {
        buf_printf(&text, "%s%s %s -> %s", text.len == 0 ? "" : ", ", d->what, d->base,
                   d->candidate);
        buf_printf(&names, "%s%s", names.len == 0 ? "" : ", ", d->what);
    }
    const char *a = c->base->def->name, *b = c->candidate->def->name;
    /* Each difference is named: an error has 511 bytes, and values may be long. */
    const bool fits = text.len + strlen(a) + strlen(b) + 64 < ERR_MSG_SIZE;
    *ret_fix = fits ? "measure both in the same way, or omit --strict"
                    : "measure both in the same way; without --strict the values are printed";
    return err_set(err, EINVAL, "run/%s and run/%s differ in more than their points: %s", a, b,
                   buf_cstr(fits ? &text : &names));
}

int comparison_new(const struct result *base, const struct result *candidate,
                   const struct compare_params *params, struct comparison **ret,
                   const char **ret_fix, struct err *err)
{
    int r = compare_check_kind(base, candidate, ret_fix, err);
    if (r < 0) {
        return r;
    }
    struct comparison *c = compare_begin(base, candidate);
    c->threshold_ratio = params->threshold_ratio;
    c->whole_p_adjusted = NAN;
    compare_differences(c);
    r = check_points(c, ret_fix, err);
    r = r < 0 ? r : compare_check_transports(c, ret_fix, err);
    if (r == 0 && params->is_strict) {
        r = check_strict(c, ret_fix, err);
    }
    if (r < 0) {
        comparison_free(c);
        return r;
    }
    test_points(c);
    compare_history_test(c, params->history, params->n_history);
    judge_points(c);
    compare_take_means(c);
    judge_together(c);
    c->change = compare_judge_whole(c);
    *ret = c;
    return 0;
}
