/* See decision_view.h. */
#include "decide/decision_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

const struct trial *decision_view_trial(const struct decision_view *w, uint32_t point,
                                        uint32_t trial)
{
    const size_t place = attempt_history_place(w->o->history, point, trial);
    const struct touched_trial *t = vec_find(&w->touched, it, it->place == place);
    return t != NULL ? &t->trial : &w->o->history->trials[place];
}

/* The same, to change it. */
static struct trial *touch(struct decision_view *w, uint32_t point, uint32_t trial)
{
    const size_t place = attempt_history_place(w->o->history, point, trial);
    struct touched_trial *t = vec_find(&w->touched, it, it->place == place);
    if (t == NULL) {
        t = vec_push(&w->touched);
        *t = (struct touched_trial){place, w->o->history->trials[place]};
    }
    return &t->trial;
}

static struct point_tally *touch_point(struct decision_view *w, uint32_t point)
{
    struct touched_point *t = vec_find(&w->touched_points, it, it->point == point);
    if (t == NULL) {
        t = vec_push(&w->touched_points);
        *t = (struct touched_point){point, w->o->history->points[point]};
    }
    return &t->tally;
}

bool decision_view_is_open(const struct decision_view *w, uint32_t point)
{
    const struct touched_point *t = vec_find(&w->touched_points, it, it->point == point);
    return point_tally_is_open(t != NULL ? &t->tally : &w->o->history->points[point]);
}

static bool has_member(const struct decision_view *w, const struct replica_id *id)
{
    return attempt_history_may_have(w->o->history, &id->attempt) &&
           (unsigned)id->role < ROLE_COUNT &&
           id->index < w->def->matrix.points[id->attempt.point].replicas[id->role];
}

static void fold_status(struct decision_view *w)
{
    w->counts = w->o->history->counts;
    for (size_t i = 0; i < LANES_MAX; i++) {
        const struct run_lane *lane = &w->o->status.lanes[i];
        const struct attempt_id *id = &lane->current;
        if (lane->has_current && attempt_history_may_have(w->o->history, id)) {
            touch(w, id->point, id->trial)->seen.last_status = id->number;
        }
    }
}

/* Sorted, and all of the definition. */
static bool are_in_order(const struct decision_view *w, const struct observed_replica *replicas,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((i > 0 && compare_replicas(&replicas[i - 1], &replicas[i]) > 0) ||
            !has_member(w, &replicas[i].id)) {
            return false;
        }
    }
    return true;
}

/* There may be ten thousand, and a launcher has them in order: it is only after a restart
 * that they are copied. */
static void sort_replicas(struct decision_view *w)
{
    const size_t n = w->o->n_replicas;
    w->replicas = w->o->replicas;
    w->n_replicas = n;
    if (are_in_order(w, w->replicas, n)) {
        return;
    }
    w->replicas = w->sorted = xreallocarray(NULL, n, sizeof(*w->sorted));
    memcpy(w->sorted, w->o->replicas, n * sizeof(*w->sorted));
    qsort(w->sorted, n, sizeof(*w->sorted), compare_replicas);
    w->n_replicas = 0;
    for (size_t i = 0; i < n; i++) {
        if (has_member(w, &w->sorted[i].id)) {
            w->sorted[w->n_replicas++] = w->sorted[i];
        } else {
            *vec_push(&w->unknown) = w->sorted[i].id;
        }
    }
}

static void fold_live(struct attempt_seen *seen, uint32_t attempt)
{
    if ((int64_t)attempt > seen->last_live) {
        seen->last_live = attempt;
    }
    seen->is_status_live |= seen->last_status == (int64_t)attempt;
}

static void fold_gangs(struct decision_view *w)
{
    const struct observed_replica *r = w->replicas;
    size_t end;
    for (size_t i = 0; i < w->n_replicas; i = end) {
        const struct replica_id *id = &r[i].id;
        for (end = i + 1; end < w->n_replicas; end++) {
            if (!attempt_id_eq(&r[end].id.attempt, &id->attempt)) {
                break;
            }
        }
        struct observed_gang *g = vec_push(&w->gangs);
        *g = (struct observed_gang){
            &r[i], end - i, attempt_history_find(w->o->history, &id->attempt) != NULL, false};
        if (!g->has_row) {
            fold_live(&touch(w, id->attempt.point, id->attempt.trial)->seen, id->attempt.number);
        }
    }
}

void decision_view_init(struct decision_view *w, const struct observed *observed)
{
    *w = (struct decision_view){
        .o = observed,
        .def = observed->def,
    };
    fold_status(w);
    sort_replicas(w);
    fold_gangs(w);
}

void decision_view_done(struct decision_view *w)
{
    free(w->sorted);
    vec_done(&w->unknown);
    vec_done(&w->gangs);
    vec_done(&w->touched);
    vec_done(&w->touched_points);
}

void decision_view_add_row(struct decision_view *w, struct observed_gang *gang,
                           enum attempt_outcome outcome, const char *error)
{
    const struct replica_id *id = &gang->members[0].id;
    gang->has_row = true;
    const struct history_row row = {
        .id = id->attempt, .outcome = outcome, .error = error, .throughput = NAN};
    trial_add_row(touch(w, id->attempt.point, id->attempt.trial), &row, w->def->spec,
                  touch_point(w, id->attempt.point), &w->counts);
}

void decision_view_cut_short(struct decision_view *w, struct observed_gang *gang)
{
    const struct attempt_id *id = &gang->members[0].id.attempt;
    struct attempt_seen *seen = &touch(w, id->point, id->trial)->seen;
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
