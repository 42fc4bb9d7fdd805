/* See plan.h. */
#include "decide/plan.h"

#include <stdarg.h>
#include <string.h>

#include "base/str.h"

static struct action *add(struct plan *plan, enum action_kind kind)
{
    struct action *a = vec_push(&plan->actions);
    memset(a, 0, sizeof(*a));
    a->kind = kind;
    return a;
}

void plan_create(struct plan *plan, const struct replica_id *id)
{
    add(plan, ACTION_CREATE_REPLICA)->replica = *id;
}

void plan_delete(struct plan *plan, const struct replica_id *id)
{
    add(plan, ACTION_DELETE_REPLICA)->replica = *id;
}

void plan_save(struct plan *plan, const struct replica_id *gang, enum attempt_outcome outcome,
               const char *error)
{
    struct action *a = add(plan, ACTION_SAVE_RESULT);
    a->save.id = gang->attempt;
    a->save.outcome = outcome;
    text_put(a->save.error, sizeof(a->save.error), "%s", error);
}

void plan_status(struct plan *plan, const struct run_status *status)
{
    memcpy(&add(plan, ACTION_PATCH_STATUS)->status, status, sizeof(*status));
}

void plan_event(struct plan *plan, enum event_type type, const char *reason, const char *fmt, ...)
{
    struct action *a = add(plan, ACTION_EMIT_EVENT);
    va_list ap;
    a->event.type = type;
    text_put(a->event.reason, sizeof(a->event.reason), "%s", reason);
    va_start(ap, fmt);
    text_vput(a->event.note, sizeof(a->event.note), fmt, ap);
    va_end(ap);
}

void plan_requeue(struct plan *plan, int64_t requeue_ms)
{
    add(plan, ACTION_REQUEUE_AFTER)->requeue_ms = requeue_ms;
}

void plan_done(struct plan *plan)
{
    vec_done(&plan->actions);
}
