/* Ends a call of NCCL that does not end by itself. A peer that is gone, or a network that fails,
 * can leave the caller waiting in the library or for the GPU for ever. NCCL's own remedy: ask the
 * communicator for errors while it works (ncclCommGetAsyncError), and abort it (ncclCommAbort),
 * which any thread may do. A thread does both here, because the caller may be stuck in any call,
 * and there is nothing to abort while ranks connect.
 *
 *             begin                 NCCL reports an error, or the limit is over
 *     (idle) -------> (under way) ------------------------------------------------> (ended)
 *        ^               |                1. wait: if the ring finds the fault of a peer, do
 *        |               |                   nothing more
 *        +---------------+                2. report to the peers, ncclCommAbort
 *               end                       3. `end` returns the error; if it is not called soon,
 *                                            `on_fault`
 *
 * NCCL may also find an error between two calls, and refuse the next one with it.
 * Then `end` does step 1.
 *
 * Used by one thread, the one that calls NCCL, which also stops it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "worker/comm/exchange.h"
#include "worker/comm/nccl/nccl_api.h"

/* How long the caller may take to come back when the communicator is being aborted. */
#define NCCL_WATCH_BACK_NS INT64_C(2000000000)

struct nccl_watch_params { /* borrowed until nccl_watch_stop */
    const struct nccl_api *api;
    struct exchange *ring;              /* it watches the peers, and carries a report to them */
    const struct exchange_owner *owner; /* on_fault ends the process */
    int64_t limit_ns;                   /* of one call */
    /* A peer's end reaches NCCL before it can be distinguished from a failure of this rank: the
     * ring must have found a peer silent by then (heartbeat.h). */
    int64_t peer_ns;
};

struct nccl_watch {
    struct nccl_watch_params params;
    pthread_t thread;
    bool is_running;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    nccl_comm comm;   /* NULL: not connected */
    const char *what; /* the call that is under way; NULL: none is */
    int64_t since_ns;
    bool stops;
    int result;      /* the first failure that the watch has found */
    bool is_decided; /* the cause of the fault */
    struct err err;
};

int nccl_watch_start(struct nccl_watch *w, const struct nccl_watch_params *params, struct err *err);
/* Does nothing if it was not started. After it the communicator may be given back, unless
 * nccl_watch_end has failed. */
void nccl_watch_stop(struct nccl_watch *w);
/* A call begins, which people know as `what` (static). `comm`: NULL, or that which it uses. */
void nccl_watch_begin(struct nccl_watch *w, const char *what, nccl_comm comm);
/* It has ended with r. Returns r, or with *err what the watch has found; then the communicator is
 * gone. If r is a failure for which NCCL blames its network, it returns when a peer's fault is
 * known, after peer_ns at most. */
int nccl_watch_end(struct nccl_watch *w, int r, struct err *err);
