/* Sums of gradients. Everyone who adds gradients of several trainers or micro-batches calls these
 * two in trainer order, copy first and add after: then a parameter server that owns slices and one
 * process that owns everything get the same bits. */
#pragma once

#include <stddef.h>

/* sum (n) = grad (n) */
void grad_copy(float *sum, const float *grad, size_t n);
/* sum (n) += grad (n), one rounded fp32 addition an element */
void grad_add(float *sum, const float *grad, size_t n);
