/* Adam (Kingma & Ba 2015) over any range of the flat arena: lr 1e-3, betas .9 and .999, eps 1e-8,
 * bias correction as in the paper and in Fluid: lr_t = lr * sqrt(1-b2^t)/(1-b1^t). It is
 * element-wise, so a parameter server that owns some slices gets the same bits as one process that
 * owns everything. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/thread_pool.h"

struct adam {
    float lr, beta1, beta2, eps;
    float *m, *v;                /* (n) each, owned, zeroed */
    struct thread_pool *threads; /* share a step; borrowed; NULL: the caller alone */
};
#define ADAM_DEFAULT ((struct adam){.lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f})

void adam_init(struct adam *a, size_t n);
void adam_done(struct adam *a);
/* One step (t counts from 1) over elements offset .. offset+n of the state; params and grad point
 * to the first of them. grad is multiplied by grad_scale (1/trainers) first. */
void adam_apply(struct adam *a, uint64_t t, size_t offset, size_t n, float *params,
                const float *grad, float grad_scale);
