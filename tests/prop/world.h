/* A model world for reconcile: a cluster that starts replicas and fails them, a store that
 * acknowledges late, a driver that dies anywhere. Everything follows from one seed; what becomes of
 * a replica is a function of the seed and its id, so that two histories of one world can be
 * compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "decide/reconcile.h"
#include "run_def_builder.h"

#define WORLD_MAX_REPLICAS 64
#define WORLD_MAX_ROWS 256

struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);
bool rng_percent(struct rng *r, uint32_t percent);

struct world_replica {
    struct observed_replica seen;
    int64_t created_ms;
    bool is_foreign; /* made by nobody's plan */
};

struct world_row {
    uint32_t point, trial, attempt;
    enum attempt_outcome outcome;
    char error[256];
    int64_t acknowledged_ms; /* the driver sees it from then on */
};

struct world { /* plain data, but for `run`: a copy is another history */
    struct test_run *run;
    uint64_t fate_seed;
    int64_t now_ms;
    struct world_replica replicas[WORLD_MAX_REPLICAS];
    size_t n_replicas;
    struct world_row rows[WORLD_MAX_ROWS];
    size_t n_rows;
    struct run_status status;
    enum run_request request;
    int64_t ack_delay_ms;       /* of the store */
    bool is_whole_plan_applied; /* of the last world_apply */
};

/* A random definition: points, repeats, policies. */
void world_init(struct world *w, struct test_run *run, struct rng *rng);

/* What the driver sees, in a random order. Valid till the world or the snapshot changes. */
struct snapshot {
    struct observed observed;
    struct observed_replica replicas[WORLD_MAX_REPLICAS];
    struct attempt_row rows[WORLD_MAX_ROWS];
};
void world_observe(const struct world *w, struct rng *order, struct snapshot *ret);

/* Applies the first `n` actions as a driver does: it stops behind a SAVE_RESULT that the store has
 * not acknowledged. Returns NULL, or the promise that an action broke. */
const char *world_apply(struct world *w, const struct plan *plan, size_t n);

/* Time passes: replicas start, end, fail and vanish, as their fate wants. */
void world_advance(struct world *w, int64_t ms);

/* Faults. */
void world_kill_all(struct world *w);                     /* the machine went down */
void world_add_foreign(struct world *w, struct rng *rng); /* somebody creates a replica */
void world_lose_row(struct world *w, struct rng *rng);    /* the store forgets */
/* The driver died while the store was busy: its last save was kept, or it was not. */
void world_settle_store(struct world *w, bool is_kept);
bool world_is_store_busy(const struct world *w);

/* The same replicas, rows and status (not the same events). */
bool world_eq(const struct world *a, const struct world *b);

/* What the driver sees as a scenario for tests/golden/reconcile. */
void world_print(const struct world *w, struct buf *out);
