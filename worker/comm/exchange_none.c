/* The exchange without peers, where the optimiser runs in the trainer's process. This is what the
 * SingleNode baseline of a benchmark runs. */
#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/exchange.h"

struct none {
    struct exchange base;
    exchange_apply_fn apply;
    void *ctx;
    size_t n;
    uint64_t t;
    const float *grads; /* of the step, borrowed */
    float *params;
};

static int none_nothing(struct exchange *x, struct err *err)
{
    (void)x;
    (void)err;
    return 0;
}

static int none_begin(struct exchange *x, const float *grads, float *params, struct err *err)
{
    struct none *none = (struct none *)x;
    (void)err;
    none->grads = grads;
    none->params = params;
    return 0;
}

static void none_ready(struct exchange *x, size_t offset)
{
    (void)x; /* end does all */
    (void)offset;
}

static int none_need(struct exchange *x, size_t offset, size_t n, struct err *err)
{
    (void)x;
    (void)offset;
    (void)n;
    (void)err;
    return 0;
}

static int none_end(struct exchange *x, struct exchange_times *ret, struct err *err)
{
    struct none *none = (struct none *)x;
    (void)err;
    int64_t begin_ns = clock_monotonic_ns();
    none->apply(none->ctx, ++none->t, 0, none->n, none->params, none->grads, 1.0f);
    *ret = (struct exchange_times){.update_ns = clock_monotonic_ns() - begin_ns};
    return 0;
}

static void none_abandon(struct exchange *x, int exit_code, const char *why)
{
    (void)x; /* there is no peer to report to */
    (void)exit_code;
    (void)why;
}

static void none_fault(const struct exchange *x, struct exchange_fault *ret)
{
    (void)x;
    *ret = (struct exchange_fault){0};
}

static void none_free(struct exchange *x)
{
    free(x);
}

static const struct exchange_ops none_ops = {
    .barrier = none_nothing,
    .begin = none_begin,
    .ready = none_ready,
    .need = none_need,
    .end = none_end,
    .goodbye = none_nothing,
    .abandon = none_abandon,
    .fault = none_fault,
    .free = none_free,
};

struct exchange *exchange_none_new(exchange_apply_fn apply, void *ctx, size_t n)
{
    struct none *none = xnew(struct none);
    *none = (struct none){.base = {&none_ops}, .apply = apply, .ctx = ctx, .n = n};
    return &none->base;
}

int exchange_round(struct exchange *x, const float *grads, float *params,
                   struct exchange_times *ret, struct err *err)
{
    int r = x->ops->begin(x, grads, params, err);
    if (r < 0) {
        return r;
    }
    x->ops->ready(x, 0);
    return x->ops->end(x, ret, err);
}
