/* What a driver is given: the run, what it works with, and where it reports. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
