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

struct trial *world_trial(const struct world *w, uint32_t point, uint32_t trial)
{
    return &w->trials[(size_t)point * w->repeats + trial];
}

static bool has_attempt(const struct world *w, const struct attempt_id *id)
{
    return id->point < w->def->matrix.n_points && id->trial < w->repeats &&
           id->number <= ATTEMPT_NUMBER_MAX;
}

static bool has_member(const struct world *w, const struct replica_id *id)
{
    return has_attempt(w, &id->attempt) && (unsigned)id->role < ROLE_COUNT &&
           id->index < w->def->matrix.points[id->attempt.point].replicas[id->role];
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

static void count_trials(struct world *w)
{
    w->counts = (struct trial_counts){.total = w->def->n_slots};
    for (uint32_t i = 0; i < w->def->n_slots; i++) {
        const struct trial *t = world_trial(w, w->def->slots[i].point, w->def->slots[i].trial);
        w->counts.done += t->is_decided;
        w->counts.failed += t->is_decided && t->outcome != ATTEMPT_SUCCEEDED;
    }
}

static void fold_trials(struct world *w)
{
    const size_t n = (size_t)w->def->matrix.n_points * w->repeats;
    w->trials = xnew_array(struct trial, n);
    for (size_t i = 0; i < n; i++) {
        w->trials[i].seen = (struct attempt_seen){-1, -1, -1, false};
    }
    for (size_t i = 0; i < w->o->n_rows; i++) {
        const struct attempt_row *row = &w->o->rows[i];
        if (has_attempt(w, &row->id)) {
            fold_row(world_trial(w, row->id.point, row->id.trial), row->id.number, row->outcome,
                     row->error);
        }
    }
    const struct run_status *s = &w->o->status;
    if (s->has_current && has_attempt(w, &s->current)) {
        world_trial(w, s->current.point, s->current.trial)->seen.last_status = s->current.number;
    }
    count_trials(w);
}

static void sort_replicas(struct world *w)
{
    const size_t n = w->o->n_replicas;
    if (n == 0) {
        return;
    }
    struct observed_replica *sorted = xreallocarray(NULL, n, sizeof(*sorted));
    for (size_t i = 0; i < n; i++) {
        sorted[i] = w->o->replicas[i];
    }
    qsort(sorted, n, sizeof(*sorted), compare_replicas);
    for (size_t i = 0; i < n; i++) {
        if (has_member(w, &sorted[i].id)) {
            *vec_push(&w->replicas) = sorted[i];
        } else {
            *vec_push(&w->unknown) = sorted[i].id;
        }
    }
    free(sorted);
}

static bool has_row(const struct world *w, const struct replica_id *id)
{
    for (size_t i = 0; i < w->o->n_rows; i++) {
        const struct attempt_row *row = &w->o->rows[i];
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

static void fold_gangs(struct world *w)
{
    const struct observed_replica *r = w->replicas.items;
    size_t end;
    for (size_t i = 0; i < w->replicas.len; i = end) {
        const struct replica_id *id = &r[i].id;
        for (end = i + 1; end < w->replicas.len; end++) {
            if (!attempt_id_eq(&r[end].id.attempt, &id->attempt)) {
                break;
            }
        }
        struct observed_gang *g = vec_push(&w->gangs);
        *g = (struct observed_gang){&r[i], end - i, has_row(w, id), false};
        if (!g->has_row) {
            fold_live(&world_trial(w, id->attempt.point, id->attempt.trial)->seen,
                      id->attempt.number);
        }
    }
}

void world_init(struct world *w, const struct observed *observed)
{
    *w = (struct world){
        .o = observed,
        .def = observed->def,
        .repeats = (uint32_t)observed->def->spec->repeats,
    };
    fold_trials(w);
    sort_replicas(w);
    fold_gangs(w);
}

void world_done(struct world *w)
{
    vec_done(&w->replicas);
    vec_done(&w->unknown);
    vec_done(&w->gangs);
    free(w->trials);
    w->trials = NULL;
}

void world_add_row(struct world *w, struct observed_gang *gang, enum attempt_outcome outcome,
                   const char *error)
{
    const struct replica_id *id = &gang->members[0].id;
    gang->has_row = true;
    fold_row(world_trial(w, id->attempt.point, id->attempt.trial), id->attempt.number, outcome,
             error);
    count_trials(w);
}

void world_cut_short(struct world *w, struct observed_gang *gang)
{
    const struct attempt_id *id = &gang->members[0].id.attempt;
    struct attempt_seen *seen = &world_trial(w, id->point, id->trial)->seen;
    gang->is_cut_short = true;
    if (seen->last_status < (int64_t)id->number) {
        seen->last_status = id->number; /* as if the status named it */
    }
    seen->is_status_live = false;
    seen->last_live = -1;
    vec_each (const struct observed_gang, g, &w->gangs) {
        const struct attempt_id *other = &g->members[0].id.attempt;
        if (!g->has_row && !g->is_cut_short && other->point == id->point &&
            other->trial == id->trial) {
            fold_live(seen, other->number);
        }
    }
}
