/* The end of a run's object. */
#pragma once

#include "base/err.h"
#include "daemon/run.h"

/* Removes the object of a final run whose time to live is over. */
void run_expire(struct run *run);
/* The object is gone: deletes what the store has of the run, unless only its time to live was over. Its
 * pods go with the object. 0: the caller frees the run; an error: it stays, and is not driven. */
int run_bury(struct run *run, struct err *err);
