/* Whether the ranks of a mesh reach each other's numbers through shared memory. All do or none
 * does. They agree on it after the rendezvous, by all-reduces over TCP of what each one can:
 *
 *     can it give?    each rank has a segment (shm_segment.h), and listens for requests for it
 *     does it see?    each rank asks all others (shm_pass.h), and answers at the same time
 *     the verdict     all of them do: shared memory; else TCP, with the reason of the lowest rank
 *
 * The TCP connections stay, for life signs, faults and the end.
 *
 * A rank's segment:
 *
 *     control | two slots of MESH_SLOT_FLOATS | the array `from` (n_max) || the array `to` (n_max)
 *
 * mesh_shm.h says what the ranks do with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "worker/comm/shm/shm_peers.h"

struct mesh;

/* Numbers of one round that lie elsewhere than in the two arrays. */
#define MESH_SLOT_FLOATS (((size_t)512 << 10) / sizeof(float))

/* Of shm_control.done: what a rank says of itself, in addition to `ready`, the
 * rounds that it has begun. */
enum mesh_word {
    MESH_SUMMED,   /* blocks whose sums are there, of all rounds in place */
    MESH_FINISHED, /* rounds after which this rank reads nothing of another one's arrays */
    MESH_CALL,     /* of the rounds t with t mod 2 = 0, then = 1: struct mesh_call */
    MESH_WORDS = MESH_CALL + 2 * 4,
};

struct mesh_share {
    bool is_shared; /* the verdict */
    struct shm_peers shm;
    uint64_t n_rounds, n_summed;
    const float **numbers; /* (n_ranks) where those of the ranks are */
    uint32_t *n_copied;    /* (n_ranks) blocks of each rank that this one has copied, of a round */
    float *scratch;        /* (COLLECTIVE_SUM_SCRATCH) */
};

/* Makes the segment, unless the transport is Tcp. It says later if it cannot. Call it before
 * mesh_connect: large arrays take a while, in which it gives no signs of life. */
void mesh_share_init(struct mesh *m);
void mesh_share_done(struct mesh *m);
/* Call it when all ranks are connected. -ENOTSUP: the verdict is no, and the transport is
 * SharedMemory: all ranks return that. */
int mesh_share_agree(struct mesh *m, struct err *err);
