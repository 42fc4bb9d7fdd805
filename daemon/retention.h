/* How long finished runs are kept: benchd --keep, --keep-runs and --keep-bytes. Which run goes next
 * is decided by lib/decide/policy_retention.h; this erases its rows, one run a call. Its object, if
 * it is still there, stays: the life of an object is not the life of its results. */
#pragma once

#include "base/vec.h"
#include "daemon/run/run_queue.h"
#include "decide/policy_retention.h"

struct retention {
    struct retention_policy policy;
    int64_t used_bytes; /* of the store, as seen last */
};

/* 1: one run was erased, there may be more; 0: none is to be erased now. Runs that the queue holds
 * (for 15 minutes after their end) or another process drives are left alone. */
int retention_erase_next(struct retention *k, const struct run_env *env, const struct run_queue *q,
                         int64_t now_unix_ms, struct err *err);

/* Erases results of a run whose object is gone, on request. The request is a BenchmarkRun with the
 * annotation benchd.io/erase-run. It is not a run: nothing is driven for it. It takes effect when
 * the object is deleted and its status names the run's uid. So Kubernetes decides who may: the verb
 * patch on benchmarkruns/status is no right of those who create runs. Creation and deletion alone
 * show no right: the garbage collector deletes an object whose owner does not exist. An HTTP
 * request could not say who sends it: the API server's service proxy strips the credentials. */
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
