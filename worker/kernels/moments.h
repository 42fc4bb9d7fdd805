/* Mean and variance of channels from sums over parts of the pixels ("slots"). A slot holds, for
 * each of k channels, a pivot, the sum of y - pivot and the sum of its square, in fp32: an array
 * (3, k). Slots are merged in double and in order, so results do not depend on threads and errors
 * do not grow with the batch. Compiled once for each instruction set. */
#pragma once

#include <stddef.h>

#include "worker/kernels/isa.h"

#define moments_take ISA_SYMBOL(moments_take)
#define moments_merge ISA_SYMBOL(moments_merge)
#define moments_of ISA_SYMBOL(moments_of)
#define sum_pixels ISA_SYMBOL(sum_pixels)

/* Computes the slot of y (pixels, k). */
void moments_take(const float *y, size_t pixels, size_t k, float *slot);
/* Each slot stands for `of` pixels; the last one has the rest of `pixels`. */
void moments_merge(const float *slots, size_t k, size_t pixels, size_t of, float *mean, float *var);
/* The kernel bn_stats (kernels.h). */
void moments_of(const struct bn_shape *s, const float *y, float *mean, float *var,
                const struct work *work);
/* sums (k) of y (pixels, k): in fp32 over 256 pixels at a time, then in double. Of dy it is the
 * gradient of a bias. */
void sum_pixels(size_t pixels, size_t k, const float *y, float *sums);
