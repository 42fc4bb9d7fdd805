/* Mean and variance of channels from sums over parts of the pixels ("slots"): a slot holds, for
 * each of k channels, a pivot, the sum of y - pivot and of its square, in fp32: arrays (3, k).
 * Slots are merged in double and in order, so results depend on no thread and errors do not grow
 * with the batch. Compiled once for each instruction set. */
#pragma once

#include <stddef.h>

#include "worker/kernels/isa.h"

#define moments_take ISA_SYMBOL(moments_take)
#define moments_merge ISA_SYMBOL(moments_merge)
#define moments_of ISA_SYMBOL(moments_of)

/* Slot of `pixels` pixels of y (pixels, k). */
void moments_take(const float *y, size_t pixels, size_t k, float *slot);
/* All slots hold `of` pixels but the last, which has the rest of `pixels`. */
void moments_merge(const float *slots, size_t k, size_t pixels, size_t of, float *mean, float *var);
/* The kernel bn_stats (kernels.h). */
void moments_of(const struct bn_shape *s, const float *y, float *mean, float *var,
                const struct work *work);
