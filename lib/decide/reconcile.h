/* reconcile(observed) -> plan: the one place that decides what a run does next. Pure: no I/O, no
 * clock, no random numbers, no log; the same input gives the same bytes. It knows replicas, not
 * pods.
 *
 * It decides from three things: the frozen run, the live replicas, and the attempt rows that the
 * store has acknowledged. It remembers nothing between calls, so a crash at any point is harmless.
 *
 * Life of a trial (reconcile.c has the functions that make each step):
 *   (no row, no replica) -- CREATE_REPLICA all members of attempt a --> gang alive
 *   gang alive -- every trainer succeeded, pservers ended or stayed 10 s --> SAVE_RESULT Succeeded
 *   gang alive -- a member failed, or is missing after it was seen --> SAVE_RESULT Void | Failed
 *   row saved -- DELETE_REPLICA every live member --> next attempt (Void), next trial, or the end
 * One trial runs at a time. A finished run creates nothing. An ended replica is deleted only after
 * the row of its attempt is stored; the exception is an attempt that a cancellation, a suspension
 * or the deadline interrupts, or that finds no room: it never ended and gets no row. Of a
 * suspension and of one without room the status says so before anything is deleted.
 *
 * One plan goes as far as can be decided: it saves an ended attempt, deletes its gang and creates
 * the next one. Where points stop early (spec/stop_rule.h), a plan that saves a throughput ends
 * there, and with a budget one that saves any row: what runs next depends on it, and the row that
 * the store has is the only word on it. The driver must keep two promises:
 *   - It applies the actions in order and stops at the first that is not done yet (above all a row
 *     that the store has not acknowledged). The next call plans the rest again.
 *   - A replica is observed, once, from the return of its creation until it was deleted. A member
 *     that is missing although the status names its attempt is lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/phase.h"
#include "core/record.h"
#include "core/replica.h"
#include "decide/plan.h"
#include "decide/policy_wait.h"
#include "spec/run_def.h"

struct observed_replica {
    struct replica_id id;
    enum replica_state state;
    enum failure_class failure;
    int exit_code;            /* of an ended one */
    int64_t ended_unix_ms;    /* when that was seen; 0: not ended */
    int64_t finished_unix_ms; /* when it ended, as its machine says; 0: as ended_unix_ms */
    int64_t started_unix_ms;  /* 0: not yet */
    int64_t output_unix_ms;   /* its last output, or its start; 0: its output is not seen live */
    bool has_exited;          /* a running one: only its output is still read */
    bool has_summary;
    /* why its summary cannot be used (core/summary.h); NULL: it can, or it is missing */
    const char *summary_fault;
    const struct noise *noise; /* of its summary; borrowed; NULL: none */
    bool is_job_summary;       /* its summary is that of all trainers: the others need none */
    bool has_log_rule;         /* its summary is made of its log by a rule */
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

struct attempt_history; /* decide/attempt_history.h */

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

/* Fills an empty plan. Never fails: if something cannot be decided yet, the plan ends with a
 * REQUEUE_AFTER. */
void reconcile(const struct observed *observed, struct plan *plan);
