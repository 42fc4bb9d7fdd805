/* See local_update.h. */
#include "worker/local_update.h"

#include "base/clock.h"

void local_update_init(struct local_update *b, const struct exchange_mode *mode, struct adam *adam,
                       size_t n)
{
    *b = (struct local_update){
        .mode = *mode,
        .n = n,
        .adam = adam,
    };
}

void local_update_begin(struct local_update *b, uint64_t step, float *grads, float *params)
{
    b->step = step;
    b->from = b->n;
    b->ns = 0;
    b->grads = grads;
    b->params = params;
}

bool local_update_ready(struct local_update *b, size_t offset)
{
    const size_t n = b->from - offset;
    const int64_t begin_ns = clock_monotonic_ns();
    if (b->mode.local_steps > 0) {
        adam_apply(b->adam, b->step + 1, offset, n, b->params + offset, b->grads + offset, 1.0f);
    }
    b->from = offset;
    b->ns += clock_monotonic_ns() - begin_ns;
    return exchange_mode_follows(&b->mode, b->step);
}
