#include "worker/model/adam.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "worker/tensor/arena.h"

void adam_init(struct adam *a, size_t n)
{
    a->m = xnew_array(float, n);
    a->v = xnew_array(float, n);
    a->n = n;
    arena_prefer_huge_pages(a->m, n * sizeof(float));
    arena_prefer_huge_pages(a->v, n * sizeof(float));
}

void adam_done(struct adam *a)
{
    free(a->m);
    free(a->v);
    a->m = a->v = NULL;
    a->n = 0;
}

/* One loop over plain arrays; a separate function so that restrict holds. */
static void update(size_t n, float *restrict p, float *restrict m, float *restrict v,
                   const float *restrict grad, float scale, const struct adam *a, float lr_t)
{
    float beta1 = a->beta1, beta2 = a->beta2, eps = a->eps;
    for (size_t i = 0; i < n; i++) {
        float g = grad[i] * scale;
        m[i] = beta1 * m[i] + (1.0f - beta1) * g;
        v[i] = beta2 * v[i] + (1.0f - beta2) * g * g;
        p[i] -= lr_t * m[i] / (sqrtf(v[i]) + eps);
    }
}

void adam_apply(struct adam *a, uint64_t t, size_t offset, size_t n, float *params,
                const float *grad, float grad_scale)
{
    double power1 = pow((double)a->beta1, (double)t), power2 = pow((double)a->beta2, (double)t);
    float lr_t = (float)((double)a->lr * sqrt(1.0 - power2) / (1.0 - power1));
    update(n, params, a->m + offset, a->v + offset, grad, grad_scale, a, lr_t);
}
