#include "worker/model/adam.h"

#include <math.h>

#include "base/mem.h"
#include "worker/tensor/arena.h"

void adam_init(struct adam *a, size_t n)
{
    a->m = xnew_array(float, n);
    a->v = xnew_array(float, n);
    arena_prefer_huge_pages(a->m, n * sizeof(float));
    arena_prefer_huge_pages(a->v, n * sizeof(float));
}

void adam_done(struct adam *a)
{
    free(a->m);
    free(a->v);
    a->m = a->v = NULL;
}

#define PART (1u << 16) /* elements per item */

struct step {
    const struct adam *a;
    size_t offset, n;
    float *params;
    const float *grad;
    float scale, lr_t;
};

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

static void item_update(void *ctx, size_t part, unsigned thread)
{
    const struct step *s = ctx;
    size_t first = part * PART, left = s->n - first, n = left < PART ? left : PART;
    size_t at = s->offset + first;
    (void)thread;
    update(n, s->params + first, s->a->m + at, s->a->v + at, s->grad + first, s->scale, s->a,
           s->lr_t);
}

void adam_apply(struct adam *a, uint64_t t, size_t offset, size_t n, float *params,
                const float *grad, float grad_scale)
{
    double power1 = pow((double)a->beta1, (double)t), power2 = pow((double)a->beta2, (double)t);
    struct step step = {
        .a = a,
        .offset = offset,
        .n = n,
        .params = params,
        .grad = grad,
        .scale = grad_scale,
        .lr_t = (float)((double)a->lr * sqrt(1.0 - power2) / (1.0 - power1)),
    };
    parallel_for(a->threads, (n + PART - 1) / PART, item_update, &step);
}
