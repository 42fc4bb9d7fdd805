/* See watch_state.h. */
#include "ctl/runs/watch_state.h"

#define TICK_MS 1000
#define SLOWNESS 20    /* asking takes at most one part in this many of the time */
#define BACK_OFF_MAX 2 /* doublings of TICK_MS while nothing is answered */

static const struct watch_todo nothing = {.act = WATCH_DO_NOTHING};

bool watch_is_over(const struct watch_machine *m)
{
    return m->state >= WATCH_COMPLETE;
}

static bool has_run_ended(const struct watch_machine *m)
{
    return m->state >= WATCH_LAST_WAITING;
}

/* An answer is due to a question that benchd was asked. */
static bool is_asked(const struct watch_machine *m)
{
    return m->state == WATCH_ASKING || m->state == WATCH_LAST_STALE ||
           m->state == WATCH_LAST_ASKING;
}

static struct watch_todo finish(struct watch_machine *m, enum watch_state end)
{
    const bool is_of_run = end == WATCH_COMPLETE || end == WATCH_UNREPORTED;
    m->state = is_of_run && m->is_timed_out ? WATCH_TIMED_OUT : end;
    return nothing;
}

static struct watch_todo ask(struct watch_machine *m)
{
    if (m->state != WATCH_WAITING && m->state != WATCH_LAST_WAITING) {
        return nothing; /* its answer brings the next question */
    }
    m->state = m->state == WATCH_WAITING ? WATCH_ASKING : WATCH_LAST_ASKING;
    return (struct watch_todo){.act = WATCH_DO_ASK};
}

static struct watch_todo run_ended(struct watch_machine *m)
{
    struct watch_todo todo = {.is_patience_renewed = true};
    switch (m->state) {
    case WATCH_WAITING:
        m->state = WATCH_LAST_ASKING;
        todo.act = WATCH_DO_ASK;
        return todo;
    case WATCH_ASKING:
        m->state = WATCH_LAST_STALE;
        return todo;
    default:
        return ask(m); /* known already */
    }
}

static struct watch_todo answered(struct watch_machine *m, enum watch_event event)
{
    const bool is_stale = m->state == WATCH_LAST_STALE;
    m->n_unanswered = 0;
    if (!has_run_ended(m)) {
        m->noted = WATCH_NOTE_NONE;
        m->state = event == WATCH_ON_MORE ? WATCH_ASKING : WATCH_WAITING;
        return (struct watch_todo){.act = event == WATCH_ON_MORE ? WATCH_DO_ASK : WATCH_DO_WAIT};
    }
    if (event == WATCH_ON_ALL && !is_stale) {
        return finish(m, WATCH_COMPLETE);
    }
    m->state = WATCH_LAST_ASKING;
    return (struct watch_todo){.act = WATCH_DO_ASK, .is_patience_renewed = true};
}

/* A run that was just created is one that benchd does not know yet: no reason for a note. */
static struct watch_todo unanswered(struct watch_machine *m, enum watch_event event)
{
    const bool is_last = has_run_ended(m);
    const bool is_unknown = event == WATCH_ON_UNKNOWN_RUN || event == WATCH_ON_NO_RUN;
    struct watch_todo todo = {.act = WATCH_DO_WAIT};
    m->n_unanswered++;
    if (is_last && event == WATCH_ON_NO_RUN) {
        return finish(m, WATCH_DELETED);
    }
    if (is_last && event == WATCH_ON_NO_RIGHT) {
        return finish(m, WATCH_UNREPORTED);
    }
    const enum watch_note note = is_last ? WATCH_NOTE_LATE : WATCH_NOTE_SILENT;
    if (note != m->noted && (is_last || !is_unknown)) {
        todo.note = m->noted = note;
    }
    m->state = is_last ? WATCH_LAST_WAITING : WATCH_WAITING;
    return todo;
}

/* An answer that was not requested changes nothing. */
static struct watch_todo on_answer(struct watch_machine *m, enum watch_event event)
{
    const bool is_answered =
        event == WATCH_ON_BEGIN || event == WATCH_ON_MORE || event == WATCH_ON_ALL;
    return !is_asked(m) ? nothing : is_answered ? answered(m, event) : unanswered(m, event);
}

static struct watch_todo on_timeout(struct watch_machine *m)
{
    if (m->is_timed_out) {
        return finish(m, WATCH_TIMED_OUT);
    }
    if (has_run_ended(m)) {
        return nothing; /* there is nothing left to cancel */
    }
    m->is_timed_out = true;
    return (struct watch_todo){.act = WATCH_DO_CANCEL};
}

struct watch_todo watch_step(struct watch_machine *m, enum watch_event event)
{
    if (watch_is_over(m)) {
        return nothing;
    }
    switch (event) {
    case WATCH_ON_TICK:
    case WATCH_ON_CHANGE:
        return ask(m);
    case WATCH_ON_END:
        return run_ended(m);
    case WATCH_ON_DELETE: /* after the end its time to live may be over: the results outlive it */
        return has_run_ended(m) ? nothing : finish(m, WATCH_DELETED);
    case WATCH_ON_FORBIDDEN:
        return finish(m, WATCH_FORBIDDEN);
    case WATCH_ON_PATIENCE:
        return has_run_ended(m) ? finish(m, WATCH_UNREPORTED) : nothing;
    case WATCH_ON_SIGNAL:
        return finish(m, WATCH_DETACHED);
    case WATCH_ON_TIMEOUT:
        return on_timeout(m);
    case WATCH_ON_NO_CANCEL:
        return m->is_timed_out ? finish(m, WATCH_TIMED_OUT) : nothing;
    default:
        return on_answer(m, event);
    }
}

uint64_t watch_wait_ms(const struct watch_machine *m, uint64_t took_ms)
{
    const unsigned n = m->n_unanswered;
    if (n > 0) {
        return (uint64_t)TICK_MS << (n - 1 < BACK_OFF_MAX ? n - 1 : BACK_OFF_MAX);
    }
    const uint64_t slow_ms = took_ms * SLOWNESS;
    return slow_ms > TICK_MS ? slow_ms : TICK_MS;
}
