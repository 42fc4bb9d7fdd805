/* All-reduce by NCCL (nccl_gang.h), with the interface of collective.h: each rank has a GPU of its
 * own, and the two arrays of `memory` are on it. A call with these waits for its sum, as that of
 * nccl-tests does with -z 1; numbers of this process's own memory, NCCL_GANG_SUMS at most, go over
 * TCP.
 *
 * NCCL chooses the algorithm, and adds in an order of its own: the bits differ from those of the
 * other transports. */
#pragma once

#include "worker/comm/collective/collective.h"

/* As collective_mesh_new, but a fault of a peer ends the process through `owner`; `transport` and
 * `algorithm` are not read. n_max is at least 1. rendezvous_ns also limits how long NCCL may take
 * to connect, and for one call. -ELIBACC: a library is missing; -ENODEV: there is no GPU. */
int collective_nccl_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err);
