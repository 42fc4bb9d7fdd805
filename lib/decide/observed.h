/* What is known of a run when it is decided what it does next: what is asked of it, its replicas as
 * a launcher sees them, and what the store has. Borrowed for the call of reconcile(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/phase.h"
#include "core/replica.h"
#include "decide/policy_wait.h"

struct attempt_history; /* decide/attempt_history.h */
struct summary;         /* core/record.h */
struct run_def;         /* spec/run_def.h */

struct observed_replica {
    struct replica_id id;
    enum replica_state state;
    enum failure_class failure;
    int exit_code;            /* of an ended one */
    int64_t ended_unix_ms;    /* when that was seen; 0: not ended */
    int64_t finished_unix_ms; /* when it ended, as its machine says; 0: as ended_unix_ms */
    int64_t started_unix_ms;  /* 0: not yet */
    int64_t seen_unix_ms;     /* when it was seen to run; 0: not yet, or nothing of it is real */
    int64_t asked_unix_ms;    /* when its pod was created; 0: a process, which starts at once */
    /* of one that has ended: when its measured steps began and ended; 0: it does not say */
    int64_t measured_from_unix_ms, measured_to_unix_ms;
    const char *node;       /* the machine whose dates these are; borrowed; NULL: this one */
    int64_t output_unix_ms; /* its last output, or its start; 0: its output is not seen live */
    bool has_exited;        /* a running one: only its output is still read */
    const struct summary *summary; /* borrowed; NULL: none */
    bool has_log_rule;             /* it is made of its log by a rule */
    /* for a person; borrowed; NULL: none. Without the replica's name: "killed by signal 9"; of a
     * running one: "node 'n4' is not ready". Why a log has no figure has several lines, of which
     * the first is the cause */
    const char *message;
    bool has_blamed; /* its last error record named a peer as the cause: */
    enum role blamed_role;
    uint32_t blamed_index;
};

/* What the user asked for, beyond the spec. */
enum run_request {
    REQUEST_NONE,
    REQUEST_CANCEL,
    REQUEST_SUSPEND, /* until it is withdrawn: nothing runs; the run is Suspended and not final */
};

struct observed {
    const struct run_def *def;
    enum run_request request;
    struct run_wait wait; /* what the launcher waits for before it starts the current attempt */
    int64_t now_unix_ms;
    struct run_status status;                /* as last written; all zero: never */
    const struct observed_replica *replicas; /* alive, or ended and not yet deleted; any order */
    size_t n_replicas;
    const char *where; /* how benchctl finds the run: "--local"; NULL or "": it needs nothing */
    const struct attempt_history
        *history; /* of the rows that the store has acknowledged; never NULL */
};
