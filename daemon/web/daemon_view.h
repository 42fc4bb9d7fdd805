/* What daemon/web may see of the running daemon, and how it gets from the daemon's loop to the
 * threads of daemon/web:
 *
 *   daemon's loop   makes a list of its runs when one changed    publish_view (daemon/publish.c)
 *                   publishes it with the current facts          daemon_view_publish
 *   other threads   copy the facts and reference the list        daemon_view_read
 *
 * A list is never changed after it was published. The mutex guards only the exchange of the pointer
 * and the copy of struct daemon_facts, so no thread waits for the work of another. Only plain data
 * crosses: no pointer of the daemon's own is in it. Runs that ended long ago are not here;
 * list_runs of the store has them all. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/phase.h"
#include "core/record.h"
#include "decide/policy_retention.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "spec/spec.h"
#include "store/store.h"

/* How far the current trial is, from trainer 0's log. */
struct daemon_progress {
    bool is_known;        /* a step of the current attempt was seen */
    struct replica_id id; /* that trainer */
    uint32_t step;        /* the number in its last record */
    bool is_warmup;
    int64_t step_ns;
    uint32_t samples; /* the samples of that step */
    double loss;      /* NaN if the step has none */
    int64_t seen_unix_ms;
};

/* What /metrics needs of a frozen definition. */
struct daemon_frozen {
    bool is_known; /* false: not accepted (yet), the rest is zero */
    bool is_rehearsal;
    int64_t cpus, created_unix_ms;
    uint32_t n_points; /* swept ones */
    int64_t steps;     /* measured ones of a trial */
    enum baseline_kind baseline;
};

/* What a run waits for although it could go on. */
struct daemon_wait {
    char reason[64]; /* CamelCase, as in its conditions: QuotaExceeded; "": it waits for nothing */
    int64_t since_unix_ms;
};

/* One BenchmarkRun. */
struct daemon_run {
    atomic_uint n_users;     /* lists that hold it */
    char *name, *uid;        /* owned, as all strings */
    char *benchmark;         /* the definition's name; the run's own for an inline one */
    int64_t created_unix_ms; /* frozen; before that, its object created; 0: unknown */
    struct daemon_frozen frozen;
    struct run_status status;        /* what the object's status was made from */
    bool is_active;                  /* its driver runs */
    bool is_stored;                  /* the store has a row of it */
    struct daemon_progress progress; /* zero unless the run is active */
    struct daemon_wait wait;
    /* When it last got further: a trial was saved, or trainer 0 ended a step. Of the active one,
     * from the moment when this process began to drive it; else 0. */
    int64_t advanced_unix_ms;
};
/* Returns a run with one user. It copies `name`, `uid` and `benchmark`. */
struct daemon_run *daemon_run_new(const char *name, const char *uid, const char *benchmark);
struct daemon_run *daemon_run_ref(struct daemon_run *run);
void daemon_run_unref(struct daemon_run *run); /* accepts NULL */

/* A run is shown this long after its end; a refused run as long as its object exists. */
#define DAEMON_ENDED_MS (15 * 60 * 1000)

/* The runs, in the order in which they were or will be driven. */
struct daemon_runs {
    atomic_uint n_users;
    VEC(struct daemon_run *) list;
};
struct daemon_runs *daemon_runs_new(void); /* with one user; push items that you have referenced */
void daemon_runs_unref(struct daemon_runs *runs); /* accepts NULL */
/* Returns true if both lists have the same runs, unchanged and in the same order. */
bool daemon_runs_are_same(const struct daemon_runs *a, const struct daemon_runs *b);
/* Finds a run by its name or uid. Returns NULL if the list does not have it. */
const struct daemon_run *daemon_runs_find(const struct daemon_runs *runs, const char *name_or_uid);

#define DAEMON_N_PHASES (RUN_SUSPENDED + 1)
#define DAEMON_N_WATCHES 3

/* Since the start of the process. */
struct daemon_counters {
    uint64_t attempts[ATTEMPT_OUTCOME_COUNT];  /* saved, by enum attempt_outcome */
    uint64_t runs_finished[DAEMON_N_PHASES];   /* by the phase in which they ended */
    uint64_t archived, archive_failures;       /* of the archive: runs, and failed jobs */
    uint64_t runs_deleted;                     /* their rows, after their objects */
    uint64_t runs_erased[RETENTION_N_REASONS]; /* by enum retention_reason */
    uint64_t pods_created, pods_failed;        /* failed: refused for good */
    int64_t started_unix_ms;
};

/* Copied as a whole at every look of the daemon. */
struct daemon_facts {
    int64_t look_ns; /* when it looked, CLOCK_MONOTONIC; 0: not started yet */
    /* All watches have a first list and no lasting failure, and the Lease is ours; else the text
     * says what is missing. */
    bool is_ready;
    struct err not_ready;
    /* False once the Lease is lost or the store has failed; the text has the reason. */
    bool is_healthy;
    struct err not_healthy;
    struct store_space space;
    int64_t store_used_bytes;    /* what its rows take; some seconds old */
    struct histogram statements; /* statements of the store by the loop */
    struct daemon_counters counters;
    struct kube_client_stats kube;
    bool is_leader;
    uint32_t runs[DAEMON_N_PHASES]; /* runs that have not ended, by phase */
    struct {
        const char *resource; /* static; NULL before the watch is started */
        struct kube_informer_stats stats;
    } watches[DAEMON_N_WATCHES];
    struct histogram turns; /* how long each turn of the loop took */
};

struct daemon_view;
struct daemon_view *daemon_view_new(void);    /* no runs; healthy, not ready */
void daemon_view_free(struct daemon_view *v); /* End its readers first. Accepts NULL. */
/* `runs_take` is NULL if the runs have not changed. */
void daemon_view_publish(struct daemon_view *v, const struct daemon_facts *facts,
                         struct daemon_runs *runs_take);

/* What one request is answered from: facts and runs of one moment. */
struct daemon_snapshot {
    struct daemon_facts facts;
    struct daemon_runs *runs; /* never NULL */
};
void daemon_view_read(const struct daemon_view *v, struct daemon_snapshot *ret);
void daemon_snapshot_done(struct daemon_snapshot *snapshot);

/* /healthz and /readyz. A snapshot that is older than DAEMON_STALL_NS shows that the daemon's loop
 * does not turn. `why` (may be NULL) gets the reason in one line. */
#define DAEMON_STALL_NS (5 * INT64_C(1000000000))
bool daemon_facts_are_healthy(const struct daemon_facts *facts, int64_t now_ns, struct err *why);
bool daemon_facts_are_ready(const struct daemon_facts *facts, int64_t now_ns, struct err *why);
