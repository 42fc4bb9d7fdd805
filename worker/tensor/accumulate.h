/* The sum of the gradients of several trainers or micro-batches. Take the first gradient as the sum
 * and add the others in trainer order: fp32 addition is not associative, so only this order gives a
 * parameter server that owns some slices the same bits as one process that owns all of them.
 * worker/comm/reduce.h keeps the order on the parameter server. */
#pragma once

#include <stddef.h>

/* sum (n) += grad (n), one rounded fp32 addition per element. They do not overlap. */
void grad_add(float *sum, const float *grad, size_t n);
