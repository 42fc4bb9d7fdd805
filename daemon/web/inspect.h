/* What daemon/web may see of the running daemon: its runs, the store, counters, health. Read only.
 * Implemented in daemon/inspect.c, so that daemon uses web and web not daemon.
 *
 * Everything is called from the loop's thread. Pointers are borrowed and valid until the callback
 * that got them returns to the loop: copy what must live longer. Runs that ended long ago are not here;
 * list_runs of the store has them all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/record.h"
#include "decide/reconcile.h"
#include "kube/client.h"
#include "spec/run_def.h"
#include "store/store.h"

struct daemon;

/* How far the current trial is, from trainer 0's log. */
struct daemon_progress {
    bool is_known;        /* a step of the current attempt was seen */
    struct replica_id id; /* of that trainer */
    uint32_t step;        /* of the last one, counted as its record says */
    bool is_warmup;
    int64_t step_ns;
    uint32_t samples; /* of that step */
    double loss;      /* NaN: none */
    int64_t seen_unix_ms;
};

/* One BenchmarkRun. */
struct daemon_run {
    const char *name, *uid;
    const char *benchmark;           /* the definition's name; the run's own for an inline one */
    const struct run_def *def;       /* NULL: not accepted (yet), or the store alone has it */
    int64_t created_unix_ms;         /* frozen; before that, its object created; 0: unknown */
    const struct run_status *status; /* never NULL; what the object's status was made from */
    bool is_active;                  /* its driver runs */
    bool is_stored;                  /* the store has a row of it */
    struct daemon_progress progress; /* of the active one */
};

/* So long after its end a run is here, unless the store does not have it: then as long as its object is. */
#define DAEMON_ENDED_MS (15 * 60 * 1000)
size_t daemon_n_runs(const struct daemon *d);
/* i < daemon_n_runs(); in the order in which they were or will be driven. */
void daemon_get_run(const struct daemon *d, size_t i, struct daemon_run *ret);
/* By name or uid; false: not there. */
bool daemon_find_run(const struct daemon *d, const char *name_or_uid, struct daemon_run *ret);

/* Since the start of the process. */
struct daemon_counters {
    uint64_t attempts[4]; /* saved, by enum attempt_outcome */
    uint64_t runs_finished;
    uint64_t pods_created, pods_deleted, pods_failed; /* failed: refused for good */
    uint64_t events_sent, events_dropped;
    uint64_t status_writes, status_failures;
    int64_t started_unix_ms;
};
void daemon_get_counters(const struct daemon *d, struct daemon_counters *ret);
void daemon_get_kube_stats(const struct daemon *d, struct kube_client_stats *ret);

const char *daemon_namespace(const struct daemon *d);
struct store *daemon_store(const struct daemon *d); /* never NULL; do not write */
/* /readyz: all watches have a first list and no lasting failure, and the Lease is ours. `why` (may
 * be NULL) says in one line what is missing. */
bool daemon_is_ready(const struct daemon *d, struct err *why);
/* /healthz: an answer proves that the loop turns, so it is false only once the Lease is lost or the
 * store has failed; `why` has the reason. */
bool daemon_is_healthy(const struct daemon *d, struct err *why);
