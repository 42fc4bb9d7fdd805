/* See trial_figures.h. */
#include "result/trial_figures.h"

#include <math.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "result/result_parts.h"

void trial_figures_done(struct trial_figures *f)
{
    trial_done(&f->trial);
    free(f->machines);
    free(f->metrics);
}

static double seconds_of(const struct replica_row *r)
{
    return replica_is_rated(r) ? (double)r->summary->duration_ns / 1e9 : NAN;
}

bool trial_figures_make(const struct attempt_row *row, const struct trial_terms *terms,
                        struct trial_figures *ret)
{
    if (terms->n_leading == 0) {
        return false;
    }
    struct trial_figures f = {.trial.row = row};
    struct trial_result *t = &f.trial;
    struct machines machines = {0};
    trial_build(t, terms, RUN_SUCCEEDED);
    f.seconds = trial_most(t, (int)terms->leading, seconds_of);
    machines_add_trial(&machines, t);
    f.machines = t->phase == TRIAL_SUCCEEDED ? machines_to_text(&machines) : NULL;
    json_auto_t *metrics = metrics_to_json(&t->metrics);
    f.metrics = json_dumps(metrics, JSON_COMPACT); /* NULL without any */
    const bool is_good = t->phase != TRIAL_SUCCEEDED || f.machines != NULL;
    machines_done(&machines);
    step_series_done(&t->steps);
    t->row = NULL;
    if (!is_good) {
        trial_figures_done(&f);
        return false;
    }
    *ret = f;
    return true;
}

/* ---- and back ---- */

/* Most attempts of a run have the same. */
static bool read_machines(struct figures_reader *r, struct machines *m, const char *text)
{
    if (text == NULL) {
        return false;
    }
    if (r->text == NULL || !str_eq(r->text, text)) {
        machines_done(&r->machines);
        free(r->text);
        r->text = xstrdup(text);
        if (!machines_add_text(&r->machines, text)) {
            return false;
        }
    }
    machines_merge(m, &r->machines);
    return true;
}

static const char *unit_of(const char *text)
{
    const int unit = text == NULL ? -1 : str_index(text, result_units, SUMMARY_UNIT_COUNT);
    return unit < 0 ? NULL : result_units[unit];
}

/* What a trial says as a whole. */
static bool take_trial(struct trial_result *t, const struct trial_result *f)
{
    t->unit = unit_of(f->unit);
    t->throughput = f->throughput;
    if (t->outcome == ATTEMPT_SUCCEEDED && isnan(f->throughput)) {
        t->phase = TRIAL_METRICS_UNAVAILABLE;
        t->error = xstrdup_or_null(f->error);
    }
    t->details = xstrdup_or_null(f->details);
    t->others_share = f->others_share;
    t->cpus = f->cpus;
    t->to_accuracy = f->to_accuracy;
    t->to_accuracy.state = !isnan(f->to_accuracy.s)      ? TARGET_REACHED
                           : !isnan(f->to_accuracy.best) ? TARGET_NOT_REACHED
                                                         : TARGET_UNKNOWN; /* it is not stored */
    t->after = f->after;
    t->evaluations_k = f->evaluations_k;
    t->evaluations_from = f->evaluations_from;
    return t->unit != NULL && f->after.state < AFTER_STATE_COUNT;
}

static bool take_metrics(struct trial_result *t, const char *text)
{
    json_auto_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    return text == NULL || metrics_from_json(o, SIZE_MAX, &t->metrics, NULL) >= 0;
}

void figures_reader_done(struct figures_reader *r)
{
    free(r->text);
    machines_done(&r->machines);
    machines_done(&r->of_point);
}

bool figures_read(struct figures_reader *r, const struct attempt_row *row,
                  const struct trial_figures *f)
{
    struct result *result = r->result;
    if (row->id.point >= result->def->matrix.n_points ||
        row->id.trial >= result->points[row->id.point].n_trials) {
        return true;
    }
    struct trial_result *t = &result->points[row->id.point].trials[row->id.trial];
    if (t->row != row) {
        return true;
    }
    trial_take_outcome(t, result->phase);
    if (!take_trial(t, &f->trial) || !take_metrics(t, f->metrics) ||
        (t->phase == TRIAL_SUCCEEDED && !read_machines(r, &r->of_point, f->machines))) {
        return false;
    }
    return true;
}

bool figures_end_point(struct figures_reader *r, uint32_t point)
{
    struct point_result *p = &r->result->points[point];
    for (size_t j = 0; j < p->n_trials; j++) {
        struct trial_result *t = &p->trials[j];
        if (t->row == NULL) {
            result_begin_trial(t);
        } else if (!t->has_ended) {
            return false;
        }
    }
    result_conclude_point(r->result, point, &r->of_point);
    return true;
}
