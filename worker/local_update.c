/* See local_update.h. */
#include "worker/local_update.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/tensor/accumulate.h"

void local_update_init(struct local_update *b, const struct exchange_mode *mode, struct adam *adam,
                       size_t n)
{
    *b = (struct local_update){
        .mode = *mode,
        .n = n,
        .sum = mode->accumulate > 0 ? xnew_array(float, n) : NULL,
        .adam = adam,
    };
}

void local_update_done(struct local_update *b)
{
    free(b->sum);
    *b = (struct local_update){0};
}

void local_update_begin(struct local_update *b, uint64_t step, float *grads, float *params)
{
    b->step = step;
    b->from = b->n;
    b->ns = 0;
    b->grads = grads;
    b->params = params;
}

/* Adds in the order of the steps: ((g0 + g1) + g2) + ... */
static void add_up(struct local_update *b, size_t offset, size_t n)
{
    float *sum = b->sum + offset, *grads = b->grads + offset;
    if (b->step % b->mode.accumulate == 0) {
        memcpy(sum, grads, n * sizeof(*sum));
        return;
    }
    grad_add(sum, grads, n);
    const float scale = 1.0f / (float)b->mode.accumulate;
    for (size_t i = 0; exchange_mode_follows(&b->mode, b->step) && i < n; i++) {
        grads[i] = sum[i] * scale;
    }
}

bool local_update_ready(struct local_update *b, size_t offset)
{
    const size_t n = b->from - offset;
    const int64_t begin_ns = clock_monotonic_ns();
    if (b->mode.accumulate > 0) {
        add_up(b, offset, n);
    } else if (b->mode.local_steps > 0) {
        adam_apply(b->adam, b->step + 1, offset, n, b->params + offset, b->grads + offset, 1.0f);
    }
    b->from = offset;
    b->ns += clock_monotonic_ns() - begin_ns;
    return exchange_mode_follows(&b->mode, b->step);
}
