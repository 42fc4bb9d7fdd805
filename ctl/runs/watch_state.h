/* The state machine that follows a run of a cluster: an event in, the next state and what to do
 * out. Pure; cluster_watch.c turns callbacks into events and does what the machine decides.
 *
 * The API server reports changes of the BenchmarkRun by itself. What only benchd knows (steps,
 * ended attempts) is asked from its API, one question at a time. The words on the arrows are
 * functions of watch_state.c. While the run continues:
 *
 *      WAITING --ask--> ASKING --answered, unanswered--> WAITING
 *
 * run_ended, once the object says that the run has ended: WAITING becomes LAST_ASKING, ASKING
 * becomes LAST_STALE, because its answer may be older than the end. From then on benchd has to
 * answer within a time that each answer renews:
 *
 *      LAST_WAITING --ask--> LAST_ASKING --unanswered--> LAST_WAITING
 *      LAST_STALE --answered--> LAST_ASKING
 *      LAST_STALE --unanswered--> LAST_WAITING
 *      LAST_ASKING --answered: more to ask--> LAST_ASKING
 *      LAST_ASKING --answered: nothing left to ask--> COMPLETE
 *
 * The states from COMPLETE on are the ends, and nothing leaves them; `finish` enters them from any
 * other state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum watch_state {
    WATCH_WAITING, /* no question is under way; the next one follows after watch_wait_ms */
    WATCH_ASKING,  /* benchd is asked */

    WATCH_LAST_WAITING,
    WATCH_LAST_STALE, /* the question under way was asked before the run ended */
    WATCH_LAST_ASKING,

    WATCH_COMPLETE,   /* the run has ended, and everything about it was shown */
    WATCH_UNREPORTED, /* it has ended, but benchd does not report the rest */
    WATCH_DETACHED,   /* Ctrl-C: the run continues */
    WATCH_TIMED_OUT,  /* --timeout: the run was cancelled */
    WATCH_DELETED,    /* its object was deleted */
    WATCH_FORBIDDEN,  /* we may not watch the object */
};

enum watch_event {
    WATCH_ON_TICK,        /* the waiting is over */
    WATCH_ON_CHANGE,      /* the object changed, and the run has not ended */
    WATCH_ON_END,         /* the object says that the run has ended */
    WATCH_ON_DELETE,      /* the object is gone, by its watch or by a new list */
    WATCH_ON_FORBIDDEN,   /* the API server does not let us watch it */
    WATCH_ON_BEGIN,       /* an answer: benchd has accepted the run */
    WATCH_ON_MORE,        /* an answer, after which there are ended attempts to ask for */
    WATCH_ON_ALL,         /* an answer that leaves nothing to ask */
    WATCH_ON_FAILURE,     /* the question failed */
    WATCH_ON_NO_RIGHT,    /* it failed: we may not ask it */
    WATCH_ON_UNKNOWN_RUN, /* it failed: benchd does not know the run, although its object exists */
    WATCH_ON_NO_RUN,      /* it failed: benchd does not know the run, and there is no object */
    WATCH_ON_PATIENCE,    /* no answer for too long after the run's end */
    WATCH_ON_SIGNAL,      /* Ctrl-C */
    WATCH_ON_TIMEOUT,     /* --timeout expired; the second time: the grace after it, too */
    WATCH_ON_NO_CANCEL,   /* the cancellation failed */
};
#define WATCH_N_EVENTS (WATCH_ON_NO_CANCEL + 1)

enum watch_act {
    WATCH_DO_NOTHING,
    WATCH_DO_ASK,    /* the next question to benchd */
    WATCH_DO_WAIT,   /* for watch_wait_ms, then WATCH_ON_TICK */
    WATCH_DO_CANCEL, /* the run; WATCH_ON_TIMEOUT follows again after the grace */
};

/* The note that is printed, not twice in a row. */
enum watch_note {
    WATCH_NOTE_NONE,
    WATCH_NOTE_SILENT, /* benchd does not answer during the run */
    WATCH_NOTE_LATE,   /* benchd does not answer after the run's end */
};

struct watch_todo {
    enum watch_act act;
    enum watch_note note;
    bool is_patience_renewed; /* WATCH_ON_PATIENCE is due a full time from now */
};

/* All zero: nothing was asked yet. */
struct watch_machine {
    enum watch_state state;
    enum watch_note noted; /* the last note, until benchd answers: not repeated */
    bool is_timed_out;     /* --timeout expired, and the run is being cancelled */
    unsigned n_unanswered; /* questions since the last answer */
};

/* An event that cannot happen in a state changes nothing there. */
struct watch_todo watch_step(struct watch_machine *m, enum watch_event event);
bool watch_is_over(const struct watch_machine *m);
/* Until the next question, when the last one took `took_ms`: longer for a benchd that is slow to
 * answer, and longer again for each question in a row that it does not answer. */
uint64_t watch_wait_ms(const struct watch_machine *m, uint64_t took_ms);
