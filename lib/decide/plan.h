/* A plan: what a run does next, as a list of actions. reconcile makes one, a driver applies it.
 * Pure. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "core/phase.h"
#include "core/replica.h"

enum action_kind {
    ACTION_CREATE_REPLICA,
    ACTION_DELETE_REPLICA,
    ACTION_SAVE_RESULT,
    ACTION_PATCH_STATUS,
    ACTION_EMIT_EVENT,
    ACTION_REQUEUE_AFTER,
};

struct action {
    enum action_kind kind;
    union {
        struct replica_id replica; /* CREATE_REPLICA, DELETE_REPLICA */
        struct {
            struct attempt_id id;
            enum attempt_outcome outcome;
            char error[ATTEMPT_ERROR_SIZE]; /* "" if none */
        } save;
        struct run_status status;
        struct {
            enum event_type type;
            char reason[64];
            char note[EVENT_NOTE_SIZE];
        } event;
        int64_t requeue_ms;
    };
};

struct plan {
    VEC(struct action) actions; /* to be applied in this order; a prefix is always safe */
};

void plan_done(struct plan *plan);

/* For reconcile.c alone: each adds an action. Texts are copied into it. Every byte of an action is
 * set, so that equal plans are equal bytes. */
void plan_create(struct plan *plan, const struct replica_id *id);
void plan_delete(struct plan *plan, const struct replica_id *id);
/* `gang`: any member's id; role and index are not read. */
void plan_save(struct plan *plan, const struct replica_id *gang, enum attempt_outcome outcome,
               const char *error);
void plan_status(struct plan *plan, const struct run_status *status);
void plan_event(struct plan *plan, enum event_type type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void plan_requeue(struct plan *plan, int64_t requeue_ms);
