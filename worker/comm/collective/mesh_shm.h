/* All-reduce through shared memory, in place of mesh_transfer.c. Nothing is sent: a rank reads the
 * others' numbers where they are, and adds in the order of the plan, so the bits are those over TCP
 * (collective_sum.h).
 *
 * A call is one round or several. All ranks begin the same rounds in the same order.
 *
 *     by slots      for short messages, and for numbers that are not in the ranks' segments: one
 *                   round for each MESH_SLOT_FLOATS.
 *         every rank     copies its numbers to its slot t mod 2 -> `ready`
 *                        all are ready: adds up all of them itself
 *       A rank begins round t + 1 when it has read all of round t, so a rank that sees `ready` of
 *       t + 1 may overwrite what it had in the slot of round t: no rank waits at the end.
 *
 *     in place      for long messages in the arrays of the segments: one round. A rank of two reads
 *                   1.5 bytes for each of the message and writes 1, the least possible as long as
 *                   no rank writes to the memory of another.
 *         every rank     its numbers are final -> `ready`
 *         owner          all are ready: adds up its block of a segment (collective_plan.h),
 *                        in place -> MESH_SUMMED
 *         every other    copies that block to where its own numbers were, while a cache holds it
 *                        -> MESH_FINISHED
 *         every rank     all have finished: the caller may change the arrays
 *
 * A rank looks at the counters of others only to compare them. It waits by looking for a while,
 * then it says that it sleeps, looks once more, and sleeps until its doorbell is rung, MESH_TICK_MS
 * at most: then it looks at the connections, which show the peers that are gone or silent. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "worker/comm/collective/collective.h"

struct mesh;

/* One call. -EPROTO: a rank makes another one, and is named. */
int mesh_shm_all_reduce(struct mesh *m, const float *from, float *to, size_t n, struct err *err);
/* The arrays of this rank's segment. */
struct collective_memory mesh_shm_memory(const struct mesh *m);
