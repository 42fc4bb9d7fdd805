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

/* The same with vectors of one width. Returns false and leaves `sum` unchanged if this CPU does not
 * have them. */
enum grad_add_isa { GRAD_ADD_BASELINE, GRAD_ADD_AVX2, GRAD_ADD_AVX512 };
bool grad_add_by(enum grad_add_isa isa, float *sum, const float *grad, size_t n);
