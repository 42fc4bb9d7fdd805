#include "worker/emulation.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "worker/tensor/rng.h"

/* ---- times of layers ---- */

#define CUT 3.0f

static void place_layers(const struct model_def *def, struct layer_times *p)
{
    struct layer_shape shape = {0};
    size_t offset = 0;
    for (uint32_t i = 0; i < def->n_layers; i++) {
        shape = layer_shape_next(def, i, i == 0 ? NULL : &shape);
        const struct layer_params sizes = layer_params(&def->layers[i], &shape);
        p->layers[i] = (struct layer_time){.offset = offset, .n = layer_params_total(&sizes)};
        offset += p->layers[i].n;
    }
}

/* The layer of that name; n_layers if none exists. */
static uint32_t find_layer(const struct model_def *def, const char *name)
{
    uint32_t i = 0;
    for (; i < def->n_layers; i++) {
        char it[16];
        model_def_layer_name(def, i, it);
        if (str_eq(it, name)) {
            break;
        }
    }
    return i;
}

/* "conv1_1=310000:640000" */
static int read_item(const struct model_def *def, char *item, bool *has, struct layer_times *p,
                     struct err *err)
{
    char *times = strchr(item, '=');
    char *second = times == NULL ? NULL : strchr(times, ':');
    if (second == NULL) {
        return err_set(err, EINVAL, "trace: '%s': expected LAYER=FORWARD:BACKWARD in nanoseconds",
                       item);
    }
    *times++ = '\0';
    *second++ = '\0';
    const uint32_t i = find_layer(def, item);
    if (i == def->n_layers) {
        return err_set(err, EINVAL,
                       "trace: %s has no layer '%s'; benchworker bench prints their names",
                       def->name, item);
    }
    if (has[i]) {
        return err_set(err, EINVAL, "trace: layer '%s' is there twice", item);
    }
    has[i] = true;
    if (parse_i64_in(times, 0, LAYER_TIMES_LAYER_NS_MAX, &p->layers[i].forward_ns) < 0 ||
        parse_i64_in(second, 0, LAYER_TIMES_LAYER_NS_MAX, &p->layers[i].backward_ns) < 0) {
        return err_set(err, EINVAL,
                       "trace: layer '%s': '%s:%s': expected nanoseconds from 0 to %lld", item,
                       times, second, (long long)LAYER_TIMES_LAYER_NS_MAX);
    }
    return 0;
}

static int read_layers(const struct model_def *def, char *text, bool *has, struct layer_times *p,
                       struct err *err)
{
    int r = 0;
    char *rest = text;
    while (r >= 0 && rest != NULL) {
        r = read_item(def, strsep(&rest, ","), has, p, err);
    }
    for (uint32_t i = 0; r >= 0 && i < p->n_layers; i++) {
        if (p->layers[i].n > 0 && !has[i]) {
            char name[16];
            model_def_layer_name(def, i, name);
            r = err_set(err, EINVAL, "trace: layer '%s' has parameters and no times", name);
        }
    }
    return r;
}

int layer_times_read(const struct model_def *def, const char *text, struct layer_times *ret,
                     struct err *err)
{
    struct layer_times p = {xnew_array(struct layer_time, def->n_layers), def->n_layers};
    _cleanup_(freep) char *copy = xstrdup(text);
    _cleanup_(freep) bool *has = xnew_array(bool, def->n_layers);
    place_layers(def, &p);
    const int r = read_layers(def, copy, has, &p, err);
    if (r < 0) {
        layer_times_done(&p);
        return r;
    }
    *ret = p;
    return 0;
}

void layer_times_done(struct layer_times *p)
{
    free(p->layers);
    *p = (struct layer_times){0};
}

double layer_times_factor(uint64_t seed, uint32_t trainer, uint64_t step, double jitter_ratio)
{
    float z;
    rng_normal((struct rng_key){seed, rng_stream(RNG_JITTER, trainer, step)}, 1.0f, &z, 1);
    return 1.0 + jitter_ratio * (double)fmaxf(-CUT, fminf(z, CUT));
}

int64_t layer_times_end(int64_t due_ns, int64_t asked_ns, int64_t got_ns, int64_t layer_ns)
{
    const bool has_waited = got_ns - asked_ns >= LAYER_TIMES_WAITED_NS;
    return (has_waited && got_ns > due_ns ? got_ns : due_ns) + layer_ns;
}

/* ---- the trainer ---- */

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
