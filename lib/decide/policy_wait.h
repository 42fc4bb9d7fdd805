/* What a run waits for although an attempt is due, and how its status says so: the launcher knows
 * the cause, people read the condition. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/phase.h"

/* What a reason means. Every wait has one of these; docs/troubleshooting.md explains each. */
struct wait_kind {
    const char *reason;
    unsigned flags;
};
enum {
    WAIT_IS_QUEUE = 1,    /* for its place in the cluster: no part of a trial is under way */
    WAIT_STOPS_CLOCK = 2, /* wait_stops_clock() */
    WAIT_NEEDS_HELP = 4,  /* wait_needs_help() */
};
extern const struct wait_kind wait_kinds[]; /* the last one has no reason */
/* NULL: no wait has that reason. */
const struct wait_kind *wait_kind_find(const char *reason);

/* The text stays the same while nothing changes, so that the status is not written again. */
struct run_wait {
    char reason[64]; /* CamelCase: PodsRemain, QuotaExceeded, ...; "": it waits for nothing */
    char text[ERR_MSG_SIZE];
    bool is_partial;    /* another lane of the run does not wait: the run goes on */
    bool is_unanswered; /* nothing was refused: a request is on its way */
    int64_t before_ms;  /* for so long nothing had gone on when it was first reported */
};

/* Puts the wait into the status of a run that is not over. In a queue its phase is Queued. */
void wait_put(const struct run_wait *wait, struct run_status *status);
/* An event is due: the last written status does not speak of that wait. */
bool wait_is_news(const struct run_wait *wait, const struct run_status *before);
/* It waits for its place in the cluster: no part of a trial is under way. */
bool wait_is_queue(const char *reason);
/* The run is not to blame for a wait of this reason, which lasts until somebody else does
 * something: it does not count for activeDeadlineSeconds. While a node is not ready, or sets a pod
 * up, the trial is under way. */
bool wait_stops_clock(const char *reason);
/* It lasts until somebody changes what is refused or missing; the others pass by themselves. */
bool wait_needs_help(const struct run_wait *wait);
/* It has had its turn and is neither over nor suspended: pods of it may exist. */
bool wait_is_under_way(const struct run_status *status);
/* A written status speaks of a wait. */
bool wait_is_in(const struct run_status *status);
