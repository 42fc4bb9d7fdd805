/* bfloat16, the upper half of an fp32: 8 bits of exponent, 7 of mantissa. Numbers are rounded to
 * the nearest, ties to even; what is too large becomes infinite; infinities and NaNs stay what they
 * are. Widening is exact. The bits do not depend on the width of this CPU's vectors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* to (n), from (n). They do not overlap. */
void bf16_narrow(uint16_t *to, const float *from, size_t n);
/* to (n), from (n). `from` may be the upper half of the memory of the floats, of which n are the
 * first: from = (uint16_t *)to + m, n <= m. */
void bf16_widen(float *to, const uint16_t *from, size_t n);
/* sum (n) += the fp32 of grad (n), one rounded fp32 addition per element. They do not overlap. */
void bf16_add(float *sum, const uint16_t *grad, size_t n);

/* The same with vectors of one width. NULL: this CPU does not have them. */
enum bf16_isa { BF16_BASELINE, BF16_AVX2, BF16_AVX512 };
struct bf16_ops {
    void (*narrow)(uint16_t *to, const float *from, size_t n);
    void (*widen)(float *to, const uint16_t *from, size_t n);
    void (*add)(float *sum, const uint16_t *grad, size_t n);
};
const struct bf16_ops *bf16_ops(enum bf16_isa isa);
