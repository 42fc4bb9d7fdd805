/* The world as one call of reconcile sees it: rows and replicas folded into trials and gangs, and
 * kept up to date with the actions that the call plans. For reconcile.c alone. Pure.
 *
 * It borrows from `observed` and owns its arrays; it is made and freed within one call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decide/policy_attempt.h"
#include "decide/policy_end.h"
#include "decide/reconcile.h"

struct trial { /* what rows and replicas say about one trial */
    struct attempt_seen seen;
    uint32_t n_rows;
    bool is_decided;     /* by a row that is not Void */
    uint32_t decided_by; /* its attempt */
    enum attempt_outcome outcome;
    const char *error; /* borrowed from that row, or from the caller of world_add_row */
};

struct observed_gang {                      /* the observed members of one attempt */
    const struct observed_replica *members; /* by role, then index; in world.replicas */
    size_t n_members;
    bool has_row;
    bool is_cut_short; /* it never ended: it gets no row, and its number is not used again */
};

struct world {
    const struct observed *o;
    const struct run_def *def;
    uint32_t repeats;
    VEC(struct observed_replica) replicas; /* of the definition, sorted by id */
    VEC(struct replica_id) unknown;        /* the others, sorted */
    VEC(struct observed_gang) gangs;       /* of `replicas`, sorted */
    struct trial *trials;                  /* [point * repeats + trial] */
    struct trial_counts counts;
};

void world_init(struct world *w, const struct observed *observed);
void world_done(struct world *w);
struct trial *world_trial(const struct world *w, uint32_t point, uint32_t trial);
/* A row of `gang` is planned: it counts from now on. `error` must outlive the world. */
void world_add_row(struct world *w, struct observed_gang *gang, enum attempt_outcome outcome,
                   const char *error);
/* The gang, which has no row, never ends: the trial's next attempt gets a later number. */
void world_cut_short(struct world *w, struct observed_gang *gang);
