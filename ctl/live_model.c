/* The state of the live view, see live_model.h; its layout is live_model_format.c. */
#include "ctl/live_model.h"

#include <math.h>

#include "base/mem.h"
#include "core/throughput.h"
#include "spec/stop_rule.h"

void live_model_init(struct live_model *m, const struct run_def *def)
{
    *m = (struct live_model){.def = def};
    m->points = xnew_array(struct live_model_point, def->matrix.n_points);
}

void live_model_done(struct live_model *m)
{
    for (uint32_t i = 0; m->points != NULL && i < m->def->matrix.n_points; i++) {
        vec_done(&m->points[i].throughputs);
    }
    free(m->points);
    *m = (struct live_model){0};
}

double live_model_throughput(const struct live_model *m, const struct attempt_row *row)
{
    const struct matrix *matrix = &m->def->matrix;
    return row->id.point < matrix->n_points
               ? throughput_of_attempt(row, matrix->points[row->id.point].replicas)
               : NAN;
}

uint32_t live_model_trials(const struct live_model *m, uint32_t point)
{
    const struct live_model_point *p = &m->points[point];
    const struct spec *spec = m->def->spec;
    const uint32_t n_values = (uint32_t)p->throughputs.len;
    const uint32_t needed = stop_rule_needed(spec, p->throughputs.items, n_values);
    return stop_rule_trials(spec, needed, p->done, n_values);
}

/* How long a trial takes, up to a factor: a thread's samples per step, times how crowded the CPUs
 * are. */
static double trial_weight(const struct run_def *def, uint32_t point)
{
    const struct point *p = &def->matrix.points[point];
    double busy = (double)point_busy_threads(p);
    double cpus = def->cpus > 0 ? (double)def->cpus : busy;
    double crowding = busy > cpus ? busy / cpus : 1;
    return (double)p->batch_size / (double)(p->threads > 0 ? p->threads : 1) * crowding;
}

void live_model_restore(struct live_model *m, const struct attempt_row *row)
{
    if (row->id.point >= m->def->matrix.n_points || !attempt_outcome_decides(row->outcome)) {
        return; /* a void or invalid attempt is repeated */
    }
    struct live_model_point *p = &m->points[row->id.point];
    p->done++;
    double x = live_model_throughput(m, row);
    p->failed += isnan(x);
    if (!isnan(x)) {
        *vec_push(&p->throughputs) = x;
    }
}

void live_model_attempt(struct live_model *m, const struct attempt_row *row)
{
    live_model_restore(m, row);
    if (row->id.point < m->def->matrix.n_points && row->outcome == ATTEMPT_SUCCEEDED) {
        m->weight_done += trial_weight(m->def, row->id.point);
        m->spent_ms += row->ended_unix_ms - row->started_unix_ms;
    }
    struct live_model_current *c = &m->current;
    if (c->is_active && attempt_id_eq(&c->id, &row->id)) {
        c->is_active = false;
    }
}

void live_model_status(struct live_model *m, const struct run_status *status, int64_t now_unix_ms)
{
    m->status = *status;
    struct live_model_current *c = &m->current;
    if (!status->has_current) {
        c->is_active = false;
    } else if (!c->is_active || !attempt_id_eq(&c->id, &status->current)) {
        *c = (struct live_model_current){
            .is_active = true,
            .id = status->current,
            .started_unix_ms = now_unix_ms,
        };
    }
}

void live_model_record(struct live_model *m, const struct replica_id *id,
                       const struct record *record)
{
    struct live_model_current *c = &m->current;
    if (record->type != RECORD_STEP || id->role == ROLE_PSERVER || id->index != 0 ||
        !c->is_active || !attempt_id_eq(&id->attempt, &c->id)) {
        return;
    }
    if (record->step.warmup) {
        c->warmup_done = record->step.step + 1;
    } else {
        c->steps_done = record->step.step + 1;
        c->samples += record->step.samples;
        c->steps_ns += record->step.step_ns;
    }
}

/* How many trials of a point are left. */
static uint32_t count_left(const struct live_model *m, uint32_t point, bool is_least)
{
    const struct live_model_point *p = &m->points[point];
    const int64_t first = m->def->spec->min_repeats;
    uint32_t n = live_model_trials(m, point);
    if (is_least && m->def->spec->stop.is_set && (int64_t)p->throughputs.len < first) {
        n = p->done + (uint32_t)first - (uint32_t)p->throughputs.len;
    }
    const bool is_given_up = point_is_given_up(p->done - p->failed, p->failed);
    return is_given_up || n < p->done ? 0 : n - p->done;
}

static int64_t eta_ms(const struct live_model *m, int64_t now_unix_ms, bool is_least)
{
    if (m->weight_done <= 0) {
        return -1;
    }
    double weight = 0;
    for (uint32_t i = 0; i < m->def->matrix.n_points; i++) {
        weight += (double)count_left(m, i, is_least) * trial_weight(m->def, i);
    }
    double ms = weight * (double)m->spent_ms / m->weight_done;
    if (m->current.is_active) {
        ms -= (double)(now_unix_ms - m->current.started_unix_ms);
    }
    return ms > 0 ? (int64_t)ms : 0;
}

int64_t live_model_eta_ms(const struct live_model *m, int64_t now_unix_ms)
{
    return eta_ms(m, now_unix_ms, false);
}

int64_t live_model_least_eta_ms(const struct live_model *m, int64_t now_unix_ms)
{
    return eta_ms(m, now_unix_ms, true);
}
