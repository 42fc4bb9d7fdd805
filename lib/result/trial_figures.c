/* See trial_figures.h. */
#include "result/trial_figures.h"

#include <errno.h>
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

/* What a trial says as a whole. */
static bool take_trial(struct trial_result *t, const struct trial_result *f)
{
    const int unit = f->unit == NULL ? -1 : str_index(f->unit, result_units, SUMMARY_UNIT_COUNT);
    t->unit = unit < 0 ? NULL : result_units[unit];
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

static int end_points(struct figures_reader *r, uint32_t until)
{
    for (; r->point < until; r->point++) {
        struct point_result *p = &r->result->points[r->point];
        for (size_t j = 0; j < p->n_trials; j++) {
            struct trial_result *t = &p->trials[j];
            if (t->row == NULL) {
                result_begin_trial(t);
            } else if (!t->has_ended) {
                return -ENOENT;
            }
        }
        result_conclude_point(r->result, r->point, &r->of_point);
    }
    return 0;
}

int figures_read(void *reader, const struct attempt_id *id, const struct trial_figures *f)
{
    struct figures_reader *r = reader;
    struct result *result = r->result;
    const uint32_t n_points = result->def->matrix.n_points;
    const int ended = end_points(r, id->point < n_points ? id->point : n_points);
    if (ended < 0 || id->point >= n_points || id->trial >= result->points[id->point].n_trials) {
        return ended;
    }
    struct trial_result *t = &result->points[id->point].trials[id->trial];
    if (t->row == NULL || !attempt_id_eq(&t->row->id, id)) {
        return 0;
    }
    json_auto_t *metrics = f->metrics == NULL ? NULL : json_loads(f->metrics, 0, NULL);
    trial_take_outcome(t, result->phase);
    return take_trial(t, &f->trial) &&
                   (f->metrics == NULL ||
                    metrics_from_json(metrics, SIZE_MAX, &t->metrics, NULL) >= 0) &&
                   (t->phase != TRIAL_SUCCEEDED || read_machines(r, &r->of_point, f->machines))
               ? 0
               : -EBADMSG;
}

int figures_end(struct figures_reader *reader, int r)
{
    r = r < 0 ? r : end_points(reader, reader->result->def->matrix.n_points);
    free(reader->text);
    machines_done(&reader->machines);
    machines_done(&reader->of_point);
    return r;
}
