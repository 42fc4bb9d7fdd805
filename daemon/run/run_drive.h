/* Driving a run over its pods: start, cancel and suspend, stop. One run at a time: daemon.c. */
#pragma once

#include "base/err.h"
#include "daemon/run/run.h"

/* There is something to drive: it is accepted, and not suspended already. On a full disk only what
 * must end its pods. */
bool run_is_due(const struct run *run);
int run_start(struct run *run, struct err *err);
/* Passes cancel and suspend on to the driver; for a run without one it decides them. */
int run_steer(struct run *run, struct err *err);
/* Takes the answer of a driver that is done. An error: it gave up, and the run is not driven. */
int run_stop(struct run *run, struct err *err);
/* Ends a run that is parked again and again as Failed, because of `why`. Where even that cannot be
 * stored, it stays parked. */
void run_give_up(struct run *run, const struct err *why);
/* Stops driving; the pods live on for the next benchd. */
void run_detach(struct run *run);
