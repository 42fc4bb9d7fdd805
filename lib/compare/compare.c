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

/* ---- the trials of two runs ---- */

/* The logs of a point's succeeded trials. Where a stop rule has chosen the number of trials, only
 * its first stage may say how they vary. */
static struct contrast mean_of(const struct point_result *p)
{
    const struct estimate *e = &p->throughput.estimate;
    if (e->logs.is_staged) {
        return e->logs;
    }
    _cleanup_(freep) double *logs = xnew_array(double, p->n_succeeded);
    size_t n = 0;
    point_each_success (t, p) {
        logs[n++] = log(t->throughput);
    }
    return significance_mean(&(struct sample){logs, n});
}

/* Welch's test of each point with two trials on both sides, and the adjustment for their number. It
 * says how the runs differ, and nothing of how runs of one thing do. */
static void test_trials(struct comparison *c)
{
    _cleanup_(freep) double *p_values = xnew_array(double, c->points.len);
    size_t tested = 0;
    vec_each (struct compared_point, p, &c->points) {
        const struct contrast a = mean_of(p->base), b = mean_of(p->candidate);
        p->welch = significance_welch_of(&a, &b);
        if (p->welch.known) {
            p_values[tested++] = p->welch.p;
        }
    }
    significance_adjust(p_values, tested, p_values);
    tested = 0;
    vec_each (struct compared_point, p, &c->points) {
        p->welch_p_adjusted = p->welch.known ? p_values[tested++] : NAN;
    }
}

/* Of what decides: the level of the base if it is known, else the two runs. */
static void take_ratios(struct comparison *c)
{
    vec_each (struct compared_point, p, &c->points) {
        p->ratio = (struct figure){.unit = "ratio", .scope = "job"};
        p->ratio.estimate = p->shown.known ? paired_ratio(&p->shown)
                                           : stats_ratio(&p->candidate->throughput.estimate,
                                                         &p->base->throughput.estimate, 1);
        if (p->shown.known) {
            p->ratio.estimate.method = INTERVAL_RUNS_LOG;
        }
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

static void take_means(struct comparison *c)
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
    c->geomean_ratio.estimate = c->whole.known ? paired_ratio(&c->whole) : stats_geomean(ratios, n);
    if (c->axis == NULL && c->whole.known) {
        c->geomean_ratio.estimate.method = INTERVAL_RUNS_LOG;
    } else if (c->axis != NULL && !c->whole.known) { /* nothing says how blocks vary */
        c->geomean_ratio.estimate.has_interval = false;
        c->geomean_ratio.estimate.method = INTERVAL_NONE;
    }
}

/* ---- what is shown ---- */

static enum change judge(const struct comparison *c, const struct paired *shown, double p_adjusted,
                         const struct compared_busy *busy)
{
    const enum change change =
        compare_judge_log(c, shown->mean, p_adjusted, COMPARE_NAMED_ALPHA, CHANGE_NONE);
    const bool is_named = change == CHANGE_SLOWER || change == CHANGE_FASTER;
    return is_named && compare_busy_is_cause(busy, shown, c->threshold_ratio) ? CHANGE_MACHINE_BUSY
                                                                              : change;
}

/* The trials of two runs show a change that other runs do not confirm. */
static bool is_of_trials(const struct comparison *c, const struct compared_point *p)
{
    const double a = p->base->throughput.estimate.value;
    const double b = p->candidate->throughput.estimate.value;
    return p->welch_p_adjusted <= COMPARE_ALPHA &&
           fmax(a, b) / fmin(a, b) >= 1 + c->threshold_ratio;
}

/* The medians of the two runs may point the other way: where the base is unusual in its level, or
 * where trials are skewed. */
static bool agrees(const struct compared_point *p)
{
    const bool is_faster =
        p->candidate->throughput.estimate.value > p->base->throughput.estimate.value;
    return is_faster == (p->shown.mean > 0);
}

static enum change judge_point(const struct comparison *c, const struct compared_point *p)
{
    if (!compare_is_measured(p)) {
        return CHANGE_NOT_MEASURED;
    }
    if (c->axis == NULL ? !p->welch.known : !p->shown.known) {
        return CHANGE_TOO_FEW;
    }
    if (!p->shown.known) {
        return is_of_trials(c, p)               ? CHANGE_SPREAD_UNKNOWN
               : p->ratio.estimate.has_interval ? CHANGE_NONE
                                                : CHANGE_TOO_FEW;
    }
    const enum change change = judge(c, &p->shown, p->p_adjusted, &p->busy);
    const bool is_named = change == CHANGE_SLOWER || change == CHANGE_FASTER;
    if (c->axis != NULL) {
        return change;
    }
    return is_named && !agrees(p)                        ? CHANGE_INCONCLUSIVE
           : change == CHANGE_NONE && is_of_trials(c, p) ? CHANGE_USUAL
                                                         : change;
}

/* What is known comes before what is not; a point without an answer comes before the rest. */
static enum change judge_whole(const struct comparison *c)
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

static void ask_for(struct comparison *c, size_t repeats)
{
    c->repeats_to_decide = repeats > c->repeats_to_decide ? repeats : c->repeats_to_decide;
}

/* Every point must show that it is not slower, so none needs an adjustment; that one point is
 * slower than a named margin is looked for at all of them, so there it does. */
static enum margin_verdict judge_margin(const struct comparison *c, const struct compared_point *p)
{
    const double bound = log1p(-c->margin.ratio);
    if (p->change == CHANGE_TOO_FEW || p->change == CHANGE_NOT_MEASURED ||
        p->change == CHANGE_MACHINE_BUSY || !p->shown.known) {
        return MARGIN_INCONCLUSIVE;
    }
    struct paired mirrored = p->shown;
    mirrored.mean = -mirrored.mean;
    const double p_slower = paired_p_above(&mirrored, -bound) * (double)c->points.len;
    const bool is_slower =
        c->margin.is_default ? p->change == CHANGE_SLOWER : p_slower <= COMPARE_NAMED_ALPHA / 2;
    return is_slower                                           ? MARGIN_SLOWER
           : paired_p_above(&p->shown, bound) <= COMPARE_ALPHA ? MARGIN_NOT_SLOWER
                                                               : MARGIN_INCONCLUSIVE;
}

static void judge_margins(struct comparison *c)
{
    size_t n_shown = 0, n_slower = c->margin.is_default && c->whole_change == CHANGE_SLOWER;
    vec_each (struct compared_point, p, &c->points) {
        p->margin = judge_margin(c, p);
        n_shown += p->margin == MARGIN_NOT_SLOWER;
        n_slower += p->margin == MARGIN_SLOWER;
        if (p->margin == MARGIN_INCONCLUSIVE && c->axis != NULL) {
            ask_for(c, paired_n_resolving(&p->shown, -log1p(-c->margin.ratio)));
        }
    }
    const bool is_shown =
        n_shown == c->points.len && c->only_base.len == 0 && c->whole_change != CHANGE_MACHINE_BUSY;
    c->whole_margin = n_slower > 0 ? MARGIN_SLOWER
                      : is_shown   ? MARGIN_NOT_SLOWER
                                   : MARGIN_INCONCLUSIVE;
}

void compare_judge(struct comparison *c)
{
    vec_each (struct compared_point, p, &c->points) {
        p->p_adjusted = paired_p(&p->shown); /* as yet, it is its own */
    }
    c->whole_p_adjusted =
        compare_adjust(c, offsetof(struct compared_point, p_adjusted), paired_p(&c->whole));
    vec_each (struct compared_point, p, &c->points) {
        p->change = judge_point(c, p);
        c->counts[p->change]++;
        if (p->change == CHANGE_TOO_FEW) {
            ask_for(c, COMPARE_REPEATS);
        } else if (p->change == CHANGE_INCONCLUSIVE && c->axis != NULL) {
            ask_for(c, 2 * p->shown.n);
        }
    }
    c->whole_change = isnan(c->whole_p_adjusted)
                          ? CHANGE_NONE
                          : judge(c, &c->whole, c->whole_p_adjusted, &c->busy);
    if (c->whole_change == CHANGE_INCONCLUSIVE && c->axis != NULL) {
        ask_for(c, 2 * c->whole.n);
    }
    c->change = judge_whole(c);
    if (c->margin.ratio > 0) {
        judge_margins(c);
    }
    take_means(c);
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
    c->margin = params->margin;
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
    test_trials(c);
    compare_history_test(c, params->history, params->n_history);
    take_ratios(c);
    compare_judge(c);
    *ret = c;
    return 0;
}
