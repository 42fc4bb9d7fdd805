/* The life of a run in benchd, as a pure automaton: from its object to its end. run_enter() of
 * run.h moves a run; the arrows below name the function that raises the event. What the object asks
 * for (cancel, suspend, deletion) is an input of those functions and not a state.
 *
 *   run_new  WAITING --begin_reading--> READING --begin_check------------------> CHECKING
 *             ^                          '--freeze_definition--> FREEZING --begin_check--'
 *             '--retry_later, accept_checked, run_update-- these three
 *
 *   WAITING, CHECKING      --claim--> ACCEPTED
 *                          --claim--> WAITING if another process drives it
 *                          --find_ended--> ENDED
 *                          --run_accept--> PAST
 *   these, READING, FREEZING  --end_unaccepted--> REFUSED
 *
 *   ACCEPTED --run_start--> DRIVEN --on_done--> DONE --run_stop--> ENDED; ACCEPTED if suspended
 *     |  ^                    |                  |
 *     |  '----run_detach------'------------------'
 *     '-----end_queued--> ENDED
 *
 * ENDED, REFUSED and PAST are left by run_free alone. */
#pragma once

#include <stdbool.h>

enum run_life {
    LIFE_WAITING,  /* not accepted: run_accept tries again at each look */
    LIFE_READING,  /* the definition is being read from the API server */
    LIFE_FREEZING, /* it is being written into the object's status */
    LIFE_CHECKING, /* the API server tries the templates */
    LIFE_ACCEPTED, /* stored and claimed by this process, not final, not driven */
    LIFE_DRIVEN,   /* a driver works on it */
    LIFE_DONE,     /* the driver has finished, its answer was not taken yet */
    LIFE_ENDED,    /* stored and final; it has no claim and costs nothing */
    LIFE_REFUSED,  /* never accepted: refused for good, or cancelled before */
    LIFE_PAST,     /* ended in an earlier process, and the store has nothing of it */
};
#define LIFE_COUNT (LIFE_PAST + 1)

enum run_life_event {
    LIFE_ON_READ_SENT,
    LIFE_ON_FREEZE_SENT,
    LIFE_ON_CHECK_SENT,
    LIFE_ON_SET_BACK, /* to be read again: an error, or being deleted */
    LIFE_ON_CLAIMED,
    LIFE_ON_FOUND_ENDED,
    LIFE_ON_HELD, /* by another process */
    LIFE_ON_REFUSED,
    LIFE_ON_FOUND_PAST,
    LIFE_ON_STARTED,
    LIFE_ON_DRIVER_DONE,
    LIFE_ON_STOPPED_FINAL,
    LIFE_ON_STOPPED_EARLY, /* suspended */
    LIFE_ON_DETACHED,
    LIFE_ON_ENDED_QUEUED,
};
#define LIFE_EVENT_COUNT (LIFE_ON_ENDED_QUEUED + 1)

/* 0 and the next state; -EINVAL: this event cannot happen in this state. */
int run_life_next(enum run_life life, enum run_life_event event, enum run_life *ret);
const char *run_life_to_string(enum run_life life);
const char *run_life_event_to_string(enum run_life_event event);

/* The store has it: ACCEPTED, DRIVEN, DONE, ENDED. */
bool run_life_is_stored(enum run_life life);
/* Its definition is in memory, or on its way: READING, FREEZING, CHECKING. */
bool run_life_is_read(enum run_life life);
/* This process alone may drive it: ACCEPTED, DRIVEN, DONE. */
bool run_life_is_claimed(enum run_life life);
/* It has a launcher and a driver: DRIVEN, DONE. */
bool run_life_is_driven(enum run_life life);
