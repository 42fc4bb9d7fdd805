/* All runs of benchd, and which of them is next: one is driven at a time, the running one first,
 * then the oldest. daemon.c calls each function once a look, in the order of this file. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "daemon/run/run.h"

/* Runs of which the definition is in memory because they are being accepted: each may have a few
 * megabytes of text, tree and requests. */
#define RUN_QUEUE_READ_MAX 4
#define RUN_QUEUE_SLICE 16 /* runs that are looked into, or written, in one turn of the loop */
/* No more are looked into or written once the turn has taken so much CPU time, including what
 * watches and answers did before: to read a definition or to store an end takes milliseconds, and
 * hundreds may be new or cancelled. However long the turn was before, either has a little time of
 * its own. */
#define RUN_QUEUE_TURN_NS INT64_C(10000000)
#define RUN_QUEUE_LEAST_NS INT64_C(1000000)

/* A run that ended long ago, with nothing left to do before its time to live is
 * over: one small block. */
struct resting_run {
    int64_t expires_unix_ms; /* INT64_MAX: never */
    const char *name;        /* in `uid`, after it */
    char uid[];
};

struct run_queue {
    VEC(struct run *) runs;            /* in the order in which they are driven */
    VEC(struct run *) by_uid;          /* the same */
    VEC(struct resting_run *) resting; /* by uid */
    int64_t next_expiry_unix_ms;       /* no resting one expires before that */
    int64_t
        turn_cpu_ns; /* CPU time of the thread when this turn of the loop began; set by daemon.c */
    unsigned n_rounds; /* in each every run is looked into once, in as many turns as that takes */
};
void run_queue_done(struct run_queue *q); /* frees the runs; their pods live on */

/* By the uid of its object; NULL: not there, or it rests. */
struct run *run_queue_find(const struct run_queue *q, const char *uid);
bool run_queue_is_resting(const struct run_queue *q, const char *uid);
/* The run that is driven or that has just finished, or NULL. */
struct run *run_queue_active(const struct run_queue *q);
/* It does not rest any more. */
void run_queue_add(struct run_queue *q, struct run *run_take);

/* An error of one run parks it. An error of these three: the store cannot be used for any run. */

/* Removes the runs whose objects are gone. */
int run_queue_drop_deleted(struct run_queue *q, struct err *err);
/* Accepts what can be accepted, and passes on what the objects ask for; on a full disk only to the
 * run that is driven. What one turn of the loop does not get to, it wakes benchd for. 1: a run that
 * is new is among that; nothing is driven before all were seen. */
int run_queue_accept(struct run_queue *q, struct err *err);
/* Stops the active run if its driver is done, and starts the next one. */
int run_queue_advance(struct run_queue *q, struct err *err);
/* Writes statuses, and removes objects whose time to live is over. True: more is to be written. */
bool run_queue_publish(struct run_queue *q);
/* An object whose final status says that its run ended long ago, in the first list of objects: it
 * rests without ever having been a struct run. The store may know better: run_queue_wake(). */
void run_queue_add_ended(struct run_queue *q, const struct bmr_facts *facts);
/* Takes up again those of these runs that rest. */
void run_queue_wake(struct run_queue *q, const struct run_env *env, char *const *uids, size_t n);
/* The store has the results of this run again, of which an object may say that it is over. */
void run_queue_restored(struct run_queue *q, const struct run_env *env, const char *uid);
/* Lets go of runs that ended long ago, and takes up again those whose time to live is over. */
void run_queue_rest(struct run_queue *q, const struct run_env *env);

/* While only the objects of runs that are not over are listed (watches.h). 1: each run that goes on
 * by the store has its object in the queue, so that the next one may be driven. 0: an object says
 * of one that it is over, or is gone: that one may be the next. -EBUSY: another process writes. */
int run_queue_has_open(const struct run_queue *q, struct store *s, const char *ns, struct err *err);
