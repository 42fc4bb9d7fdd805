/* The sum of one server's slices over all trainers, always in trainer order: ((g0 + g1) + g2) + ...
 * Floating-point addition is not associative, so the order of arrival must not matter: a gradient
 * that arrives early is kept until those of all trainers before it have been added. Pure.
 *
 * Memory: one sum per slice, and at most `max_early` buffers for gradients of trainers other
 * than trainer 0; the gradient of trainer 0 is received into the sum. Such a gradient has a
 * buffer from reduce_reserve, before it may be sent, until it is added. The last buffer is only
 * for the gradient that is wanted next: that of slice `first`, of the trainer
 * slices[first].next. It is added as soon as it is complete, so the buffer is free again for the
 * next one, and no order of requests can get stuck. Each trainer sends its slices in their
 * order, so slices are completed in their order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/exchange_kind.h"

struct reduce_slice {
    size_t len; /* floats */
    float *sum; /* (len) owned; trainer 0's gradient lands here, in bf16 in the upper half of it */
    uint32_t next;  /* the trainer whose gradient is added next */
    size_t n_added; /* numbers of that gradient that are in the sum already */
    void **early;   /* (n_trainers) owned buffers of early gradients, NULL: none */
};

struct reduce {
    uint32_t n_trainers;
    enum exchange_wire wire; /* of gradients; sums are fp32 */
    struct reduce_slice *slices;
    size_t n;
    size_t first;        /* the slice that is completed next */
    size_t buffer_bytes; /* of the longest gradient */
    size_t max_early;    /* buffers, at least 1 */
    size_t n_reserved;   /* of these */
    size_t n_peak;       /* the most at a time that existed */
    size_t n_taken;
    VEC(void *) spare; /* owned, for gradients */
};

void reduce_init(struct reduce *r, uint32_t n_trainers, enum exchange_wire wire, const size_t *lens,
                 size_t n, size_t max_early_bytes);
void reduce_done(struct reduce *r);
/* True if there is memory for a trainer's gradient of slice i, now. */
bool reduce_has_room(const struct reduce *r, size_t i, uint32_t trainer);
/* Reserves it: there must be room. */
void reduce_reserve(struct reduce *r, size_t i, uint32_t trainer);
/* The buffer for a gradient whose memory is reserved. Return it with reduce_add or reduce_drop. */
void *reduce_take(struct reduce *r, size_t i, uint32_t trainer);
/* The first n numbers of a gradient have arrived in `grad` (from reduce_take). Adds them if it is
 * this trainer's turn, while the cache holds them; else reduce_add does it later. */
void reduce_add_part(struct reduce *r, size_t i, uint32_t trainer, const void *grad, size_t n);
/* Adds the complete gradient in `grad` (from reduce_take). True: reduce_sum is the
 * sum over all trainers, until trainer 0's next gradient of it begins to arrive, which
 * begins the next round. */
bool reduce_add(struct reduce *r, size_t i, uint32_t trainer, void *grad);
/* (len) */
const float *reduce_sum(const struct reduce *r, size_t i);
/* The gradient will not be added: its buffer is free. */
void reduce_drop(struct reduce *r, size_t i, uint32_t trainer, void *grad);
