#include "worker/emulation.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"

int emulation_open(const struct role_env *e, struct emulation *ret, struct err *err)
{
    *ret = (struct emulation){
        .jitter_ratio = e->jitter_ratio,
        .seed = (uint64_t)e->seed,
        .trainer = (uint32_t)e->index,
        .factor = 1.0,
    };
    int r = layer_times_read(e->model, e->trace, &ret->times, err);
    if (r < 0 || e->exchange == EXCHANGE_NONE) {
        return r;
    }
    const struct emulated_arena_params arena = {
        .def = e->model,
        .model_name = e->model_name,
        .seed = (uint64_t)e->seed,
        .n_trainers = (uint32_t)e->n_trainers,
        .n_steps = (uint32_t)(e->warmup_steps + e->steps),
        .slices = role_env_slices(e),
        .wire = e->wire,
        .is_ring = e->exchange == EXCHANGE_ALL_REDUCE,
    };
    return emulated_arena_open(&arena, (int)e->arena_fd, &ret->arena, err);
}

void emulation_done(struct emulation *e)
{
    layer_times_done(&e->times);
    emulated_arena_close(&e->arena);
}

static void sleep_until(int64_t due_ns)
{
    const struct timespec at = {due_ns / 1000000000, due_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        continue; /* a signal: sleep on */
    }
}

static int64_t stretched(const struct emulation *e, int64_t layer_ns)
{
    return (int64_t)llround((double)layer_ns * e->factor);
}

void emulation_forward(struct emulation *e, uint64_t step, const struct model_hooks *hooks)
{
    e->factor = layer_times_factor(e->seed, e->trainer, step, e->jitter_ratio);
    int64_t due_ns = clock_monotonic_ns();
    for (uint32_t i = 0; i < e->times.n_layers; i++) {
        const struct layer_time *l = &e->times.layers[i];
        const int64_t asked_ns = clock_monotonic_ns();
        if (l->n > 0) {
            hooks->want(hooks->ctx, l->offset, l->n);
        }
        due_ns =
            layer_times_end(due_ns, asked_ns, clock_monotonic_ns(), stretched(e, l->forward_ns));
        sleep_until(due_ns);
    }
}

void emulation_backward(struct emulation *e, const struct model_hooks *hooks)
{
    int64_t due_ns = clock_monotonic_ns();
    for (uint32_t i = e->times.n_layers; i-- > 0;) {
        const struct layer_time *l = &e->times.layers[i];
        due_ns += stretched(e, l->backward_ns);
        sleep_until(due_ns);
        if (l->n > 0) {
            hooks->ready(hooks->ctx, l->offset);
        }
    }
}
