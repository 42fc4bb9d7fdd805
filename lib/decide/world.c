/* See world.h. */
#include "decide/world.h"

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_replicas(const void *pa, const void *pb)
{
    const struct replica_id *a = &((const struct observed_replica *)pa)->id;
    const struct replica_id *b = &((const struct observed_replica *)pb)->id;
    int r = attempt_id_compare(&a->attempt, &b->attempt);
    r = r != 0 ? r : compare_u32((uint32_t)a->role, (uint32_t)b->role);
    return r != 0 ? r : compare_u32(a->index, b->index);
}

struct trial *view_trial(const struct view *v, uint32_t point, uint32_t trial)
{
    return &v->trials[(size_t)point * v->repeats + trial];
}

static bool has_attempt(const struct view *v, const struct attempt_id *id)
{
    return id->point < v->def->matrix.n_points && id->trial < v->repeats &&
           id->number <= ATTEMPT_NUMBER_MAX;
}

static bool has_member(const struct view *v, const struct replica_id *id)
{
    return has_attempt(v, &id->attempt) && (unsigned)id->role < ROLE_COUNT &&
           id->index < v->def->matrix.points[id->attempt.point].replicas[id->role];
}

static void fold_row(struct trial *t, uint32_t attempt, enum attempt_outcome outcome,
                     const char *error)
{
    t->n_rows++;
    t->seen.is_status_live &= t->seen.last_status != (int64_t)attempt;
    if ((int64_t)attempt > t->seen.last_row) {
        t->seen.last_row = attempt;
    }
    if (outcome == ATTEMPT_VOID || (t->is_decided && t->decided_by < attempt)) {
        return;
    }
    t->is_decided = true;
    t->decided_by = attempt;
    t->outcome = outcome;
    t->error = error != NULL ? error : "";
}

static void count_trials(struct view *v)
{
    v->counts = (struct trial_counts){.total = v->def->n_slots};
    for (uint32_t i = 0; i < v->def->n_slots; i++) {
        const struct trial *t = view_trial(v, v->def->slots[i].point, v->def->slots[i].trial);
        v->counts.done += t->is_decided;
        v->counts.failed += t->is_decided && t->outcome != ATTEMPT_SUCCEEDED;
    }
}

static void fold_trials(struct view *v)
{
    const size_t n = (size_t)v->def->matrix.n_points * v->repeats;
    v->trials = xnew_array(struct trial, n);
    for (size_t i = 0; i < n; i++) {
        v->trials[i].seen = (struct attempt_seen){-1, -1, -1, false};
    }
    for (size_t i = 0; i < v->o->n_rows; i++) {
        const struct attempt_row *row = &v->o->rows[i];
        if (has_attempt(v, &row->id)) {
            fold_row(view_trial(v, row->id.point, row->id.trial), row->id.number, row->outcome,
                     row->error);
        }
    }
    const struct run_status *s = &v->o->status;
    if (s->has_current && has_attempt(v, &s->current)) {
        view_trial(v, s->current.point, s->current.trial)->seen.last_status = s->current.number;
    }
    count_trials(v);
}

static void sort_replicas(struct view *v)
{
    const size_t n = v->o->n_replicas;
    if (n == 0) {
        return;
    }
    struct observed_replica *sorted = xreallocarray(NULL, n, sizeof(*sorted));
    for (size_t i = 0; i < n; i++) {
        sorted[i] = v->o->replicas[i];
    }
    qsort(sorted, n, sizeof(*sorted), compare_replicas);
    for (size_t i = 0; i < n; i++) {
        if (has_member(v, &sorted[i].id)) {
            *vec_push(&v->replicas) = sorted[i];
        } else {
            *vec_push(&v->unknown) = sorted[i].id;
        }
    }
    free(sorted);
}

static bool has_row(const struct view *v, const struct replica_id *id)
{
    for (size_t i = 0; i < v->o->n_rows; i++) {
        const struct attempt_row *row = &v->o->rows[i];
        if (attempt_id_eq(&id->attempt, &row->id)) {
            return true;
        }
    }
    return false;
}

static void fold_live(struct attempt_seen *seen, uint32_t attempt)
{
    if ((int64_t)attempt > seen->last_live) {
        seen->last_live = attempt;
    }
    seen->is_status_live |= seen->last_status == (int64_t)attempt;
}

static void fold_gangs(struct view *v)
{
    const struct observed_replica *r = v->replicas.items;
    size_t end;
    for (size_t i = 0; i < v->replicas.len; i = end) {
        const struct replica_id *id = &r[i].id;
        for (end = i + 1; end < v->replicas.len; end++) {
            if (!attempt_id_eq(&r[end].id.attempt, &id->attempt)) {
                break;
            }
        }
        struct gang_view *g = vec_push(&v->gangs);
        *g = (struct gang_view){&r[i], end - i, has_row(v, id)};
        if (!g->has_row) {
            fold_live(&view_trial(v, id->attempt.point, id->attempt.trial)->seen,
                      id->attempt.number);
        }
    }
}

void view_init(struct view *v, const struct observed *observed)
{
    *v = (struct view){
        .o = observed,
        .def = observed->def,
        .repeats = (uint32_t)observed->def->spec->repeats,
    };
    fold_trials(v);
    sort_replicas(v);
    fold_gangs(v);
}

void view_done(struct view *v)
{
    vec_done(&v->replicas);
    vec_done(&v->unknown);
    vec_done(&v->gangs);
    free(v->trials);
    v->trials = NULL;
}

void view_add_row(struct view *v, struct gang_view *gang, enum attempt_outcome outcome,
                  const char *error)
{
    const struct replica_id *id = &gang->members[0].id;
    gang->has_row = true;
    fold_row(view_trial(v, id->attempt.point, id->attempt.trial), id->attempt.number, outcome,
             error);
    count_trials(v);
}
