/* All-reduce by NCCL, with the interface of collective.h: each rank has a GPU of its own, and the
 * two arrays of `memory` are on it. A call with these waits for its sum, as nccl-tests' does with
 * -z 1; numbers of this process's own memory go over TCP.
 *
 * A mesh over TCP (mesh.h) remains in addition, for the rendezvous, the secret, life signs, faults
 * and the end. Its first call carries NCCL's unique id from rank 0 to the others. While a call is
 * under way its thread asks the stream whether it is through, and beats; so a peer that dies or
 * stops is named as over TCP, although NCCL waits for it for ever.
 *
 * NCCL chooses the algorithm, and adds in an order of its own: the bits differ from those of the
 * other transports. */
#pragma once

#include "worker/comm/collective/collective.h"

/* As collective_mesh_new; `transport` is not read, and `algorithm` is that of numbers that are not
 * on the GPU. n_max is at least
 * 1. rendezvous_ns also limits how long NCCL may take to connect, and for one call. -ELIBACC: a
 *    library is missing; -ENODEV:
 * there is no GPU. */
int collective_nccl_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err);
