/* See attempt_history.h. */
#include "decide/attempt_history.h"

#include <math.h>

#include "base/mem.h"
#include "spec/stop_rule.h"

static bool has_failed(const struct trial *t)
{
    return t->is_decided && t->outcome != ATTEMPT_SUCCEEDED;
}

static bool has_value(const struct trial *t)
{
    return t->is_decided && t->throughput > 0;
}

bool point_tally_is_given_up(const struct point_tally *point)
{
    return point_is_given_up(point->done - point->failed, point->failed);
}

bool point_tally_is_open(const struct point_tally *point)
{
    return point->done < point->n_trials && !point_tally_is_given_up(point);
}

static void count_point(const struct point_tally *p, struct trial_counts *counts)
{
    counts->total += p->n_trials;
    counts->done += p->done;
    counts->failed += p->failed;
    if (point_tally_is_given_up(p)) {
        counts->n_given_up++;
        counts->not_run += p->n_trials - p->done;
    }
}

static void uncount_point(const struct point_tally *p, struct trial_counts *counts)
{
    counts->total -= p->n_trials;
    counts->done -= p->done;
    counts->failed -= p->failed;
    if (point_tally_is_given_up(p)) {
        counts->n_given_up--;
        counts->not_run -= p->n_trials - p->done;
    }
}

/* With a stop rule the number of trials follows from those that are decided. */
static void set_n_trials(struct point_tally *point, const struct spec *spec)
{
    point->n_trials = stop_rule_trials(spec, point->needed, point->done, point->n_values);
}

void trial_add_row(struct trial *t, const struct history_row *row, const struct spec *spec,
                   struct point_tally *point, struct trial_counts *counts)
{
    const uint32_t number = row->id.number;
    t->n_rows += row->outcome != ATTEMPT_INVALID;
    counts->invalid += row->outcome == ATTEMPT_INVALID;
    t->seen.is_status_live &= t->seen.last_status != (int64_t)number;
    if ((int64_t)number > t->seen.last_row) {
        t->seen.last_row = number;
    }
    if (!attempt_outcome_decides(row->outcome) || (t->is_decided && t->decided_by < number)) {
        return;
    }
    uncount_point(point, counts);
    point->done -= t->is_decided;
    point->failed -= has_failed(t);
    point->n_values -= has_value(t);
    t->is_decided = true;
    t->decided_by = number;
    t->outcome = row->outcome;
    t->error = row->error != NULL ? row->error : "";
    t->throughput = row->outcome == ATTEMPT_SUCCEEDED ? row->throughput : NAN;
    point->done += t->is_decided;
    point->failed += has_failed(t);
    point->n_values += has_value(t);
    set_n_trials(point, spec);
    count_point(point, counts);
}

size_t attempt_history_place(const struct attempt_history *p, uint32_t point, uint32_t trial)
{
    return (size_t)point * (size_t)p->def->spec->repeats + trial;
}

void attempt_history_init(struct attempt_history *p, const struct run_def *def)
{
    *p = (struct attempt_history){.def = def, .counts.total = def->n_slots};
    const size_t n = attempt_history_place(p, def->matrix.n_points, 0);
    p->trials = xnew_array(struct trial, n);
    for (size_t i = 0; i < n; i++) {
        p->trials[i].seen = (struct attempt_seen){-1, -1, -1, false};
        p->trials[i].throughput = NAN;
    }
    p->points = xnew_array(struct point_tally, def->matrix.n_points);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        p->points[i].needed = (uint32_t)def->spec->repeats;
        p->points[i].n_trials = p->points[i].needed;
    }
}

void attempt_history_done(struct attempt_history *p)
{
    vec_each (struct history_attempt, a, &p->attempts) {
        free(a->error);
    }
    vec_done(&p->attempts);
    free(p->trials);
    free(p->points);
}

bool attempt_history_may_have(const struct attempt_history *p, const struct attempt_id *id)
{
    return id->point < p->def->matrix.n_points && id->trial < p->def->spec->repeats &&
           id->number <= ATTEMPT_NUMBER_MAX;
}

static bool is_open(const struct attempt_history *p, const struct slot *slot)
{
    return !p->trials[attempt_history_place(p, slot->point, slot->trial)].is_decided &&
           point_tally_is_open(&p->points[slot->point]);
}

/* The first stage of a point has changed, or was completed. */
static void apply_stop_rule(struct attempt_history *p, uint32_t point)
{
    const struct spec *spec = p->def->spec;
    if (!spec->stop.is_set) {
        return;
    }
    _cleanup_(freep) double *first = xnew_array(double, (size_t)spec->min_repeats);
    size_t n = 0;
    for (uint32_t i = 0; i < spec->repeats && n < (size_t)spec->min_repeats; i++) {
        const struct trial *t = &p->trials[attempt_history_place(p, point, i)];
        if (has_value(t)) {
            first[n++] = t->throughput;
        }
    }
    struct point_tally *tally = &p->points[point];
    uncount_point(tally, &p->counts);
    tally->needed = stop_rule_needed(spec, first, n);
    set_n_trials(tally, spec);
    count_point(tally, &p->counts);
}

void attempt_history_add(struct attempt_history *p, const struct history_row *row)
{
    const struct attempt_id *id = &row->id;
    if (!attempt_history_may_have(p, id)) {
        return;
    }
    struct trial *t = &p->trials[attempt_history_place(p, id->point, id->trial)];
    struct history_attempt *a = vec_push(&p->attempts);
    *a = (struct history_attempt){*id, row->outcome,
                                  row->error == NULL ? NULL : xstrdup(row->error), t->newest};
    t->newest = p->attempts.len;
    struct history_row kept = *row;
    kept.error = a->error;
    struct point_tally *point = &p->points[id->point];
    const bool was_open = point_tally_is_open(point);
    trial_add_row(t, &kept, p->def->spec, point, &p->counts);
    apply_stop_rule(p, id->point);
    if (!was_open && point_tally_is_open(point)) {
        p->first_open = 0; /* rows came in another order than attempts end */
    }
    while (p->first_open < p->def->n_slots && !is_open(p, &p->def->slots[p->first_open])) {
        p->first_open++;
    }
}

const struct history_attempt *attempt_history_find(const struct attempt_history *p,
                                                   const struct attempt_id *id)
{
    if (!attempt_history_may_have(p, id)) {
        return NULL;
    }
    size_t at = p->trials[attempt_history_place(p, id->point, id->trial)].newest;
    while (at != 0 && p->attempts.items[at - 1].id.number != id->number) {
        at = p->attempts.items[at - 1].older;
    }
    return at == 0 ? NULL : &p->attempts.items[at - 1];
}
