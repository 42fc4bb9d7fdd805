/* See past.h. */
#include "decide/past.h"

#include <stdlib.h>

#include "base/mem.h"

static bool has_failed(const struct trial *t)
{
    return t->is_decided && t->outcome != ATTEMPT_SUCCEEDED;
}

void trial_add_row(struct trial *t, uint32_t number, enum attempt_outcome outcome,
                   const char *error, struct trial_counts *counts)
{
    t->n_rows++;
    t->seen.is_status_live &= t->seen.last_status != (int64_t)number;
    if ((int64_t)number > t->seen.last_row) {
        t->seen.last_row = number;
    }
    if (outcome == ATTEMPT_VOID || (t->is_decided && t->decided_by < number)) {
        return;
    }
    counts->done -= t->is_decided;
    counts->failed -= has_failed(t);
    t->is_decided = true;
    t->decided_by = number;
    t->outcome = outcome;
    t->error = error != NULL ? error : "";
    counts->done += t->is_decided;
    counts->failed += has_failed(t);
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
}

void past_done(struct past *p)
{
    vec_each (struct past_attempt, a, &p->attempts) {
        free(a->error);
    }
    vec_done(&p->attempts);
    free(p->trials);
    p->trials = NULL;
}

bool past_may_have(const struct past *p, const struct attempt_id *id)
{
    return id->point < p->def->matrix.n_points && (int64_t)id->trial < p->def->spec->repeats &&
           id->number <= ATTEMPT_NUMBER_MAX;
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
    trial_add_row(t, id->number, outcome, a->error, &p->counts);
    while (p->first_open < p->def->n_slots) {
        const struct slot *slot = &p->def->slots[p->first_open];
        if (!p->trials[past_place(p, slot->point, slot->trial)].is_decided) {
            break;
        }
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
