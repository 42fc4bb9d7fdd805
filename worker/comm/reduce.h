/* The sum of one server's slices over all trainers, always in trainer order: ((g0 + g1) + g2) + ...
 * Floating-point addition is not associative, so arrival order must not matter: an early arrival is
 * kept until all trainers before it have been added. Pure.
 *
 * Memory: one sum a slice, and at most one buffer for each early arrival. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reduce_slice {
    size_t len;    /* floats */
    float *sum;    /* (len) owned; trainer 0's gradient lands here */
    uint32_t next; /* trainer whose turn it is */
    float **early; /* (n_trainers) owned buffers, NULL: not there */
};

struct reduce {
    uint32_t n_trainers;
    struct reduce_slice *slices;
    size_t n;
    size_t max_len;
    float **spare; /* buffers of max_len */
    size_t n_spare, cap_spare;
};

void reduce_init(struct reduce *r, uint32_t n_trainers, const size_t *lens, size_t n);
void reduce_done(struct reduce *r);
/* A buffer for a trainer's gradient of slice i. Give it back with reduce_add or reduce_drop. */
float *reduce_take(struct reduce *r, size_t i, uint32_t trainer);
/* The gradient is complete in `grad` (from reduce_take). True: the sum of all is in slices[i].sum,
 * until the next reduce_take for trainer 0, which begins the next round. */
bool reduce_add(struct reduce *r, size_t i, uint32_t trainer, float *grad);
void reduce_drop(struct reduce *r, size_t i, uint32_t trainer, float *grad);
