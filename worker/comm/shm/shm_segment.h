/* Memory that the ranks of one host read from each other: the gradients and new parameters of one
 * rank, and what it says about them. Each rank makes one segment, an anonymous file in memory, and
 * writes it alone: seals forbid everyone else to write to it, and everyone to change its size, so
 * what a rank has mapped stays mapped, whatever a peer does. Nothing has a name in the file system,
 * so nothing can be left there: a segment goes with the last process that maps it.
 *
 *     control | gradients (n_grads) | parameters (n_params)
 *
 * What a peer says in its control block is compared, and never used as an index or a length.
 *
 * A process that changes a counter rings the doorbells (doorbell.h) of those that sleep; one that
 * is about to sleep says so and looks once more:
 *
 *     changes    1  counter = value          sleeps     3  sleeps = 1
 *                2  sleeps?  1: rings                   4  counter?  value: does not sleep
 *
 * If 2 reads 0 and 4 reads the old value, both wait for ever. All four are sequentially consistent
 * accesses, so they have one order that agrees with that of each process: 2 before 3 and 4 before 1
 * would be a cycle with 1 before 2 and 3 before 4. Release and acquire alone allow it. The accesses
 * replace fences between weaker ones because the thread sanitizer does not know fences. They order
 * the numbers too: a process that reads a counter sees what was written before it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/comm/link/auth.h"

#define SHM_LINE_BYTES 64
/* The parts of a segment begin at multiples of it, so that huge pages can hold them. */
#define SHM_ALIGN_BYTES ((size_t)2 << 20)

/* At the start of a segment. Its rank writes it, the others read it. */
struct shm_control {
    uint8_t nonce
        [AUTH_NONCE_SIZE]; /* proves that this is the segment of the rank that handed it over */
    /* The gradients that are final, over all steps: in step t, with the last k floats final,
     * t * (n_params + 1) + k. Grows only. */
    _Alignas(SHM_LINE_BYTES) _Atomic uint64_t ready;
    _Alignas(SHM_LINE_BYTES) _Atomic uint32_t sleeps; /* 1: ring its doorbell after a change */
    /* (n_groups) of its own slice of each group: t + 1 when the new parameters
     * of step t are there. */
    _Alignas(SHM_LINE_BYTES) _Atomic uint64_t done[];
};

struct shm_layout {
    size_t n_grads, n_params;
    uint32_t n_groups;
    size_t grads_at, params_at, bytes; /* of the segment, from its start */
};
/* All ranks compute the same one. */
struct shm_layout shm_layout_of(size_t n_params, uint32_t n_groups);
/* The same with as many gradients as one likes. */
struct shm_layout shm_layout_of_two(size_t n_grads, size_t n_params, uint32_t n_groups);

struct shm_segment { /* a rank's own, or as a peer sees it */
    struct shm_layout layout;
    int fd;   /* owned; -1: only the mapping is left */
    void *at; /* NULL: none */
    struct shm_control *control;
    float *grads, *params; /* (n_grads), (n_params); a peer's cannot be written */
};

/* A new segment with a fresh nonce, the memory of its gradients reserved. -ENOSYS: this kernel
 * cannot forbid peers to write; -ENOMEM, -ENOSPC and others: no memory. */
int shm_segment_new(struct shm_segment *s, const struct shm_layout *layout, struct err *err);
/* Reserves the memory of n parameters from `offset` on: a page that cannot be had later is a
 * SIGBUS. Many get huge pages, where the kernel can, as the gradients do. */
int shm_segment_reserve(struct shm_segment *s, size_t offset, size_t n, struct err *err);
/* Maps a peer's segment, for reading. Takes the descriptor over, also if it fails.
 * -EPROTO: it has another size, or lacks a seal, so that its owner could take it away
 * while this process reads it. */
int shm_segment_open(struct shm_segment *s, const struct shm_layout *layout, int fd,
                     struct err *err);
void shm_segment_done(struct shm_segment *s);
