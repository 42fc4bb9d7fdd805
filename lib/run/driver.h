/* The driver: observe -> reconcile -> apply -> collect, over launcher.h and store.h and a clock,
 * until the run is finished. The same loop serves `benchctl run --local` and the daemon. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "decide/reconcile.h"
#include "run/launcher.h"
#include "run/wall_clock.h"
#include "spec/run_def.h"
#include "store/store.h"

/* What the live view and the plain log hear; every member may be NULL. Called from the loop.
 * Status, event and attempt are in the store already: a listener only shows them. */
struct driver_events {
    void (*status)(void *ctx, const struct run_status *status);
    void (*event)(void *ctx, enum event_type type, const char *reason, const char *note);
    void (*attempt)(void *ctx, const struct attempt_row *row); /* just saved */
    void (*record)(void *ctx, const struct replica_id *id, const struct record *record);
    /* The run is final or suspended, or the driver gave up: driver_finish has the answer. */
    void (*done)(void *ctx);
    void *ctx;
};

struct driver_params {
    struct uv_loop_s *loop;
    const struct run_def *def; /* borrowed */
    struct launcher *launcher; /* borrowed */
    struct store *store;       /* borrowed; the run is put and claimed already */
    struct wall_clock clock;
    struct driver_events events;
    struct run_status status; /* as stored: all zero for a new run */
};

struct driver;
int driver_new(const struct driver_params *params, struct driver **ret, struct err *err);
/* Begins on the loop; uv_run returns when the run is final or the driver gave up. */
void driver_start(struct driver *d);
/* Ask for cancellation; the run ends Cancelled with no replica left. */
void driver_cancel(struct driver *d);
/* Ask for suspension, on a new driver too: all replicas go and the driver finishes with the status
 * Suspended. Another driver, made with that status, goes on. */
void driver_suspend(struct driver *d);
/* After the loop or from `done` on: 0 and the final status, or the error that made the driver give up (a full disk, a
 * broken store); the stored rows are whole in any case and --resume goes on from them. */
int driver_finish(struct driver *d, struct run_status *ret, struct err *err);
void driver_free(struct driver *d);
