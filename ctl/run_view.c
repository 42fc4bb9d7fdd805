/* The state of the live view, see run_view.h; its layout is run_view_format.c. */
#include "ctl/run_view.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

void run_view_init(struct run_view *v, const struct run_def *def)
{
    *v = (struct run_view){.def = def};
    v->points = xnew_array(struct run_view_point, def->matrix.n_points);
}

void run_view_done(struct run_view *v)
{
    for (uint32_t i = 0; v->points != NULL && i < v->def->matrix.n_points; i++) {
        vec_done(&v->points[i].throughputs);
    }
    free(v->points);
    *v = (struct run_view){0};
}

double run_view_throughput(const struct attempt_row *row)
{
    double sum = 0;
    uint32_t n = 0;
    vec_each (const struct replica_row, rep, &row->replicas) {
        if (rep->id.role == ROLE_PSERVER) {
            continue;
        }
        struct record record;
        if (rep->summary_json == NULL ||
            record_read(rep->summary_json, strlen(rep->summary_json), &record, NULL) != 1) {
            return NAN;
        }
        if (record.type == RECORD_SUMMARY && record.summary.duration_ns > 0) {
            sum += (double)record.summary.samples * 1e9 / (double)record.summary.duration_ns;
            n++;
        }
        record_done(&record);
    }
    return n > 0 ? sum : NAN;
}

/* How long a trial takes, up to a factor: samples to compute, when the trainers share the CPUs. */
static double trial_weight(const struct run_def *def, uint32_t point)
{
    const struct point *p = &def->matrix.points[point];
    double busy = (double)point_busy_threads(p);
    double cpus = def->cpus > 0 ? (double)def->cpus : busy;
    double crowding = busy > cpus ? busy / cpus : 1;
    return (double)p->batch_size / (double)(p->threads > 0 ? p->threads : 1) * crowding;
}

void run_view_restore(struct run_view *v, const struct attempt_row *row)
{
    if (row->id.point >= v->def->matrix.n_points || row->outcome == ATTEMPT_VOID) {
        return; /* a void attempt decides nothing */
    }
    struct run_view_point *p = &v->points[row->id.point];
    p->done++;
    p->failed += row->outcome != ATTEMPT_SUCCEEDED;
    double x = row->outcome == ATTEMPT_SUCCEEDED ? run_view_throughput(row) : NAN;
    if (!isnan(x)) {
        *vec_push(&p->throughputs) = x;
    }
}

void run_view_attempt(struct run_view *v, const struct attempt_row *row)
{
    run_view_restore(v, row);
    if (row->id.point < v->def->matrix.n_points && row->outcome == ATTEMPT_SUCCEEDED) {
        v->weight_done += trial_weight(v->def, row->id.point);
        v->spent_ms += row->ended_unix_ms - row->started_unix_ms;
    }
    struct run_view_current *c = &v->current;
    if (c->is_active && attempt_id_eq(&c->id, &row->id)) {
        c->is_active = false;
    }
}

void run_view_status(struct run_view *v, const struct run_status *status, int64_t now_unix_ms)
{
    v->status = *status;
    struct run_view_current *c = &v->current;
    if (!status->has_current) {
        c->is_active = false;
    } else if (!c->is_active || !attempt_id_eq(&c->id, &status->current)) {
        *c = (struct run_view_current){
            .is_active = true,
            .id = status->current,
            .started_unix_ms = now_unix_ms,
        };
    }
}

void run_view_record(struct run_view *v, const struct replica_id *id, const struct record *record)
{
    struct run_view_current *c = &v->current;
    if (record->type != RECORD_STEP || id->role != ROLE_TRAINER || id->index != 0 ||
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

int64_t run_view_eta_ms(const struct run_view *v, int64_t now_unix_ms)
{
    if (v->weight_done <= 0) {
        return -1;
    }
    double weight = 0;
    for (uint32_t i = 0; i < v->def->matrix.n_points; i++) {
        int64_t left = v->def->spec->repeats - v->points[i].done;
        weight += left > 0 ? (double)left * trial_weight(v->def, i) : 0;
    }
    double ms = weight * (double)v->spent_ms / v->weight_done;
    if (v->current.is_active) {
        ms -= (double)(now_unix_ms - v->current.started_unix_ms);
    }
    return ms > 0 ? (int64_t)ms : 0;
}
