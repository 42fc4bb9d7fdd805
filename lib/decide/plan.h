/* Building a plan (the struct is in reconcile.h); for reconcile.c alone. Texts are copied into the
 * action. Every byte of an action is set, so that equal plans are equal bytes. */
#pragma once

#include "decide/reconcile.h"

void plan_create(struct plan *plan, const struct replica_id *id);
void plan_delete(struct plan *plan, const struct replica_id *id);
/* `gang`: any member's id; role and index are not read. */
void plan_save(struct plan *plan, const struct replica_id *gang, enum attempt_outcome outcome,
               const char *error);
void plan_status(struct plan *plan, const struct run_status *status);
void plan_event(struct plan *plan, enum event_type type, const char *reason, const char *note);
void plan_requeue(struct plan *plan, int64_t requeue_ms);
