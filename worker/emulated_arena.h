/* What all emulated trainers of a trial on one machine share, in one file in memory:
 *
 *   head | checksums (steps, slices) | gradients (n + a window for each trainer) | parameters (n)
 *
 * The gradients are read only and the same memory for all: trainer i sends them from its own place
 * on, so each sends other values, and other ones in the next step. Parameters are received into the
 * same memory by all and never read: what is checked is the checksum of each frame, against the
 * checksums here, which the first trainer computes alone, slice by slice: the sum in trainer order
 * and Adam, for every step.
 *
 * The workers of a ring apply the optimiser themselves and pass parameters on, so each has its own:
 * a private copy of those here, which no process writes to. Their sums begin at the rank after a
 * slice's owner (ring_plan.h).
 *
 * So 100 trainers need the memory of one. The first trainer that opens the file fills it, under a
 * lock that its death releases; the others wait. Edge file: maps and locks. Used by emulation.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/exchange_kind.h"
#include "exchange/slices.h"
#include "worker/model/model.h"

struct emulated_arena_params {
    const struct model_def *def;
    const char *model_name;
    uint64_t seed;
    uint32_t n_trainers;
    uint32_t n_steps;     /* warm-up included */
    struct slices slices; /* is_ring: ring_slices, with the ranks as servers */
    enum exchange_wire wire;
    bool is_ring; /* of workers, in Fp32; the n_trainers are its ranks */
};

struct emulated_arena {
    void *shared; /* the mapping of the whole file, owned */
    size_t bytes;
    const uint32_t *checksums; /* (n_steps, slices.n) of the parameters after each step */
    const float *grads;
    /* (slices.n_params). Of a ring: this process's own, at first as they are
     * before the first step. */
    float *params;
};

/* `fd`: an empty file, or one that a trainer of the same trial has filled; stays open. -1: a file
 * of this process alone. -EINVAL: another trial's; -ENOSPC, ... */
int emulated_arena_open(const struct emulated_arena_params *params, int fd,
                        struct emulated_arena *ret, struct err *err);
void emulated_arena_close(struct emulated_arena *a);
/* What the trainer sends in a step. */
const float *emulated_arena_grads(const struct emulated_arena *a, uint32_t trainer, uint64_t step);
