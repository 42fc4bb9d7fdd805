/* See plan.h. */
#include "decide/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

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

void plan_event(struct plan *plan, enum event_type type, const char *reason, const char *note)
{
    struct action *a = add(plan, ACTION_EMIT_EVENT);
    a->event.type = type;
    text_put(a->event.reason, sizeof(a->event.reason), "%s", reason);
    text_put(a->event.note, sizeof(a->event.note), "%s", note);
}

void plan_requeue(struct plan *plan, int64_t requeue_ms)
{
    add(plan, ACTION_REQUEUE_AFTER)->requeue_ms = requeue_ms;
}

void plan_done(struct plan *plan)
{
    vec_done(&plan->actions);
}

static void format_replica(const char *verb, const struct replica_id *id, struct buf *out)
{
    buf_printf(out, "%s p%ut%ua%u %s/%u", verb, id->attempt.point, id->attempt.trial,
               id->attempt.number, role_to_string(id->role), id->index);
}

static void format_status(const struct run_status *s, struct buf *out)
{
    buf_printf(out, "status %s %s %u/%u done %u failed", run_phase_to_string(s->phase), s->reason,
               s->trials_done, s->trials_total, s->trials_failed);
    if (s->has_current) {
        buf_printf(out, " current p%ut%ua%u%s", s->current.point, s->current.trial,
                   s->current.number, s->is_cut_short ? " cut short" : "");
    }
    buf_printf(out, " started %" PRId64, s->started_unix_ms);
    if (s->ended_unix_ms != 0) {
        buf_printf(out, " ended %" PRId64, s->ended_unix_ms);
    }
    buf_printf(out, ": %s", s->message);
}

static void format_action(const struct action *a, struct buf *out)
{
    switch (a->kind) {
    case ACTION_CREATE_REPLICA:
        format_replica("create", &a->replica, out);
        return;
    case ACTION_DELETE_REPLICA:
        format_replica("delete", &a->replica, out);
        return;
    case ACTION_SAVE_RESULT:
        buf_printf(out, "save p%ut%ua%u %s", a->save.id.point, a->save.id.trial, a->save.id.number,
                   attempt_outcome_to_string(a->save.outcome));
        if (a->save.error[0] != '\0') {
            buf_printf(out, ": %s", a->save.error);
        }
        return;
    case ACTION_PATCH_STATUS:
        format_status(&a->status, out);
        return;
    case ACTION_EMIT_EVENT:
        buf_printf(out, "event %s %s: %s", a->event.type == EVENT_WARNING ? "Warning" : "Normal",
                   a->event.reason, a->event.note);
        return;
    case ACTION_REQUEUE_AFTER:
        buf_printf(out, "requeue after %" PRId64 " ms", a->requeue_ms);
        return;
    }
}

void plan_format(const struct plan *plan, struct buf *out)
{
    vec_each (struct action, a, &plan->actions) {
        format_action(a, out);
        buf_putc(out, '\n');
    }
}
