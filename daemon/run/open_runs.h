/* Whether it is known who is driven next, while only the objects of runs that are not over are
 * listed (watches.h).
 *
 *   NOT_ASKED   the store is asked once which runs go on
 *   KNOWN       each of them has its object in the queue: the next one may be driven
 *   MISSING     an object says of one that it is over, or is gone: that one may be the next. All
 *               objects are waited for, whatever arrives before */
#pragma once

#include "base/err.h"
#include "daemon/run/run_queue.h"
#include "store/store.h"

enum open_runs { OPEN_RUNS_NOT_ASKED, OPEN_RUNS_KNOWN, OPEN_RUNS_MISSING };

/* 1: it is known. 0: not before all objects are. -EBUSY: another process writes; ask again. */
int open_runs_load(enum open_runs *state, struct store *s, const char *ns,
                   const struct run_queue *q, struct err *err);
