/* Every pair of state and event of the machine that follows a run: the arrows of watch_state.h are
 * rows here, and a pair without a row must change nothing. */
#include "tests/test.h"
#include "ctl/runs/watch_state.h"

#define N_STATES (WATCH_FORBIDDEN + 1)
#define N_ENDS (N_STATES - WATCH_COMPLETE)

static const char *const states[N_STATES] = {
    [WATCH_WAITING] = "WAITING",           [WATCH_ASKING] = "ASKING",
    [WATCH_LAST_WAITING] = "LAST_WAITING", [WATCH_LAST_STALE] = "LAST_STALE",
    [WATCH_LAST_ASKING] = "LAST_ASKING",   [WATCH_COMPLETE] = "COMPLETE",
    [WATCH_UNREPORTED] = "UNREPORTED",     [WATCH_DETACHED] = "DETACHED",
    [WATCH_TIMED_OUT] = "TIMED_OUT",       [WATCH_DELETED] = "DELETED",
    [WATCH_FORBIDDEN] = "FORBIDDEN",
};

struct row {
    enum watch_state from;
    enum watch_event event;
    enum watch_state to;
    struct watch_todo todo;
};

/* clang-format off */
#define DO_ASK {.act = WATCH_DO_ASK}
#define DO_WAIT {.act = WATCH_DO_WAIT}
#define DO_CANCEL {.act = WATCH_DO_CANCEL}
#define NOTE_SILENT {.act = WATCH_DO_WAIT, .note = WATCH_NOTE_SILENT}
#define NOTE_LATE {.act = WATCH_DO_WAIT, .note = WATCH_NOTE_LATE}
#define RENEW {.is_patience_renewed = true}
#define ASK_AND_RENEW {.act = WATCH_DO_ASK, .is_patience_renewed = true}
#define END {.act = WATCH_DO_NOTHING}

/* An answer that is due while the run goes on. */
#define ANSWERS(from)                                            \
    {from, WATCH_ON_BEGIN, WATCH_WAITING, DO_WAIT},              \
    {from, WATCH_ON_MORE, WATCH_ASKING, DO_ASK},                 \
    {from, WATCH_ON_ALL, WATCH_WAITING, DO_WAIT},                \
    {from, WATCH_ON_FAILURE, WATCH_WAITING, NOTE_SILENT},        \
    {from, WATCH_ON_NO_RIGHT, WATCH_WAITING, NOTE_SILENT},       \
    {from, WATCH_ON_UNKNOWN_RUN, WATCH_WAITING, DO_WAIT},        \
    {from, WATCH_ON_NO_RUN, WATCH_WAITING, DO_WAIT}

/* One that is due after its end. */
#define LAST_ANSWERS(from)                                       \
    {from, WATCH_ON_BEGIN, WATCH_LAST_ASKING, ASK_AND_RENEW},    \
    {from, WATCH_ON_MORE, WATCH_LAST_ASKING, ASK_AND_RENEW},     \
    {from, WATCH_ON_FAILURE, WATCH_LAST_WAITING, NOTE_LATE},     \
    {from, WATCH_ON_NO_RIGHT, WATCH_UNREPORTED, END},            \
    {from, WATCH_ON_UNKNOWN_RUN, WATCH_LAST_WAITING, NOTE_LATE}, \
    {from, WATCH_ON_NO_RUN, WATCH_DELETED, END}

/* What ends the watch at any time. */
#define ENDS(from)                                               \
    {from, WATCH_ON_FORBIDDEN, WATCH_FORBIDDEN, END},            \
    {from, WATCH_ON_SIGNAL, WATCH_DETACHED, END}

#define GOING(from)                                              \
    ENDS(from),                                                  \
    {from, WATCH_ON_DELETE, WATCH_DELETED, END},                 \
    {from, WATCH_ON_TIMEOUT, from, DO_CANCEL}

#define LAST(from)                                               \
    ENDS(from),                                                  \
    {from, WATCH_ON_PATIENCE, WATCH_UNREPORTED, END}

static const struct row rows[] = {
    GOING(WATCH_WAITING),
    {WATCH_WAITING, WATCH_ON_TICK, WATCH_ASKING, DO_ASK},
    {WATCH_WAITING, WATCH_ON_CHANGE, WATCH_ASKING, DO_ASK},
    {WATCH_WAITING, WATCH_ON_END, WATCH_LAST_ASKING, ASK_AND_RENEW},

    GOING(WATCH_ASKING),
    ANSWERS(WATCH_ASKING),
    {WATCH_ASKING, WATCH_ON_END, WATCH_LAST_STALE, RENEW},

    LAST(WATCH_LAST_WAITING),
    {WATCH_LAST_WAITING, WATCH_ON_TICK, WATCH_LAST_ASKING, DO_ASK},
    {WATCH_LAST_WAITING, WATCH_ON_CHANGE, WATCH_LAST_ASKING, DO_ASK},
    {WATCH_LAST_WAITING, WATCH_ON_END, WATCH_LAST_ASKING, DO_ASK},

    LAST(WATCH_LAST_STALE),
    LAST_ANSWERS(WATCH_LAST_STALE),
    {WATCH_LAST_STALE, WATCH_ON_ALL, WATCH_LAST_ASKING, ASK_AND_RENEW},

    LAST(WATCH_LAST_ASKING),
    LAST_ANSWERS(WATCH_LAST_ASKING),
    {WATCH_LAST_ASKING, WATCH_ON_ALL, WATCH_COMPLETE, END},

};
/* clang-format on */

static const struct row *find_row(enum watch_state state, enum watch_event event)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].from == state && rows[i].event == event) {
            return &rows[i];
        }
    }
    return NULL;
}

static void check(const struct watch_machine *before, enum watch_event event, enum watch_state to,
                  const struct watch_todo *todo)
{
    struct watch_machine m = *before;
    const struct watch_todo got = watch_step(&m, event);
    if (m.state != to || got.act != todo->act || got.note != todo->note ||
        got.is_patience_renewed != todo->is_patience_renewed) {
        fail_msg("%s, event %d: expected %s, act %d, note %d, renewed %d; got %s, %d, %d, %d",
                 states[before->state], (int)event, states[to], (int)todo->act, (int)todo->note,
                 todo->is_patience_renewed, states[m.state], (int)got.act, (int)got.note,
                 got.is_patience_renewed);
    }
}

TEST(test_every_pair)
{
    for (int from = 0; from < N_STATES; from++) {
        for (int event = 0; event < WATCH_N_EVENTS; event++) {
            const struct watch_machine m = {.state = (enum watch_state)from};
            const struct row *row = find_row(m.state, (enum watch_event)event);
            const struct watch_todo nothing = END;
            check(&m, (enum watch_event)event, row == NULL ? m.state : row->to,
                  row == NULL ? &nothing : &row->todo);
        }
    }
}

/* The same pairs after --timeout expired: only the end differs. */
TEST(test_every_pair_after_the_timeout)
{
    for (int from = 0; from < N_STATES; from++) {
        for (int event = 0; event < WATCH_N_EVENTS; event++) {
            const struct watch_machine m = {.state = (enum watch_state)from, .is_timed_out = true};
            const struct row *row = find_row(m.state, (enum watch_event)event);
            const struct watch_todo nothing = END;
            enum watch_state to = row == NULL ? m.state : row->to;
            const struct watch_todo *todo = row == NULL ? &nothing : &row->todo;
            const bool is_grace = event == WATCH_ON_TIMEOUT || event == WATCH_ON_NO_CANCEL;
            if (from < WATCH_COMPLETE &&
                (is_grace || to == WATCH_COMPLETE || to == WATCH_UNREPORTED)) {
                to = WATCH_TIMED_OUT;
                todo = &nothing;
            }
            check(&m, (enum watch_event)event, to, todo);
        }
    }
}

TEST(test_ends_are_the_last_states)
{
    for (int i = 0; i < N_STATES; i++) {
        const struct watch_machine m = {.state = (enum watch_state)i};
        assert_int_equal(watch_is_over(&m), i >= N_STATES - N_ENDS);
    }
}

/* A sequence of events from the start; what each makes the user read. */
static void assert_notes(const enum watch_event *events, const enum watch_note *notes, size_t n)
{
    struct watch_machine m = {0};
    for (size_t i = 0; i < n; i++) {
        const struct watch_todo todo = watch_step(&m, events[i]);
        if (todo.note != notes[i]) {
            fail_msg("event %zu: expected note %d, got %d", i, (int)notes[i], (int)todo.note);
        }
    }
}

TEST(test_notes_are_not_repeated)
{
    static const enum watch_event events[] = {
        WATCH_ON_TICK,    WATCH_ON_UNKNOWN_RUN, WATCH_ON_TICK, WATCH_ON_FAILURE, WATCH_ON_TICK,
        WATCH_ON_FAILURE, WATCH_ON_TICK,        WATCH_ON_ALL,  WATCH_ON_TICK,    WATCH_ON_FAILURE,
        WATCH_ON_END,     WATCH_ON_FAILURE,     WATCH_ON_TICK, WATCH_ON_MORE,    WATCH_ON_FAILURE,
    };
    static const enum watch_note notes[sizeof(events) / sizeof(events[0])] = {
        [3] = WATCH_NOTE_SILENT, /* an unknown run is none */
        [9] = WATCH_NOTE_SILENT, /* benchd had answered in between */
        [11] = WATCH_NOTE_LATE,  /* once in all: each further answer is one of the last */
    };
    assert_notes(events, notes, sizeof(events) / sizeof(events[0]));
}

TEST(test_waiting)
{
    static const struct {
        unsigned n_unanswered;
        uint64_t took_ms, expected_ms;
    } waits[] = {{0, 0, 1000}, {0, 50, 1000}, {0, 51, 1020}, {0, 3000, 60000}, {1, 3000, 1000},
                 {2, 0, 2000}, {3, 0, 4000},  {4, 0, 4000},  {9999, 0, 4000}};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        const struct watch_machine m = {.n_unanswered = waits[i].n_unanswered};
        assert_int_equal(watch_wait_ms(&m, waits[i].took_ms), waits[i].expected_ms);
    }
    struct watch_machine m = {0};
    for (unsigned i = 1; i < 4; i++) {
        (void)watch_step(&m, WATCH_ON_TICK);
        (void)watch_step(&m, WATCH_ON_FAILURE);
        assert_int_equal(m.n_unanswered, i);
    }
    (void)watch_step(&m, WATCH_ON_TICK);
    (void)watch_step(&m, WATCH_ON_ALL);
    assert_int_equal(m.n_unanswered, 0);
}
