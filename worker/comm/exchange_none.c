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
};

static int none_nothing(struct exchange *x, struct err *err)
{
    (void)x;
    (void)err;
    return 0;
}

static int none_round(struct exchange *x, const float *grads, float *params,
                      struct exchange_times *ret, struct err *err)
{
    struct none *none = (struct none *)x;
    (void)err;
    int64_t begin_ns = clock_monotonic_ns();
    none->apply(none->ctx, ++none->t, 0, none->n, params, grads, 1.0f);
    *ret = (struct exchange_times){.update_ns = clock_monotonic_ns() - begin_ns};
    return 0;
}

static void none_abandon(struct exchange *x, int exit_code, const char *why)
{
    (void)x; /* there is no peer to tell */
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
    .round = none_round,
    .goodbye = none_nothing,
    .abandon = none_abandon,
    .fault = none_fault,
    .free = none_free,
};

int exchange_none_new(exchange_apply_fn apply, void *ctx, size_t n, struct exchange **ret,
                      struct err *err)
{
    (void)err;
    struct none *none = xnew(struct none);
    *none = (struct none){.base = {&none_ops}, .apply = apply, .ctx = ctx, .n = n};
    *ret = &none->base;
    return 0;
}
