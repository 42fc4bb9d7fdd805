/* See comparison.h. */
#include "compare/comparison.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare/compare_parts.h"
#include "result/pivot.h"

/* ---- the two values ---- */

/* The first value that the sweep names is the base. */
static int take_values(struct comparison *c, const char *axis, const char **ret_fix,
                       struct err *err)
{
    _cleanup_(texts_done) struct texts values = {0};
    c->axis = axis_find(c->base, axis, strlen(axis));
    if (c->axis == NULL) {
        *ret_fix = "name something that the sweep has two values of, or system";
        return axis_refuse(c->base, axis, strlen(axis), err);
    }
    axis_values(c->base, c->axis, &values);
    if (values.list.len == 2) {
        c->axis_base = values.list.items[0];
        c->axis_candidate = values.list.items[1];
        vec_done(&values.list);
        return 0;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    texts_put(&values, &text);
    *ret_fix = "run it with two values: --set NAME=BASE,CANDIDATE, or --systems for systems";
    return err_set(err, EINVAL, "'%s' must have two values in run/%s (it has %zu: %s)", c->axis,
                   c->base->def->name, values.list.len, buf_cstr(&text));
}

/* ---- the tests ---- */

/* ln(candidate / base) of one block; NaN: one of the two trials gave no number. */
static double difference_of(const struct compared_point *p, size_t block)
{
    if (block >= p->base->n_trials || block >= p->candidate->n_trials) {
        return NAN;
    }
    const struct trial_result *a = &p->base->trials[block], *b = &p->candidate->trials[block];
    const bool both = a->phase == TRIAL_SUCCEEDED && b->phase == TRIAL_SUCCEEDED;
    return both ? log(b->throughput / a->throughput) : NAN;
}

/* How many of n pairs may say how pairs vary: all, but where a stop rule has chosen n. */
static size_t first_stage(const struct comparison *c, size_t n)
{
    const struct spec *spec = c->base->def->spec;
    return spec->stop.is_set ? (size_t)spec->min_repeats : n;
}

static void test_point(struct comparison *c, struct compared_point *p, double *scratch)
{
    size_t n = 0;
    for (size_t block = 0; block < c->n_blocks; block++) {
        const double d = difference_of(p, block);
        if (!isnan(d)) {
            scratch[n++] = d;
        }
    }
    p->paired = paired_test_staged(scratch, n, first_stage(c, n));
    p->p_adjusted = p->paired.known ? p->paired.p : NAN; /* as yet, it is its own */
    p->ratio = (struct figure){.unit = "ratio", .scope = "job"};
    p->ratio.estimate = paired_ratio(&p->paired);
}

/* The mean over points of each block in which all of them have a pair: points of a block may have
 * something in common, so a block counts once. */
static void test_whole(struct comparison *c, double *scratch)
{
    size_t n = 0;
    for (size_t block = 0; block < c->n_blocks; block++) {
        double sum = 0;
        size_t points = 0;
        vec_each (const struct compared_point, p, &c->points) {
            if (p->paired.n > 0) {
                sum += difference_of(p, block);
                points++;
            }
        }
        if (points > 0 && !isnan(sum)) {
            scratch[n++] = sum / (double)points;
        }
    }
    c->whole = paired_test_staged(scratch, n, first_stage(c, n));
}

/* ---- what they mean ---- */

static enum change judge(const struct comparison *c, const struct paired *paired, double p_adjusted)
{
    return compare_judge_log(c, paired->mean, p_adjusted, COMPARE_AXIS_ALPHA, CHANGE_NONE);
}

static void ask_for(struct comparison *c, size_t repeats)
{
    c->repeats_to_decide = repeats > c->repeats_to_decide ? repeats : c->repeats_to_decide;
}

static void judge_points(struct comparison *c)
{
    vec_each (struct compared_point, p, &c->points) {
        p->change = !compare_is_measured(p) ? CHANGE_NOT_MEASURED
                    : !p->paired.known      ? CHANGE_TOO_FEW
                                            : judge(c, &p->paired, p->p_adjusted);
        c->counts[p->change]++;
        if (p->change == CHANGE_TOO_FEW) {
            ask_for(c, COMPARE_AXIS_REPEATS);
        } else if (p->change == CHANGE_INCONCLUSIVE) {
            ask_for(c, 2 * p->paired.n);
        }
    }
    c->whole_change =
        isnan(c->whole_p_adjusted) ? CHANGE_NONE : judge(c, &c->whole, c->whole_p_adjusted);
    c->change = compare_judge_whole(c);
}

/* Every point must show it, so none needs an adjustment; that one point is slower than the margin
 * is looked for at all of them, so there it does. */
static void judge_margin(struct comparison *c)
{
    const double bound = log1p(-c->margin_ratio);
    size_t n_shown = 0, n_slower = 0;
    vec_each (struct compared_point, p, &c->points) {
        struct paired mirrored = p->paired;
        mirrored.mean = -mirrored.mean;
        const double p_slower = paired_p_above(&mirrored, -bound) * (double)c->points.len;
        p->margin = paired_p_above(&p->paired, bound) <= COMPARE_ALPHA ? MARGIN_NOT_SLOWER
                    : p_slower <= COMPARE_AXIS_ALPHA                   ? MARGIN_SLOWER
                                                                       : MARGIN_INCONCLUSIVE;
        n_shown += p->margin == MARGIN_NOT_SLOWER;
        n_slower += p->margin == MARGIN_SLOWER;
        if (p->margin == MARGIN_INCONCLUSIVE) {
            ask_for(c, paired_n_above(&p->paired, bound));
        }
    }
    c->margin = n_slower > 0                                        ? MARGIN_SLOWER
                : n_shown == c->points.len && c->only_base.len == 0 ? MARGIN_NOT_SLOWER
                                                                    : MARGIN_INCONCLUSIVE;
}

static void take_means(struct comparison *c)
{
    compare_take_means(c);
    if (c->whole.known) {
        c->geomean_ratio.estimate = paired_ratio(&c->whole);
    } else {
        c->geomean_ratio.estimate.has_interval = false; /* nothing says how blocks vary */
        c->geomean_ratio.estimate.method = INTERVAL_NONE;
    }
}

static int check_order(const struct comparison *c, const char **ret_fix, struct err *err)
{
    const struct run_def *def = c->base->def;
    if (def->spec->order != ORDER_SEQUENTIAL) {
        return 0;
    }
    *ret_fix = "run it with repeats.order: Interleaved, which is the default";
    return err_set(err, EINVAL,
                   "run/%s measured one point after the other (repeats.order: Sequential): its "
                   "trials were not interleaved, so drift cannot be separated from the axis",
                   def->name);
}

static int check_points(const struct comparison *c, const char **ret_fix, struct err *err)
{
    const char *name = c->base->def->name;
    if (c->points.len == 0) {
        *ret_fix = "benchctl describe RUN shows the points";
        return err_set(
            err, EINVAL,
            "run/%s has no pair: no point with %s=%s has one with %s=%s that is the same "
            "in all else",
            name, c->axis, c->axis_base, c->axis, c->axis_candidate);
    }
    if (c->n_measured > 0) {
        return 0;
    }
    *ret_fix = "benchctl results RUN shows why";
    return err_set(err, EINVAL, "no point of run/%s has a throughput with both %s=%s and %s=%s",
                   name, c->axis, c->axis_base, c->axis, c->axis_candidate);
}

int comparison_new_axis(const struct result *run, const struct compare_axis_params *params,
                        struct comparison **ret, const char **ret_fix, struct err *err)
{
    int r = compare_check_kind(run, run, ret_fix, err);
    if (r < 0) {
        return r;
    }
    struct comparison *c = xnew(struct comparison);
    c->base = c->candidate = run;
    c->threshold_ratio = params->threshold_ratio;
    c->margin_ratio = params->margin_ratio;
    c->n_blocks = (size_t)run->def->spec->repeats;
    r = check_order(c, ret_fix, err);
    if (r == 0) {
        r = take_values(c, params->axis, ret_fix, err);
    }
    if (r == 0) {
        compare_match(c);
        r = check_points(c, ret_fix, err);
    }
    if (r < 0) {
        comparison_free(c);
        return r;
    }
    compare_machines(c);
    _cleanup_(freep) double *scratch = xnew_array(double, c->n_blocks);
    vec_each (struct compared_point, p, &c->points) {
        test_point(c, p, scratch);
    }
    test_whole(c, scratch);
    c->whole_p_adjusted = compare_adjust(c, offsetof(struct compared_point, p_adjusted),
                                         c->whole.known ? c->whole.p : NAN);
    judge_points(c);
    if (c->margin_ratio > 0) {
        judge_margin(c);
    }
    take_means(c);
    *ret = c;
    return 0;
}
