/* See past.h. */
#include "decide/past.h"

#include <stdlib.h>

#include "base/mem.h"

static bool has_failed(const struct trial *t)
{
    return t->is_decided && t->outcome != ATTEMPT_SUCCEEDED;
}

bool point_tally_is_given_up(const struct point_tally *point)
{
    return point_is_given_up(point->done - point->failed, point->failed);
}

static void count_point(const struct point_tally *p, struct trial_counts *counts)
{
    counts->done += p->done;
    counts->failed += p->failed;
    if (point_tally_is_given_up(p)) {
        counts->n_given_up++;
        counts->not_run += p->n_trials - p->done;
    }
}

static void uncount_point(const struct point_tally *p, struct trial_counts *counts)
{
    counts->done -= p->done;
    counts->failed -= p->failed;
    if (point_tally_is_given_up(p)) {
        counts->n_given_up--;
        counts->not_run -= p->n_trials - p->done;
    }
}

void trial_add_row(struct trial *t, uint32_t number, enum attempt_outcome outcome,
                   const char *error, struct point_tally *point, struct trial_counts *counts)
{
    t->n_rows++;
    t->seen.is_status_live &= t->seen.last_status != (int64_t)number;
    if ((int64_t)number > t->seen.last_row) {
        t->seen.last_row = number;
    }
    if (outcome == ATTEMPT_VOID || (t->is_decided && t->decided_by < number)) {
        return;
    }
    uncount_point(point, counts);
    point->done -= t->is_decided;
    point->failed -= has_failed(t);
    t->is_decided = true;
    t->decided_by = number;
    t->outcome = outcome;
    t->error = error != NULL ? error : "";
    point->done += t->is_decided;
    point->failed += has_failed(t);
    count_point(point, counts);
}

size_t past_place(const struct past *p, uint32_t point, uint32_t trial)
{
    return (size_t)point * (size_t)p->def->spec->repeats + trial;
}

void past_init(struct past *p, const struct run_def *def)
{
    *p = (struct past){.def = def, .counts.total = def->n_slots};
    const size_t n = (size_t)def->matrix.n_points * (size_t)def->spec->repeats;
    p->trials = xnew_array(struct trial, n + 1);
    for (size_t i = 0; i < n; i++) {
        p->trials[i].seen = (struct attempt_seen){-1, -1, -1, false};
    }
    p->points = xnew_array(struct point_tally, def->matrix.n_points + 1);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        p->points[i].n_trials = (uint32_t)def->spec->repeats;
    }
}

void past_done(struct past *p)
{
    vec_each (struct past_attempt, a, &p->attempts) {
        free(a->error);
    }
    vec_done(&p->attempts);
    free(p->trials);
    free(p->points);
    p->trials = NULL;
    p->points = NULL;
}

bool past_may_have(const struct past *p, const struct attempt_id *id)
{
    return id->point < p->def->matrix.n_points && (int64_t)id->trial < p->def->spec->repeats &&
           id->number <= ATTEMPT_NUMBER_MAX;
}

static bool is_open(const struct past *p, const struct slot *slot)
{
    return !p->trials[past_place(p, slot->point, slot->trial)].is_decided &&
           !point_tally_is_given_up(&p->points[slot->point]);
}

void past_add(struct past *p, const struct attempt_id *id, enum attempt_outcome outcome,
              const char *error)
{
    if (!past_may_have(p, id)) {
        return;
    }
    struct trial *t = &p->trials[past_place(p, id->point, id->trial)];
    struct past_attempt *a = vec_push(&p->attempts);
    *a = (struct past_attempt){*id, outcome, error == NULL ? NULL : xstrdup(error), t->newest};
    t->newest = p->attempts.len;
    struct point_tally *point = &p->points[id->point];
    const bool was_given_up = point_tally_is_given_up(point);
    trial_add_row(t, id->number, outcome, a->error, point, &p->counts);
    if (was_given_up && !point_tally_is_given_up(point)) {
        p->first_open = 0; /* rows came in another order than attempts end */
    }
    while (p->first_open < p->def->n_slots && !is_open(p, &p->def->slots[p->first_open])) {
        p->first_open++;
    }
}

const struct past_attempt *past_find(const struct past *p, const struct attempt_id *id)
{
    if (!past_may_have(p, id)) {
        return NULL;
    }
    size_t at = p->trials[past_place(p, id->point, id->trial)].newest;
    while (at != 0 && p->attempts.items[at - 1].id.number != id->number) {
        at = p->attempts.items[at - 1].older;
    }
    return at == 0 ? NULL : &p->attempts.items[at - 1];
}
