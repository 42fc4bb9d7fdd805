/* The exchange of workers through NCCL, each with a GPU of its own: gradients are copied to the
 * device as they become final, NCCL adds them up and scatters the sums, the optimiser runs here on
 * this rank's part of the parameters, and NCCL gathers the new ones.
 *
 *     gradients  -> device   ncclReduceScatter   -> host: the sum of this rank's part, optimiser
 *     parameters -> device   ncclAllGather       -> host: all parameters
 *
 * A ring over TCP (exchange_ring.h) remains for the rendezvous, the secret, the barrier, life signs
 * and faults, and carries NCCL's unique id from rank 0 to the others.
 *
 * All calls on a GPU are made in the caller's thread. A peer that dies during a call leaves that
 * thread waiting; the ring's thread then reports the fault through `on_fault`, which ends the
 * process. If no peer has failed, nccl_watch.h ends a call that NCCL reports as failed, or that
 * lasts longer than `rendezvous_ns`: it may wait that long for the slowest rank.
 *
 * NCCL adds in an order of its own, so the bits differ from those of the other transports. */
#pragma once

#include "worker/comm/ring/exchange_ring.h"

/* `ring` is as for exchange_ring_new, but only the numbers of parameters and ranks of its `slices`
 * are read. apply is called in the caller's thread, once a step, with offset 0 and
 * exchange_nccl_part floats. Returns -ELIBACC if a library is missing, -ENODEV without a GPU. */
int exchange_nccl_new(const struct exchange_ring_params *ring, struct exchange **ret,
                      struct err *err);
/* Returns the number of parameters that a rank updates: the last ranks may have fewer. */
size_t exchange_nccl_part(size_t n_params, uint32_t n_ranks, uint32_t rank);
