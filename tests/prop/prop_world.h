/* A simulated world for reconcile: a cluster that starts replicas and fails them, a store that
 * acknowledges late, a driver that dies anywhere. Everything follows from one seed; what becomes of
 * a replica is a function of the seed and its id, so that two histories of one world can be
 * compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "decide/attempt_history.h"
#include "decide/observed.h"
#include "decide/plan.h"
#include "run_def_builder.h"

#define SIM_MAX_REPLICAS 64
#define SIM_MAX_ROWS 256

struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);
bool rng_percent(struct rng *r, uint32_t percent);

struct sim_replica {
    struct observed_replica seen;
    int64_t created_ms;
    bool is_foreign; /* made by nobody's plan */
};

struct sim_row {
    uint32_t point, trial, attempt;
    enum attempt_outcome outcome;
    char error[256];
    int64_t acknowledged_ms; /* the driver sees it from then on */
};

struct sim { /* plain data, but for `run`: a copy is another history */
    struct test_run *run;
    uint64_t fate_seed;
    int64_t now_ms;
    struct sim_replica replicas[SIM_MAX_REPLICAS];
    size_t n_replicas;
    struct sim_row rows[SIM_MAX_ROWS];
    size_t n_rows;
    struct run_status status;
    enum run_request request;
    int64_t ack_delay_ms;       /* of the store */
    bool is_whole_plan_applied; /* of the last sim_apply */
    bool lacks_place;           /* the cluster is full, and a replica cannot start */
    int64_t own_ms;             /* time in which the status did not say so */
};

/* A random definition: points, repeats, policies. */
void sim_init(struct sim *sim, struct test_run *run, struct rng *rng);

/* What the driver sees, in a random order. Valid till the world or the snapshot changes. */
struct snapshot {
    struct observed observed;
    struct observed_replica replicas[SIM_MAX_REPLICAS];
    struct attempt_row rows[SIM_MAX_ROWS];
    size_t n_rows;
    struct attempt_history history; /* of `rows`; attempt_history_done */
};
void sim_observe(const struct sim *sim, struct rng *order, struct snapshot *ret);

/* Applies the first `n` actions as a driver does: it stops behind a SAVE_RESULT that the store has
 * not acknowledged. Returns NULL, or the promise that an action broke. */
const char *sim_apply(struct sim *sim, const struct plan *plan, size_t n);

/* Time passes: replicas start, end, fail and vanish, as their fate wants. */
void sim_advance(struct sim *sim, int64_t ms);

/* Faults. */
void sim_kill_all(struct sim *sim);                     /* the machine went down */
void sim_add_foreign(struct sim *sim, struct rng *rng); /* somebody creates a replica */
void sim_lose_row(struct sim *sim, struct rng *rng);    /* the store forgets */
/* The driver died while the store was busy: its last save was kept, or it was not. */
void sim_settle_store(struct sim *sim, bool is_kept);
/* By the rows alone, counted apart from reconcile: a trial has failed for
 * good, and none succeeded. */
bool sim_point_is_given_up(const struct sim *sim, uint32_t point);
/* Likewise: the trials that its definition asks for are decided, or with a stop rule
 * those that it asks for. */
bool sim_point_has_enough(const struct sim *sim, uint32_t point);
bool sim_is_store_busy(const struct sim *sim);

/* The same replicas, rows and status (not the same events). */
bool sim_eq(const struct sim *a, const struct sim *b);
