/* Ranks with a GPU each that use NCCL together, for exchange_nccl.c.
 *
 * A ring over TCP (exchange_ring.h) remains in addition, for the rendezvous, the secret, the
 * barrier, life signs, faults, and sums of a few numbers, the first of which carries NCCL's unique
 * id from rank 0 to the others.
 *
 * All calls on a GPU are made in the caller's thread. A peer that dies during a call leaves that
 * thread waiting; the ring's thread then reports the fault through `on_fault`, which ends the
 * process. If no peer has failed, nccl_watch.h ends a call that NCCL reports as failed, or that
 * lasts longer than `rendezvous_ns`: it may wait so long for the slowest rank. */
#pragma once

#include "worker/comm/nccl/nccl_device.h"
#include "worker/comm/nccl/nccl_watch.h"
#include "worker/comm/ring/exchange_ring.h"

struct nccl_gang {
    struct exchange *ring; /* owned */
    struct nccl_device gpu;
    struct nccl_watch watch;
    struct exchange_owner owner;
    uint32_t n_ranks, rank;
    cuda_ptr arrays[2];
    nccl_comm comm; /* NULL: not connected */
    int result;     /* the first failure */
    struct err err;
};

/* `ring` is as for exchange_ring_new; of its slices the number of ranks is read, and `transport`,
 * `window_bytes` and `apply` are not. `what` begins the message of -ELIBACC: a library is missing,
 * and -ENODEV: there is no GPU. Undo it with nccl_gang_done, also if it fails. */
int nccl_gang_open(struct nccl_gang *g, const char *what, const struct exchange_ring_params *ring,
                   struct err *err);
void nccl_gang_done(struct nccl_gang *g);
/* Connects all ranks and makes `arrays`, all zeros; the first call that needs them does it. */
int nccl_gang_connect(struct nccl_gang *g, const size_t bytes[static 2], struct err *err);
/* 0, or the first failure. */
int nccl_gang_result(const struct nccl_gang *g, struct err *err);
/* A failure here is this rank's: the others get a report and name it. Returns r. */
int nccl_gang_fail(struct nccl_gang *g, int r, const struct err *err);
/* Adds up n numbers over all ranks, at most NCCL_GANG_SUMS, without the GPU. */
#define NCCL_GANG_SUMS NCCL_ID_BYTES
int nccl_gang_sum(struct nccl_gang *g, const float *from, float *to, size_t n, struct err *err);
/* Waits for the work that nccl_watch_begin has announced, of which the calls have returned r. */
int nccl_gang_finish(struct nccl_gang *g, int r, struct err *err);
/* As of exchange_ops. */
void nccl_gang_abandon(struct nccl_gang *g, int exit_code, const char *why);
