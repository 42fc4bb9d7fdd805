/* reconcile(observed) -> plan: the one place that decides what a run does next. Pure: no I/O, no
 * clock, no random, no log; the same input gives the same bytes. It knows replicas, not pods.
 *
 * Truth is three things: the frozen run, the live replicas, and the attempt rows that the store has
 * acknowledged. Nothing is remembered between calls, so a crash at any point is harmless.
 *
 * Life of a trial (reconcile.c has the functions that make each step):
 *   (no row, no replica) -- CREATE_REPLICA all members of attempt a --> gang alive
 *   gang alive -- every trainer succeeded, pservers ended or stayed 10 s --> SAVE_RESULT Succeeded
 *   gang alive -- a member failed, or is missing after it was seen --> SAVE_RESULT Void | Failed
 *   row saved -- DELETE_REPLICA every live member --> next attempt (Void), next trial, or the end
 * One trial at a time. A finished run creates nothing; no replica that ended is deleted before the
 * row of its attempt is kept, except in an attempt that a cancellation, a suspension or the deadline
 * cut short: it never ended and has no row.
 *
 * One plan goes as far as can be decided: it saves an ended attempt, deletes its gang and creates
 * the next one. What the driver owes:
 *   - it applies the actions in order and stops at the first that is not done yet (a row that the
 *     store has not acknowledged, above all); the rest is planned again by the next call;
 *   - a replica is observed from the moment that its creation returned until it was deleted, and
 *     its id once only: a member that is missing although the status names its attempt is lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/phase.h"
#include "core/replica.h"
#include "decide/plan.h"
#include "spec/run_def.h"

struct observed_replica {
    struct replica_id id;
    enum replica_state state;
    enum failure_class failure;
    int exit_code;         /* of an ended one */
    int64_t ended_unix_ms; /* 0: not ended */
    bool has_summary;
    const char *message; /* for a person; borrowed; NULL: none. Without the replica's name:
                               "killed by signal 9", "silent for 6 s" */
    bool has_blamed;     /* its last error record named a peer as the cause: */
    enum role blamed_role;
    uint32_t blamed_index;
};

/* What the user asked for, beyond the spec. */
enum run_request {
    REQUEST_NONE,
    REQUEST_CANCEL,
    REQUEST_SUSPEND, /* while it stands: nothing lives, the run is Suspended and not final */
};

struct observed {
    const struct run_def *def;
    enum run_request request;
    int64_t now_unix_ms;
    struct run_status status;                /* as last written; all zero: never */
    const struct observed_replica *replicas; /* alive, or ended and not yet deleted; any order */
    size_t n_replicas;
    const struct attempt_row *rows; /* acknowledged by the store, any order */
    size_t n_rows;
};

/* Fills an empty plan. Never fails: what cannot be decided now asks to be called again. */
void reconcile(const struct observed *observed, struct plan *plan);
