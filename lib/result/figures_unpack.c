/* See figures_unpack.h; figures_pack.c says what the bytes are. */
#include "result/figures_unpack.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "result/columns.h"
#include "result/figures_format.h"
#include "result/result_parts.h"

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static bool begin_part(const struct buf *part, struct columns_reader *r, struct columns_list *texts)
{
    size_t format;
    *r = (struct columns_reader){(const unsigned char *)part->data,
                                 (const unsigned char *)part->data + part->len};
    return part->len > 0 && columns_get_count(r, 1, FIGURES_FORMAT, &format) &&
           format == FIGURES_FORMAT && columns_get_texts(r, texts);
}

/* Owned. */
static char *text_of(const struct columns_list *texts, uint64_t reference)
{
    return reference == 0 ? NULL : xstrdup(texts->items[reference]);
}

/* Columns of n numbers, one after another; owned; NULL: there are fewer bytes. */
static uint64_t *get_columns(struct columns_reader *r, size_t n_columns, size_t n)
{
    uint64_t *values = xnew_array(uint64_t, n_columns * n + 1);
    for (size_t k = 0; k < n_columns; k++) {
        if (!columns_get(r, values + k * n, n)) {
            free(values);
            return NULL;
        }
    }
    return values;
}

/* All are references to texts, or none at all. */
static bool are_texts(const struct columns_list *texts, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] >= texts->n) {
            return false;
        }
    }
    return true;
}

/* ---- points ---- */

#define TRIAL_COLUMNS 17

/* `at` is the trial's number in the first of its columns, each of which has n. */
static bool set_trial(struct point_result *p, const uint64_t *at, size_t n,
                      const struct columns_list *texts)
{
    uint64_t v[TRIAL_COLUMNS];
    for (size_t k = 0; k < TRIAL_COLUMNS; k++) {
        v[k] = at[k * n];
    }
    if (v[0] >= p->n_trials || v[1] > UINT32_MAX || v[2] >= ATTEMPT_OUTCOME_COUNT ||
        v[3] > TRIAL_METRICS_UNAVAILABLE || v[6] >= SUMMARY_UNIT_COUNT ||
        !are_texts(texts, v + 7, 2) || v[9] > UINT32_MAX || v[10] > UINT32_MAX ||
        v[11] >= TARGET_STATE_COUNT || v[14] >= AFTER_STATE_COUNT || p->trials[v[0]].has_ended) {
        return false;
    }
    struct trial_result *t = &p->trials[v[0]];
    t->has_ended = true;
    t->attempt = (uint32_t)v[1];
    t->outcome = (enum attempt_outcome)v[2];
    t->phase = (enum trial_phase)v[3];
    t->throughput.estimate.known = v[4] != 0;
    t->throughput.estimate.value = real_of(v[5]);
    t->throughput.unit = result_unit_name((enum summary_unit)v[6]);
    t->error = text_of(texts, v[7]);
    t->details = text_of(texts, v[8]);
    t->evaluations_k = (uint32_t)v[9];
    t->evaluations_from = (uint32_t)v[10];
    t->to_accuracy =
        (struct time_to_accuracy){(enum target_state)v[11], real_of(v[12]), real_of(v[13])};
    t->after = (struct accuracy_after){(enum after_state)v[14], real_of(v[15])};
    t->others_share = real_of(v[16]);
    return isnan(t->others_share) || (t->others_share >= 0 && t->others_share < 1);
}

static bool get_trials(struct columns_reader *r, struct point_result *p,
                       const struct columns_list *texts)
{
    size_t n;
    for (size_t i = 0; i < p->n_trials; i++) {
        result_begin_trial(&p->trials[i]);
    }
    if (!columns_get_count(r, 4, p->n_trials, &n)) {
        return false;
    }
    _cleanup_(freep) uint64_t *values = get_columns(r, TRIAL_COLUMNS, n);
    for (size_t i = 0; i < n && values != NULL; i++) {
        if (!set_trial(p, values + i, n, texts)) {
            return false;
        }
    }
    return values != NULL;
}

static bool get_machines(struct columns_reader *r, struct machines *m,
                         const struct columns_list *texts)
{
    uint64_t counts[MACHINE_KEY_COUNT];
    size_t n = 0;
    if (!columns_get(r, counts, MACHINE_KEY_COUNT)) {
        return false;
    }
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        if (counts[k] >= texts->n) { /* each value once */
            return false;
        }
        n += (size_t)counts[k];
    }
    _cleanup_(freep) uint64_t *values = get_columns(r, 1, n);
    if (values == NULL || !are_texts(texts, values, n)) {
        return false;
    }
    for (size_t k = 0, at = 0; k < MACHINE_KEY_COUNT; k++) {
        for (uint64_t i = 0; i < counts[k]; i++, at++) {
            if (values[at] == 0) {
                return false;
            }
            *vec_push(&m->values[k].list) = text_of(texts, values[at]);
        }
    }
    return true;
}

static bool get_points(struct columns_reader *r, struct result *result,
                       const struct columns_list *texts)
{
    const uint32_t n = result->def->matrix.n_points;
    uint64_t n_points, is_simulated, cpus;
    if (!columns_get_number(r, 4, &n_points) || n_points != n ||
        !columns_get_number(r, 1, &is_simulated)) {
        return false;
    }
    result->simulated = is_simulated != 0;
    for (uint32_t i = 0; i < n; i++) {
        struct point_result *p = &result->points[i];
        if (!columns_get_number(r, 8, &cpus) || !get_trials(r, p, texts) ||
            !get_machines(r, &p->machines, texts)) {
            return false;
        }
        p->cpus = real_of(cpus);
        result_conclude_point(result, i);
    }
    return r->at == r->end;
}

static bool unpack_points(const struct buf *part, struct result *result)
{
    struct columns_reader r;
    struct columns_list texts = {0};
    const bool is_good = begin_part(part, &r, &texts) && get_points(&r, result, &texts);
    columns_list_done(&texts);
    return is_good;
}

/* ---- replicas ---- */

struct replicas_reader {
    struct columns_reader r;
    struct columns_list texts;
    double *times; /* owned */
    size_t n_times;
    struct result *result;
    struct attempt_row *rows; /* those that the result's trials have */
    size_t n_left;            /* so many replicas may follow */
};

static bool get_hardware(struct replicas_reader *u)
{
    size_t n;
    if (!columns_get_count(&u->r, 4, (size_t)(u->r.end - u->r.at), &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t refs[5], n_replicas;
        for (size_t k = 0; k < 5; k++) {
            if (!columns_get_number(&u->r, 4, &refs[k]) || !are_texts(&u->texts, &refs[k], 1)) {
                return false;
            }
        }
        if (!columns_get_number(&u->r, 8, &n_replicas)) {
            return false;
        }
        *vec_push(&u->result->hardware) = (struct hardware){
            text_of(&u->texts, refs[0]), text_of(&u->texts, refs[1]), text_of(&u->texts, refs[2]),
            text_of(&u->texts, refs[3]), text_of(&u->texts, refs[4]), (size_t)n_replicas};
    }
    return true;
}

static bool get_times(struct replicas_reader *u)
{
    if (!columns_get_count(&u->r, 4, (size_t)(u->r.end - u->r.at), &u->n_times)) {
        return false;
    }
    _cleanup_(freep) uint64_t *bits = get_columns(&u->r, 1, u->n_times);
    u->times = bits == NULL ? NULL : xnew_array(double, u->n_times + 1);
    for (size_t i = 0; i < u->n_times && bits != NULL; i++) {
        u->times[i] = real_of(bits[i]);
    }
    return bits != NULL;
}

/* Columns of the trials of a point that have ended: n numbers each. */
struct gangs {
    size_t n;
    uint64_t *n_replicas; /* owned; then their numbers of step times, then of steps in a time */
    size_t n_all;
};

static bool get_series(struct replicas_reader *u, struct trial_result *t, uint64_t n, uint64_t k,
                       const uint64_t *indices)
{
    if (n > STEP_SERIES_MAX || k > UINT32_MAX) {
        return false;
    }
    t->steps = (struct step_series){.k = (uint32_t)k};
    if (n == 0) {
        return true;
    }
    t->steps.us = xnew_array(double, n);
    for (; t->steps.n < n; t->steps.n++) {
        if (indices[t->steps.n] >= u->n_times) {
            return false;
        }
        t->steps.us[t->steps.n] = u->times[indices[t->steps.n]];
    }
    return true;
}

static bool set_series(struct replicas_reader *u, struct point_result *p, const struct gangs *g)
{
    const uint64_t *n_times = g->n_replicas + g->n, *k = n_times + g->n;
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (n_times[i] > STEP_SERIES_MAX) {
            return false;
        }
        n += (size_t)n_times[i];
    }
    _cleanup_(freep) uint64_t *indices = get_columns(&u->r, 1, n);
    for (size_t i = 0, at = 0, done = 0; i < p->n_trials && indices != NULL; i++) {
        if (p->trials[i].has_ended) {
            if (!get_series(u, &p->trials[i], n_times[done], k[done], indices + at)) {
                return false;
            }
            at += (size_t)n_times[done++];
        }
    }
    return indices != NULL;
}

#define ROW_COLUMNS 5

/* `at`: the replica's number in the first column, each of which has n. */
static bool set_row(struct replicas_reader *u, const struct attempt_id *id, const uint64_t *at,
                    size_t n, struct replica_row *ret)
{
    const uint64_t index = at[0], role = at[n], failure = at[(ROW_COLUMNS + FIGURES_FAILURE) * n];
    if (index > UINT32_MAX || role >= ROLE_COUNT) {
        return false;
    }
    *ret = (struct replica_row){
        .id = {*id, (enum role)role, (uint32_t)index},
        .exit_code = (int)(int32_t)(uint32_t)at[2 * n],
        .signal = (int)(int32_t)(uint32_t)at[3 * n],
        .failure = text_of(&u->texts, failure),
        .log_bytes = at[4 * n],
    };
    return true;
}

static bool set_replica(struct replicas_reader *u, const uint64_t *at, size_t n,
                        struct replica_result *ret)
{
    const uint64_t *names = at + ROW_COLUMNS * n, *figures = names + FIGURES_TEXT_COUNT * n;
    for (size_t k = 0; k < figures_column_count(); k++) {
        if (!figures_column_set(ret, k, figures[k * n], u->result->hardware.len)) {
            return false;
        }
    }
    const uint64_t rule = names[FIGURES_RULE * n], method = names[FIGURES_METHOD * n];
    if ((rule == 0) != (method == 0)) {
        return false;
    }
    ret->node = text_of(&u->texts, names[FIGURES_NODE * n]);
    ret->summary.source.rule = text_of(&u->texts, rule);
    ret->summary.source.method = text_of(&u->texts, method);
    return true;
}

/* `at`: the first of the trial's n_replicas in columns of n numbers. */
static bool set_gang(struct replicas_reader *u, struct trial_result *t, const uint64_t *at,
                     size_t n_replicas, size_t n)
{
    struct attempt_row *row = &u->rows[t->row - u->rows];
    vec_reserve(&row->replicas, n_replicas);
    for (size_t i = 0; i < n_replicas; i++) {
        struct replica_row rep;
        if (!set_row(u, &row->id, at + i, n, &rep)) {
            return false;
        }
        *vec_push(&row->replicas) = rep;
    }
    t->replicas = xnew_array(struct replica_result, n_replicas);
    for (; t->n_replicas < n_replicas; t->n_replicas++) {
        struct replica_result *rep = &t->replicas[t->n_replicas];
        result_begin_replica(rep, &row->replicas.items[t->n_replicas]);
        if (!set_replica(u, at + t->n_replicas, n, rep)) {
            return false;
        }
    }
    return true;
}

static bool set_replicas(struct replicas_reader *u, struct point_result *p, const struct gangs *g)
{
    const size_t n = g->n_all,
                 n_columns = ROW_COLUMNS + FIGURES_TEXT_COUNT + figures_column_count();
    _cleanup_(freep) uint64_t *values = get_columns(&u->r, n_columns, n);
    if (values == NULL || !are_texts(&u->texts, values + ROW_COLUMNS * n, FIGURES_TEXT_COUNT * n)) {
        return false;
    }
    for (size_t i = 0, at = 0, done = 0; i < p->n_trials; i++) {
        if (p->trials[i].has_ended) {
            if (!set_gang(u, &p->trials[i], values + at, (size_t)g->n_replicas[done], n)) {
                return false;
            }
            at += (size_t)g->n_replicas[done++];
        }
    }
    return true;
}

static bool get_gangs(struct replicas_reader *u, const struct point_result *p, struct gangs *ret)
{
    struct gangs g = {0};
    size_t n_ended = 0;
    for (size_t i = 0; i < p->n_trials; i++) {
        n_ended += p->trials[i].has_ended;
    }
    if (!columns_get_count(&u->r, 4, n_ended, &g.n) || g.n != n_ended ||
        (g.n_replicas = get_columns(&u->r, 3, g.n)) == NULL) {
        return false;
    }
    for (size_t i = 0; i < g.n; i++) {
        if (g.n_replicas[i] > u->n_left) {
            free(g.n_replicas);
            return false;
        }
        u->n_left -= (size_t)g.n_replicas[i];
        g.n_all += (size_t)g.n_replicas[i];
    }
    *ret = g;
    return true;
}

/* Its trials have the rows that decide them, and these are the ones that had ended. */
static bool has_its_rows(const struct point_result *p)
{
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        if (t->has_ended != (t->row != NULL) ||
            (t->has_ended && (t->attempt != t->row->id.number || t->outcome != t->row->outcome))) {
            return false;
        }
    }
    return true;
}

static bool get_point_replicas(struct replicas_reader *u, struct point_result *p)
{
    struct gangs g;
    if (!has_its_rows(p) || !get_gangs(u, p, &g)) {
        return false;
    }
    const bool is_good = set_series(u, p, &g) && set_replicas(u, p, &g);
    free(g.n_replicas);
    return is_good;
}

static bool unpack_replicas(const struct buf *part, struct result *result, struct attempt_row *rows)
{
    struct replicas_reader u = {.result = result, .rows = rows, .n_left = FIGURES_MAX_REPLICAS};
    bool is_good = begin_part(part, &u.r, &u.texts) && get_hardware(&u) && get_times(&u);
    for (uint32_t i = 0; i < result->def->matrix.n_points && is_good; i++) {
        is_good = get_point_replicas(&u, &result->points[i]);
    }
    is_good = is_good && u.r.at == u.r.end;
    columns_list_done(&u.texts);
    free(u.times);
    return is_good;
}

/* ---- the whole ---- */

static int damaged(struct result *result, struct err *err)
{
    result_free(result);
    return err_set(err, EBADMSG, "the stored figures are not those of this run's definition");
}

int figures_unpack_points(const struct run_def *def, enum run_phase phase,
                          const struct figures_bytes *bytes, struct result **ret, struct err *err)
{
    struct result *result = result_begin(def, phase);
    if (!unpack_points(&bytes->points, result)) {
        return damaged(result, err);
    }
    result_end_points(result);
    *ret = result;
    return 0;
}

int figures_unpack(const struct run_def *def, enum run_phase phase,
                   const struct figures_bytes *bytes, struct attempt_row *rows, size_t n_rows,
                   struct result **ret, struct err *err)
{
    struct result *result = result_begin(def, phase);
    result_assign_rows(result, rows, n_rows);
    const bool is_simulated = result->simulated;
    if (!unpack_points(&bytes->points, result) || result->simulated != is_simulated ||
        !unpack_replicas(&bytes->replicas, result, rows)) {
        return damaged(result, err);
    }
    result_end(result);
    *ret = result;
    return 0;
}
