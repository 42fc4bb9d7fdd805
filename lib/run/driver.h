/* The driver: observes, reconciles, applies and collects, over launcher.h, store.h and a clock,
 * until the run is finished. `benchctl run --local` and benchd use the same driver. */
#pragma once

#include "base/err.h"
#include "core/phase.h"
#include "run/launcher.h"
#include "spec/run_def.h"
#include "store/store.h"

/* The date as the driver sees it. All zero: that of clock_steady_unix_ms, which setting the clock
 * does not change. */
struct wall_clock {
    int64_t (*unix_ms)(void *ctx);
    void *ctx;
};

/* What the driver reports to the live view and the plain log, from the event loop. Every member may
 * be NULL. Statuses, events and attempts are stored before they are reported. */
struct driver_events {
    void (*status)(void *ctx, const struct run_status *status);
    void (*event)(void *ctx, enum event_type type, const char *reason, const char *note);
    void (*attempt)(void *ctx, const struct attempt_row *row); /* after it was saved */
    void (*record)(void *ctx, const struct replica_id *id, const struct record *record);
    /* The run is final or suspended, or the driver gave up; driver_finish says which. */
    void (*done)(void *ctx);
    void *ctx;
    void (*output)(void *ctx, const struct replica_id *id, const struct replica_text *text);
};

struct driver_params {
    struct uv_loop_s *loop;
    const struct run_def *def; /* borrowed */
    struct launcher *launcher; /* borrowed */
    struct store *store;       /* borrowed; holds the run, and it is claimed */
    struct wall_clock clock;
    struct driver_events events;
    struct run_status status;      /* as stored: all zero for a new run */
    struct prometheus *prometheus; /* borrowed; NULL: spec.metrics are unknown */
    bool waits_for_space;          /* on a full disk; else it gives up */
    const char *where;             /* borrowed; as observed.where: how benchctl finds the run */
    int64_t resync_ms;             /* a pass runs so often even if nothing is heard; 0: 60 s */
};

struct driver;
int driver_new(const struct driver_params *params, struct driver **ret, struct err *err);
/* Starts driving; uv_run returns when the run is final or the driver gave up. */
void driver_start(struct driver *d);
/* Requests cancellation: the run ends as Cancelled, with no replica left. */
void driver_cancel(struct driver *d);
/* Requests suspension: the driver removes all replicas and finishes with the status Suspended. A
 * new driver with that status continues the run. A cancellation is not replaced. May be called
 * before driver_start. */
void driver_suspend(struct driver *d);
/* The results of the run are not wanted any more: removes all replicas and writes nothing to the
 * store, which may be full. driver_finish answers -ECANCELED. */
void driver_abandon(struct driver *d);
/* From `done` on, or after the loop: 0 and the final status, or the error that made the driver give
 * up (a full disk, a broken store). Stored rows are complete in any case, and a new driver
 * continues from them. A driver that has given up has removed nothing: replicas stay as long as the
 * launcher lets them, pods longer than local processes, and the new driver stores what they left.
 */
int driver_finish(struct driver *d, struct run_status *ret, struct err *err);
void driver_free(struct driver *d);
