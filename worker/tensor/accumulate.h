/* The sum of the gradients of several trainers or micro-batches. Take the first gradient as the sum
 * and add the others in trainer order: fp32 addition is not associative, so only this order gives a
 * parameter server that owns some slices the same bits as one process that owns all of them.
 * worker/comm/ps/reduce.h keeps the order on the parameter server. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* sum (n) += grad (n), one rounded fp32 addition per element. They do not overlap. Uses the widest
 * vectors that this CPU has; the bits do not depend on the width. */
void grad_add(float *sum, const float *grad, size_t n);

/* bfloat16, the upper half of an fp32: 8 bits of exponent, 7 of mantissa. Numbers are rounded to
 * the nearest, ties to even; what is too large becomes infinite; infinities and NaNs stay what they
 * are. Widening is exact. The bits do not depend on the width of this CPU's vectors. */

/* to (n), from (n). They do not overlap. */
void bf16_narrow(uint16_t *to, const float *from, size_t n);
/* to (n), from (n). `from` may be the upper half of the memory of the floats, of which n are the
 * first: from = (uint16_t *)to + m, n <= m. */
void bf16_widen(float *to, const uint16_t *from, size_t n);
/* sum (n) += the fp32 of grad (n), one rounded fp32 addition per element. They do not overlap. */
void bf16_add(float *sum, const uint16_t *grad, size_t n);

/* The same with vectors of one width. Returns NULL if this CPU does not have them. */
enum vector_isa { VECTORS_BASELINE, VECTORS_AVX2, VECTORS_AVX512 };
struct vector_ops {
    void (*narrow)(uint16_t *to, const float *from, size_t n);
    void (*widen)(float *to, const uint16_t *from, size_t n);
    void (*add_bf16)(float *sum, const uint16_t *grad, size_t n);
    void (*add)(float *sum, const float *grad, size_t n);
};
const struct vector_ops *vector_ops(enum vector_isa isa);
