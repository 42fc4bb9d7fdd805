/* See comparison.h. */
#include "compare/comparison.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
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
    p->shown = paired_test_staged(scratch, n, first_stage(c, n));
    p->ratio = (struct figure){.unit = "ratio", .scope = "job"};
    p->ratio.estimate = paired_ratio(&p->shown);
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
            if (p->shown.n > 0) {
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

/* ---- what cannot be compared ---- */

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
    return err_set(err, ENODATA, "no point of run/%s has a throughput with both %s=%s and %s=%s",
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
    c->margin = params->margin;
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
    compare_judge(c);
    *ret = c;
    return 0;
}
