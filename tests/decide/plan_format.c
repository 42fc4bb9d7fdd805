/* See plan_format.h. */
#include "plan_format.h"

#include <inttypes.h>

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
    for (int i = 1; i < LANES_MAX; i++) {
        const struct run_lane *lane = &s->lanes[i];
        if (lane->has_current) {
            buf_printf(out, " lane%d p%ut%ua%u%s", i, lane->current.point, lane->current.trial,
                       lane->current.number, lane->is_cut_short ? " cut short" : "");
        }
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
