/* From a run's object to a frozen run in the store. */
#pragma once

#include "base/err.h"
#include "daemon/run/run.h"

/* Its object is needed now: run_accept would do something. */
bool run_may_accept(const struct run *run);
/* Reads, freezes, checks and stores the definition; each step takes a request's time, so it is
 * called again at each look. 1: accepted and stored; 0: not yet, or refused; an error: the store is
 * broken. may_read: there is room in memory for a definition (run_life_is_read). */
int run_accept(struct run *run, const struct bmr_facts *facts, bool may_read, struct err *err);
/* Ends a run that is not accepted as Failed. `reason` is static. */
void run_refuse(struct run *run, const char *reason, const char *text);
