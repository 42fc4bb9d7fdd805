/* What one call of reconcile sees: the history and the replicas folded into trials and
 * gangs, and kept up to date with the actions that the call plans. For reconcile.c alone. Pure.
 *
 * It borrows from `observed` and owns its arrays; it is made and freed within one call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decide/attempt_history.h"
#include "decide/observed.h"

/* A trial that replicas or planned rows have changed: the history stays as it is. */
struct touched_trial {
    size_t place; /* as in history.trials */
    struct trial trial;
};

struct touched_point { /* likewise */
    uint32_t point;
    struct point_tally tally;
};

struct observed_gang {                      /* the observed members of one attempt */
    const struct observed_replica *members; /* by role, then index; in view.replicas */
    size_t n_members;
    bool has_row;
    bool is_cut_short; /* it never ended: it gets no row, and its number is not used again */
};

struct decision_view {
    const struct observed *o;
    const struct run_def *def;
    const struct observed_replica *replicas; /* of the definition, sorted by id */
    size_t n_replicas;
    struct observed_replica *sorted;   /* owned; NULL: the observed ones are such a list already */
    VEC(struct replica_id) unknown;    /* the others, sorted */
    VEC(struct observed_gang) gangs;   /* of `replicas`, sorted */
    VEC(struct touched_trial) touched; /* those of the gangs and of the status: a few */
    VEC(struct touched_point) touched_points;
    struct trial_counts counts;
};

void decision_view_init(struct decision_view *w, const struct observed *observed);
void decision_view_done(struct decision_view *w);
/* Valid until the next call that changes the view. */
const struct trial *decision_view_trial(const struct decision_view *w, uint32_t point,
                                        uint32_t trial);
bool decision_view_is_open(const struct decision_view *w, uint32_t point); /* point_tally_is_open */
/* A row of `gang` is planned: it counts from now on. `error` must outlive the view. */
void decision_view_add_row(struct decision_view *w, struct observed_gang *gang,
                           enum attempt_outcome outcome, const char *error);
/* The gang, which has no row, never ends: the trial's next attempt gets a later number. */
void decision_view_cut_short(struct decision_view *w, struct observed_gang *gang);
