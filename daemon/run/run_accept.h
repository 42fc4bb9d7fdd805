/* From a run's object to a frozen run in the store. */
#pragma once

#include "base/err.h"
#include "daemon/run/run.h"

/* Its object and its definition are needed now: run_accept would read them. */
bool run_may_accept(const struct run *run);
/* Reads, freezes and stores the definition; some steps take a request's time, so it is called again
 * at each look. 1: accepted and stored; 0: not yet, or refused; an error: the store is broken.
 * `benchmark`: the spec of the Benchmark that it names, as JSON; NULL if none exists. */
int run_accept(struct run *run, const struct bmr_facts *facts, const char *benchmark,
               struct err *err);
/* Ends a run that is not accepted as Failed. `reason` is static. */
void run_refuse(struct run *run, const char *reason, const char *text);
