/* All-reduce as a call: the sum of one array of every rank, on every rank. It works in the
 * caller's thread and returns when the sum is there, so a small message waits for no other
 * thread. Training uses exchange.h instead, which goes on while the model computes and applies
 * the optimiser on the way.
 *
 * All ranks make the same calls with the same n. A rank that computes between two calls
 * says so with `beat` at least once a second: its peers give up one from which nothing came
 * for 6 s. After a failure every call fails, `fault` names the cause, and the peers know
 * it: all name the same one. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "worker/comm/collective/collective_plan.h"
#include "worker/comm/exchange.h"
#include "worker/comm/link/meet.h"

struct collective;

/* Two arrays that belong to the collective, until free. Through shared memory peers read numbers
 * that lie there in place; then every rank must call with the same places of them. By NCCL they are
 * on the GPU. Any other memory does as well. */
struct collective_memory {
    float *from, *to; /* (n_max) zeroed, at multiples of a cache line. NULL: it has none */
};

struct collective_ops {
    /* to (n) = the sum of `from` (n) over all ranks. `from` and `to` are the same array or do not
     * overlap; both are on the GPU, or neither is. */
    int (*all_reduce)(struct collective *c, const float *from, float *to, size_t n,
                      struct err *err);
    /* Copy n floats into an array of `memory`, and out of it. NULL: it is memory like any other. */
    int (*write)(struct collective *c, float *to, const float *numbers, size_t n, struct err *err);
    int (*read)(struct collective *c, float *ret, const float *from, size_t n, struct err *err);
    /* Sends what the peers want to hear in time, and reads what they said. */
    int (*beat)(struct collective *c, struct err *err);
    /* The way that a message of n floats goes, for people. */
    const char *(*way)(const struct collective *c, size_t n);
    int (*goodbye)(struct collective *c, struct err *err);
    /* Ends it for a local reason, and reports it to the peers, which then name this rank. */
    void (*abandon)(struct collective *c, int exit_code, const char *why);
    void (*fault)(const struct collective *c, struct exchange_fault *ret);
    /* Over TCP, through shared memory, or by NCCL. NULL: over TCP. */
    enum exchange_transport (*transport)(const struct collective *c);
    /* NULL: it has none. */
    void (*memory)(const struct collective *c, struct collective_memory *ret);
    void (*free)(struct collective *c);
};

struct collective { /* implementations embed this as their first member */
    const struct collective_ops *ops;
};

/* What the digest of a rank is of: other settings than those of a training. */
#define COLLECTIVE_DIFFERS "its sizes, calls, algorithm, backend or number of ranks"

struct collective_params {
    struct meet_params gang;      /* role worker; its index is the rank */
    uint32_t n_ranks;             /* 1 to COLLECTIVE_RANKS_MAX */
    const struct net_addr *addrs; /* (n_ranks) borrowed; not read if there is one rank only */
    enum collective_algorithm algorithm;
    enum exchange_transport transport; /* not Nccl: see collective_nccl.h */
    size_t n_max;                      /* floats of the two arrays of `memory`; 0: none */
    struct exchange_owner owner;       /* of NCCL only: its on_fault ends the process */
};

/* Defined in collective_mesh.c: a TCP connection between any two ranks (mesh.h), and shared memory
 * where the transport wants it and all ranks see it (mesh_share.h). Returns when all are there. If
 * it fails, *ret_fault names the cause. -ENOTSUP: the transport is SharedMemory, and a rank does
 * not see it. -EINVAL: there are no ranks, or more than COLLECTIVE_RANKS_MAX. */
int collective_mesh_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err);
