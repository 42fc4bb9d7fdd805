/* From stored attempts to figures, see result_build.h and docs/contracts/result.md. Called wherever
 * a run is shown, with what the store holds. It decides nothing about the run. */
#include "result/result_build.h"

#include <math.h>

#include "base/str.h"
#include "result/curves.h"
#include "result/nodes.h"
#include "result/catalogue.h"
#include "result/result_parts.h"
#include "result/threshold.h"
#include "spec/stop_rule.h"

static const char ratio[] = "ratio";
static const char seconds[] = "s";
static const char scope_job[] = "job";

/* ---- points ---- */

static enum trial_phase point_phase(const struct point_result *p, enum run_phase run_phase)
{
    size_t count[TRIAL_METRICS_UNAVAILABLE + 1] = {0};
    point_each_trial (t, p) {
        count[t->phase]++;
    }
    const bool begun = count[TRIAL_RUNNING] + count[TRIAL_SUCCEEDED] > 0;
    return count[TRIAL_SUCCEEDED] == p->n_trials     ? TRIAL_SUCCEEDED
           : count[TRIAL_FAILED] > 0                 ? TRIAL_FAILED
           : count[TRIAL_METRICS_UNAVAILABLE] > 0    ? TRIAL_METRICS_UNAVAILABLE
           : begun && !run_phase_is_final(run_phase) ? TRIAL_RUNNING
                                                     : TRIAL_PENDING;
}

/* The point has the trials that the rule asks for, as lib/decide does, and all that have ended. */
static void apply_stop_rule(struct point_result *p, const struct spec *spec, const double *values)
{
    uint32_t n_decided = 0;
    size_t end = 0;
    for (size_t i = 0; i < p->n_trials; i++) {
        n_decided += trial_is_decided(&p->trials[i]);
        end = p->trials[i].has_ended ? i + 1 : end;
    }
    const uint32_t needed = stop_rule_needed(spec, values, p->n_succeeded);
    const size_t n = stop_rule_trials(spec, needed, n_decided, (uint32_t)p->n_succeeded);
    p->n_trials = n > end ? n : end;
    p->n_required = (size_t)spec->min_repeats;
}

/* The throughputs of its succeeded trials into `values`, and what follows from each alone. */
static void take_values(struct point_result *p, double *values)
{
    const char *unit = result_units[UNIT_SAMPLES];
    p->n_succeeded = 0;
    p->throughput_min = p->throughput_max = NAN;
    point_each_success (t, p) {
        values[p->n_succeeded++] = t->throughput;
        unit = t->unit;
        p->throughput_min = fmin(p->throughput_min, t->throughput); /* fmin passes NaN over */
        p->throughput_max = fmax(p->throughput_max, t->throughput);
    }
    p->throughput = (struct figure){.unit = unit, .scope = scope_job};
}

/* The estimate over the succeeded trials that have it; `values` has room for all of them. Of
 * shares no interval goes above 1. */
static struct estimate metric_estimate(const struct point_result *p, const char *name,
                                       double *values)
{
    size_t n = 0;
    point_each_success (t, p) {
        values[n] = metrics_get(&t->metrics, name);
        n += !isnan(values[n]);
    }
    struct estimate e = n == p->n_succeeded ? stats_median(values, n) : (struct estimate){0};
    if (e.has_interval && str_has_suffix(name, "_ratio") && array_all(values, n, it, *it <= 1)) {
        e.high = fmin(e.high, 1);
    }
    return e;
}

static void take_metrics(struct point_result *p)
{
    _cleanup_(freep) double *values = xnew_array(double, p->n_trials);
    point_each_success (t, p) {
        vec_each (const struct metric_value, m, &t->metrics.list) {
            if (!vec_any(&p->metrics, it, str_eq(it->name, m->name))) {
                const struct estimate e = metric_estimate(p, m->name, values);
                *vec_push(&p->metrics) =
                    (struct point_metric){m->name, {e, metric_unit(m->name), scope_job, 0}};
            }
        }
    }
}

static double time_to_accuracy(const struct trial_result *t, enum role leading)
{
    (void)leading;
    return t->to_accuracy.s;
}

static double accuracy_after_time(const struct trial_result *t, enum role leading)
{
    (void)leading;
    return t->after.accuracy;
}

/* CPUs of all replicas, for servers are not free. In a local run the busy threads. In a cluster
 * those of the first trial that succeeded. NaN: not known, no trial succeeded, or the run is a
 * rehearsal, where threads share CPUs. */
static double cpus_of(const struct run_def *def, const struct point_result *p)
{
    const bool is_local = def->cpus > 0;
    const struct trial_result *t =
        array_find(p->trials, p->n_trials, it, it->phase == TRIAL_SUCCEEDED);
    return def->rehearsal ? NAN
           : is_local     ? (double)point_busy_threads(p->point)
           : t == NULL    ? NAN
                          : t->cpus;
}

#define KINDS_SEARCHED 8 /* of machines: points of one kind are near each other */

/* The point's, which are most often those of one before. */
static const struct machines *keep_machines(struct result *r, struct machines *m_take)
{
    const size_t n = r->machines.len, from = n < KINDS_SEARCHED ? 0 : n - KINDS_SEARCHED;
    struct machines **same =
        array_find(r->machines.items + from, n - from, it, machines_eq(*it, m_take));
    if (same != NULL) {
        machines_done(m_take);
        return *same;
    }
    struct machines *own = xnew(struct machines);
    *own = *m_take;
    *m_take = (struct machines){0};
    return *vec_push(&r->machines) = own;
}

void result_conclude_point(struct result *r, uint32_t point, struct machines *machines_take)
{
    struct point_result *p = &r->points[point];
    const struct spec *spec = r->def->spec;
    _cleanup_(freep) double *values = xnew_array(double, p->n_trials);
    take_values(p, values);
    p->n_required = p->n_trials;
    if (spec->stop.is_set) {
        apply_stop_rule(p, spec, values);
    }
    p->phase = point_phase(p, r->phase);
    const struct first_stage first = stop_rule_first_stage(spec, values, p->n_succeeded);
    p->throughput.estimate = first.n > 0
                                 ? stats_two_stage(values, p->n_succeeded, first.variance, first.n)
                                 : stats_median(values, p->n_succeeded);
    p->cpus = cpus_of(r->def, p);
    const struct estimate time = point_median(p, time_to_accuracy, &p->n_reached);
    struct estimate accuracy = point_median(p, accuracy_after_time, &p->n_after);
    accuracy.high = fmin(accuracy.high, 1); /* no accuracy is more */
    p->goal->time_to_accuracy = (struct figure){time, .unit = seconds, .scope = scope_job};
    p->goal->accuracy_after_time = (struct figure){accuracy, .unit = ratio, .scope = scope_job};
    take_metrics(p);
    p->machines = keep_machines(r, machines_take);
}

static void divide_by_baseline(struct point_result *p, const struct point_result *base)
{
    p->speedup = (struct figure){.unit = ratio, .scope = scope_job};
    p->efficiency = p->speedup;
    p->goal->time_speedup = p->goal->time_efficiency = p->speedup;
    const uint32_t n = point_size(p->point);
    const uint32_t n_base = point_size(base->point);
    if (n == 0 || n_base == 0) {
        return;
    }
    const double share = (double)n_base / (double)n;
    const struct estimate *t = &p->goal->time_to_accuracy.estimate;
    const struct estimate *t_base = &base->goal->time_to_accuracy.estimate;
    p->goal->time_speedup.estimate = stats_ratio(t_base, t, 1);
    p->goal->time_efficiency.estimate = stats_ratio(t_base, t, share);
    if (!str_eq(p->throughput.unit, base->throughput.unit) ||
        !machines_are_same(p->machines, base->machines, MACHINE_WORK)) {
        return; /* tokens are no samples, and another model is other work */
    }
    const struct estimate *x = &p->throughput.estimate, *x_base = &base->throughput.estimate;
    p->speedup.estimate = stats_ratio(x, x_base, 1);
    p->efficiency.estimate = stats_ratio(x, x_base, share);
}

/* ---- thresholds ---- */

static struct estimate metric_of(const struct point_result *p, enum figure_id metric)
{
    struct estimate e = figure_of(p, &figure_kinds[metric]).estimate;
    if ((metric == FIGURE_SPEEDUP || metric == FIGURE_EFFICIENCY) &&
        p->point->baseline_index == p->point->index && e.known) {
        e.has_interval = true; /* a point divided by itself: nothing is uncertain */
        e.low = e.high = e.value;
    }
    return e;
}

static void judge_thresholds(struct result *r)
{
    vec_each (struct threshold, threshold, &r->def->spec->thresholds) {
        if (!matrix_has(&r->def->matrix, &threshold->where)) {
            *vec_push(&r->skipped) = threshold;
        }
        result_each_swept (p, r) {
            if (params_contain(&p->point->params, &threshold->where)) {
                const struct estimate e = metric_of(p, threshold->metric);
                *vec_push(&r->thresholds) = (struct threshold_result){
                    .threshold = threshold,
                    .point = p->point->index,
                    .estimate = e,
                    .verdict = threshold_judge(threshold, &e),
                };
            }
        }
    }
}

/* ---- the whole ---- */

void result_assign_rows(struct result *r, const struct attempt_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        const struct attempt_row *row = &rows[i];
        if (row->id.point >= r->def->matrix.n_points ||
            row->id.trial >= r->points[row->id.point].n_trials) {
            continue;
        }
        r->simulated = r->simulated || row->simulated;
        if (row->outcome == ATTEMPT_INVALID) {
            *vec_push(&r->invalid) = row;
        }
        trial_assign_row(&r->points[row->id.point].trials[row->id.trial], row);
    }
}

struct result *result_begin(const struct run_def *def, enum run_phase phase)
{
    const struct matrix *m = &def->matrix;
    struct result *r = xnew(struct result);
    r->def = def;
    r->phase = phase;
    r->points = xnew_array(struct point_result, m->n_points);
    const bool has_goals = def->spec->goal.kind != GOAL_NONE || def->spec->accuracy_after_s > 0;
    r->goals = xnew_array(struct point_goal, has_goals ? m->n_points : 1);
    r->kept = xnew_array(struct point_kept, m->n_points);
    r->systems = xnew_array(struct system_result, def->spec->systems.len);
    const size_t n_collected = figures_n_collected();
    r->collected = xnew_array(struct estimate, n_collected * m->n_points);
    for (uint32_t i = 0; i < m->n_points; i++) {
        struct point_result *p = &r->points[i];
        p->point = &m->points[i];
        p->goal = &r->goals[has_goals ? i : 0];
        p->kept = &r->kept[i];
        p->kept->collected = &r->collected[i * n_collected];
        p->of = r;
        p->n_trials = (size_t)def->spec->repeats;
        p->trials = xnew_array(struct trial_result, p->n_trials);
        for (size_t j = 0; j < p->n_trials; j++) {
            p->trials[j].trial = (uint32_t)j;
        }
    }
    return r;
}

static void build_point(struct result *r, uint32_t point)
{
    struct point_result *p = &r->points[point];
    const struct trial_terms terms = run_def_terms(r->def, point);
    for (size_t i = 0; i < p->n_trials; i++) {
        trial_build(&p->trials[i], &terms, r->phase);
    }
    struct machines machines = {0};
    hardware_collect(r, p, &machines);
    result_conclude_point(r, point, &machines);
    result_collect_point(r, point);
    for (size_t i = 0; i < p->n_trials; i++) {
        step_series_done(&p->trials[i].steps);
    }
}

/* The row of the trial's attempt, or else the one that it has. */
static const struct attempt_row *row_of(const struct trial_result *t,
                                        const struct attempt_row *rows, size_t n_rows)
{
    const struct attempt_row *row =
        t->row == NULL ? NULL : array_find(rows, n_rows, it, attempt_id_eq(&it->id, &t->row->id));
    return row == NULL ? t->row : row;
}

void result_add_point(struct result *r, uint32_t point, const struct attempt_row *rows,
                      size_t n_rows)
{
    struct point_result *p = &r->points[point];
    _cleanup_(freep) const struct attempt_row **kept =
        xnew_array(const struct attempt_row *, p->n_trials);
    for (size_t i = 0; i < p->n_trials; i++) {
        kept[i] = p->trials[i].row;
        p->trials[i].row = row_of(&p->trials[i], rows, n_rows);
    }
    const size_t n_trials = p->n_trials; /* a stop rule may need fewer */
    build_point(r, point);
    for (size_t i = 0; i < n_trials; i++) {
        p->trials[i].row = kept[i];
    }
}

struct point_result point_open(const struct point_result *p, const struct attempt_row *rows,
                               size_t n_rows)
{
    struct point_result open = *p;
    open.trials = xnew_array(struct trial_result, p->n_trials);
    for (size_t i = 0; i < p->n_trials; i++) {
        open.trials[i] = p->trials[i];
        open.trials[i].row = row_of(&p->trials[i], rows, n_rows);
    }
    return open;
}

void point_close(struct point_result *p)
{
    free(p->trials);
}

static int64_t batch_of(const char *unit, const struct point *point)
{
    return str_eq(unit, result_units[UNIT_SAMPLES]) ? point->batch_size : 0;
}

void result_end_points(struct result *r)
{
    const struct matrix *m = &r->def->matrix;
    for (uint32_t i = 0; i < m->n_points; i++) {
        struct point_result *p = &r->points[i];
        const bool in_batches = r->def->spec->unit == UNIT_OF_BATCHES;
        p->throughput.batch = in_batches ? batch_of(p->throughput.unit, p->point) : 0;
        for (size_t k = 0; k < p->n_trials && in_batches; k++) {
            p->trials[k].batch = batch_of(p->trials[k].unit, p->point);
        }
        if (!p->point->baseline_excluded) {
            divide_by_baseline(p, &r->points[p->point->baseline_index]);
        }
    }
    judge_thresholds(r);
}

void result_end(struct result *r)
{
    result_end_points(r);
    nodes_end(r);
    curves_collect(r);
    result_lint(r);
}

struct result *result_build(const struct run_def *def, enum run_phase phase,
                            const struct attempt_row *rows, size_t n_rows)
{
    struct result *r = result_begin(def, phase);
    result_assign_rows(r, rows, n_rows);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        build_point(r, i);
    }
    result_end(r);
    return r;
}

static void kept_done(struct point_kept *kept)
{
    free(kept->doubt);
    free(kept->phases);
    vec_done(&kept->evaluations);
}

static void system_done(struct system_result *s)
{
    free(s->rule);
    free(s->method);
}

void result_forget_replicas(struct result *r)
{
    const uint32_t n_points = r->kept == NULL ? 0 : r->def->matrix.n_points;
    free_each(r->systems, r->systems == NULL ? 0 : r->def->spec->systems.len, system_done);
    free_each(r->kept, n_points, kept_done);
    free(r->collected);
    r->collected = NULL;
    vec_done_each(&r->nodes, node_result_done);
    vec_done(&r->lines.list);
    vec_done_each(&r->hardware, hardware_done);
    curves_done(&r->curves); /* they say phases */
    vec_each (struct warning, w, &r->warnings) {
        free(w->message);
    }
    vec_done(&r->warnings);
    vec_done(&r->invalid); /* and these are rows */
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        struct point_result *p = &r->points[i];
        for (size_t k = 0; k < p->n_trials; k++) {
            p->trials[k].row = NULL;
            free(p->trials[k].noise);
            p->trials[k].noise = NULL;
        }
        p->kept = NULL;
    }
}

void result_forget_trials(struct result *r)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        struct point_result *p = &r->points[i];
        free_each(p->trials, p->n_trials, trial_done);
        vec_done(&p->metrics);
        p->n_trials = 0;
    }
}

void result_free(struct result *r)
{
    if (r == NULL) {
        return;
    }
    result_forget_replicas(r);
    result_forget_trials(r);
    free(r->points);
    free(r->goals);
    vec_each (struct machines *, m, &r->machines) {
        machines_done(*m);
        free(*m);
    }
    vec_done(&r->machines);
    vec_done(&r->thresholds);
    vec_done(&r->skipped);
    free(r);
}
