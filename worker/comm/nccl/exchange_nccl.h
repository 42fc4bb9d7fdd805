/* The exchange of workers through NCCL, each with a GPU of its own: gradients are copied to the
 * device as they become final, NCCL adds them up and scatters the sums, the optimiser runs here on
 * this rank's part of the parameters, and NCCL gathers the new ones.
 *
 *     gradients  -> device   ncclReduceScatter   -> host: the sum of this rank's part, optimiser
 *     parameters -> device   ncclAllGather       -> host: all parameters
 *
 * The ranks meet, and hear of faults, as nccl_gang.h has it. NCCL adds in an order of its own, so
 * the bits differ from those of the other transports. */
#pragma once

#include "worker/comm/ring/exchange_ring.h"

/* `ring` is as for exchange_ring_new, of all parameters; its `slices` are not those of NCCL. apply
 * is called in the caller's thread, once a step, with offset 0 and exchange_nccl_part floats.
 * -ELIBACC: a library is missing; -ENODEV: there is no GPU. */
int exchange_nccl_new(const struct exchange_ring_params *ring, struct exchange **ret,
                      struct err *err);
/* How many parameters a rank updates: all have the same but for the last ones. */
size_t exchange_nccl_part(size_t n_params, uint32_t n_ranks, uint32_t rank);
