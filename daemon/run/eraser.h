/* Results of a run whose object is gone, deleted on request. The wish is a BenchmarkRun with the
 * annotation benchd.io/erase-run and the run's uid. It is not a run: nothing is driven for it.
 * benchd acts when that object is deleted, so Kubernetes decides who may: with the verbs create and
 * delete on benchmarkruns, which also delete a run that has its object. An HTTP request could not
 * say who sends it: the API server's service proxy strips the credentials. */
#pragma once

#include "base/vec.h"
#include "daemon/run/run_queue.h"

struct eraser {
    VEC(char *) uids; /* owned: of the runs to be erased */
};
void eraser_done(struct eraser *e);

/* The object that asks to erase this run (bmr_facts.erase_run) was deleted. A run that benchd has
 * seen before is not such a request, whatever is written on it later. */
void eraser_take(struct eraser *e, const char *uid);
/* Erases what is due, each once; logs what it did not erase, and why. What is left
 * because another process writes is tried again in the next call. */
void eraser_work(struct eraser *e, const struct run_env *env, const struct run_queue *q);
