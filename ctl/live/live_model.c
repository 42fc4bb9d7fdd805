/* The state of the live view, see live_model.h; its layout is live_model_format.c. */
#include "ctl/live/live_model.h"

#include <math.h>

#include "base/mem.h"
#include "core/summary.h"
#include "decide/policy_wait.h"
#include "stats/stats.h"
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
    vec_done(&m->current.trainers);
    free(m->points);
    *m = (struct live_model){0};
}

/* A rate as the definition wants it. */
static double shown(const struct live_model *m, const struct point *point, enum summary_unit unit,
                    double rate, const char **ret_unit)
{
    const bool in_batches =
        unit == UNIT_SAMPLES && m->def->spec->unit == UNIT_OF_BATCHES && point->batch_size > 0;
    *ret_unit = in_batches ? "batches" : summary_unit_names[unit];
    return in_batches ? rate / (double)point->batch_size : rate;
}

double live_model_throughput(const struct live_model *m, const struct attempt_row *row,
                             const char **ret_unit)
{
    const struct matrix *matrix = &m->def->matrix;
    *ret_unit = summary_unit_names[UNIT_SAMPLES];
    if (row->id.point >= matrix->n_points) {
        return NAN;
    }
    const struct point *point = &matrix->points[row->id.point];
    return shown(m, point, throughput_unit_of_attempt(row, point->replicas),
                 throughput_of_attempt(row, point->replicas), ret_unit);
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
    const double batch = p->worker_batch > 0 ? (double)p->worker_batch : 1;
    return batch / (double)(p->threads > 0 ? p->threads : 1) * crowding;
}

void live_model_restore(struct live_model *m, const struct attempt_row *row)
{
    if (row->id.point >= m->def->matrix.n_points || !attempt_outcome_decides(row->outcome)) {
        return; /* a void or invalid attempt is repeated */
    }
    struct live_model_point *p = &m->points[row->id.point];
    const char *unit;
    const double x = live_model_throughput(m, row, &unit);
    p->done++;
    p->failed += isnan(x);
    if (!isnan(x)) {
        *vec_push(&p->throughputs) = x;
        p->unit = unit;
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

static void begin_attempt(struct live_model *m, struct attempt_id id, int64_t now_unix_ms)
{
    vec_done(&m->current.trainers);
    m->current = (struct live_model_current){
        .is_active = true,
        .id = id,
        .started_unix_ms = now_unix_ms,
    };
    const struct matrix *all = &m->def->matrix;
    const uint32_t n =
        id.point < all->n_points ? point_training_replicas(&all->points[id.point]) : 0;
    for (uint32_t i = 0; i < n; i++) {
        *vec_push(&m->current.trainers) = (struct live_model_trainer){0};
    }
}

void live_model_status(struct live_model *m, const struct run_status *status, int64_t now_unix_ms)
{
    const bool has_waited = m->status.phase == RUN_QUEUED;
    m->status = *status;
    struct live_model_current *c = &m->current;
    if (!status->has_current) {
        c->is_active = false;
    } else if (!c->is_active || !attempt_id_eq(&c->id, &status->current)) {
        begin_attempt(m, status->current, now_unix_ms);
    } else if (has_waited) {
        c->started_unix_ms = now_unix_ms;
    }
}

void live_model_record(struct live_model *m, const struct replica_id *id,
                       const struct record *record)
{
    struct live_model_current *c = &m->current;
    if (record->type != RECORD_STEP || id->role == ROLE_PSERVER || !c->is_active ||
        !attempt_id_eq(&id->attempt, &c->id) || id->index >= c->trainers.len) {
        return;
    }
    m->sees_all = m->sees_all || id->index > 0;
    struct live_model_trainer *t = &c->trainers.items[id->index];
    t->has_begun = true;
    if (!record->step.warmup) {
        t->samples += record->step.samples;
        t->steps_ns += record->step.step_ns;
    }
    if (id->index == 0 && record->step.warmup) {
        c->warmup_done = record->step.step + 1;
    } else if (id->index == 0) {
        c->steps_done = record->step.step + 1;
    }
}

double live_model_rate(const struct live_model *m, bool *ret_is_estimate, const char **ret_unit)
{
    const struct live_model_current *c = &m->current;
    size_t n_known = 0;
    double rate = 0;
    vec_each (const struct live_model_trainer, t, &c->trainers) {
        if (t->steps_ns > 0) {
            rate += (double)t->samples * 1e9 / (double)t->steps_ns;
            n_known++;
        }
    }
    *ret_is_estimate = n_known < c->trainers.len;
    *ret_unit = NULL;
    if (n_known == 0) {
        return 0;
    }
    rate *= (double)c->trainers.len / (double)n_known;
    return shown(m, &m->def->matrix.points[c->id.point], UNIT_SAMPLES, rate, ret_unit);
}

void live_model_waits_for(const struct live_model *m, struct buf *out)
{
    const struct live_model_current *c = &m->current;
    const size_t n_begun = vec_sum(&c->trainers, t, (size_t)t->has_begun);
    if (wait_is_in(&m->status)) {
        buf_printf(out, "%s: %s", m->status.reason, m->status.message);
    } else if (c->is_active && n_begun == 0) {
        buf_puts(out, "waiting for the first step");
    } else if (c->is_active && m->sees_all && n_begun < c->trainers.len) {
        buf_printf(out, "waiting for the first step of %zu of %zu %s", c->trainers.len - n_begun,
                   (size_t)c->trainers.len, matrix_training_words(&m->def->matrix).many);
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

int64_t live_model_eta_ms(const struct live_model *m, int64_t now_unix_ms, bool is_least)
{
    if (m->weight_done <= 0 || m->status.phase == RUN_QUEUED || /* for how long is unknown */
        run_phase_is_final(m->status.phase)) {                  /* no trial follows */
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
