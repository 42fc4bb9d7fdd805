/* A whole ring in one process, for the tests of all-reduce: workers as threads on loopback, the toy
 * optimiser of exchange_rig.h, free ports. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "exchange_rig.h"
#include "exchange/ring_plan.h"
#include "worker/comm/ring/exchange_ring.h"

#define RING_MAX 8

struct ring_worker {
    struct ring_rig *rig;
    uint32_t index;
    pthread_t thread;
    float *params;
    int result, after_the_end;
    struct err err;
    struct exchange_fault fault;
    struct exchange_times times; /* of its last step */
    size_t n_applied;            /* floats that its optimiser has seen in its last step */
    uint64_t applied_in;
    /* what it does differently */
    bool wrong_secret, wrong_digest, wrong_next, leaves, skips_barrier;
    bool never_starts;
    uint32_t claims;        /* 0, or another worker's index and one */
    uint64_t warmup, steps; /* 0: those of the rig */
};

struct ring_rig {
    size_t n_params;
    uint32_t n_ranks;
    struct slices slices;
    uint64_t warmup, steps;
    pid_t gang; /* the process that made it */
    size_t window_bytes;
    int64_t rendezvous_ns;
    int listen_fds[RING_MAX];
    struct net_addr addrs[RING_MAX];
    struct ring_worker workers[RING_MAX];
    atomic_int n_at_barrier;
};

/* Binds free ports. max_bytes of a slice: 0 for ring_slices. */
void ring_rig_init(struct ring_rig *r, size_t n_params, uint32_t n_ranks, size_t max_bytes);
/* As a worker of the rig would be given it. */
struct exchange_ring_params ring_rig_params(const struct ring_rig *r, uint32_t index);
/* Runs all workers to their ends. */
void ring_rig_run(struct ring_rig *r);
void ring_rig_done(struct ring_rig *r);
/* What all must have after so many steps: owned. The sum is that of the ring, begun by the rank
 * after the owner; or, `in_order`, from rank 0 on. */
float *ring_rig_want(const struct ring_rig *r, uint64_t steps, bool in_order);
