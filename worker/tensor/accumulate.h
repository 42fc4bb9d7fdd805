/* The sum of the gradients of several trainers or micro-batches. Take the first gradient as the sum
 * and add the others in trainer order: fp32 addition is not associative, so only this order gives a
 * parameter server that owns some slices the same bits as one process that owns all of them.
 * worker/comm/ps/reduce.h keeps the order on the parameter server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* sum (n) += grad (n), one rounded fp32 addition per element. They do not overlap. Uses the widest
 * vectors that this CPU has; the bits do not depend on the width. */
void grad_add(float *sum, const float *grad, size_t n);
/* to (n) = a (n) + b (n): the bits of a copy and grad_add, with one pass less. `to` may be one of
 * them and overlaps nothing else. */
void grad_sum(float *to, const float *a, const float *b, size_t n);

/* The same with vectors of one width. False: this CPU does not have them, and `to` is as it was. */
enum grad_add_isa { GRAD_ADD_BASELINE, GRAD_ADD_AVX2, GRAD_ADD_AVX512 };
bool grad_sum_by(enum grad_add_isa isa, float *to, const float *a, const float *b, size_t n);
