#include "worker/emulation.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "exchange/ring_plan.h"
#include "worker/comm/link/auth.h"
#include "worker/comm/link/crc32c.h"
#include "worker/model/adam.h"
#include "worker/tensor/accumulate.h"
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

/* ---- the arena ---- */

#define PAGE_BYTES ((size_t)4096)
#define SHIFT_FLOATS ((size_t)16) /* a cache line: the place stays aligned */
#define PARITIES 2                /* gradients alternate between steps */
#define GRADIENT_SD 0.01f
#define PART_FLOATS ((size_t)8192)

struct arena_params {
    const struct model_def *def;
    const char *model_name;
    uint64_t seed;
    uint32_t n_trainers;
    uint32_t n_steps;     /* warm-up included */
    struct slices slices; /* is_ring: ring_slices, with the ranks as servers */
    enum exchange_wire wire;
    bool is_ring; /* of workers, in FP32; the n_trainers are its ranks */
};

struct head {
    uint8_t key[AUTH_DIGEST_SIZE]; /* what the content is made from */
    uint64_t is_filled;            /* written last */
};

struct layout { /* offsets in the file, in bytes */
    size_t checksums, grads, params, end;
};

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static size_t n_grads(const struct arena_params *p)
{
    return p->slices.n_params + SHIFT_FLOATS * PARITIES * p->n_trainers;
}

static struct layout layout_of(const struct arena_params *p)
{
    struct layout l = {.checksums = PAGE_BYTES};
    l.grads = l.checksums + whole_pages((size_t)p->n_steps * p->slices.n * sizeof(uint32_t));
    l.params = l.grads + whole_pages(n_grads(p) * sizeof(float));
    l.end = l.params + whole_pages(p->slices.n_params * sizeof(float));
    return l;
}

static void key_of(const struct arena_params *p, uint8_t ret[static AUTH_DIGEST_SIZE])
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "1 %s seed=%" PRIu64 " params=%zu trainers=%" PRIu32 " slices=%" PRIu32
                   " servers=%" PRIu32 " steps=%" PRIu32 " wire=%s%s",
                   p->model_name, p->seed, p->slices.n_params, p->n_trainers, p->slices.n,
                   p->slices.n_servers, p->n_steps, exchange_wire_names[p->wire],
                   p->is_ring ? " ring" : "");
    auth_sha256(text, strlen(text), ret);
}

static size_t place_of(uint32_t trainer, uint64_t step)
{
    return SHIFT_FLOATS * (PARITIES * (size_t)trainer + (size_t)(step % PARITIES));
}

/* ---- the content ---- */

/* As a server, or a ring, adds. n <= PART_FLOATS. */
static void sum_up(const struct arena_params *p, const float *grads, uint32_t first, size_t offset,
                   size_t n, uint64_t step, float *sum)
{
    uint16_t narrowed[PART_FLOATS];
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        const uint32_t from = (first + t) % p->n_trainers;
        const float *grad = grads + place_of(from, step) + offset;
        if (p->wire == EXCHANGE_WIRE_BF16) {
            bf16_narrow(narrowed, grad, n);
        }
        if (p->wire == EXCHANGE_WIRE_BF16 && t == 0) {
            bf16_widen(sum, narrowed, n);
        } else if (p->wire == EXCHANGE_WIRE_BF16) {
            bf16_add(sum, narrowed, n);
        } else if (t == 0) {
            memcpy(sum, grad, n * sizeof(float));
        } else {
            grad_add(sum, grad, n);
        }
    }
}

/* Continues the checksum over n parameters as they are sent. n <= PART_FLOATS. */
static uint32_t check_more(const struct arena_params *p, uint32_t crc, const float *params,
                           size_t n)
{
    uint16_t narrowed[PART_FLOATS];
    if (p->wire == EXCHANGE_WIRE_FP32) {
        return crc32c(crc, params, n * sizeof(float));
    }
    bf16_narrow(narrowed, params, n);
    return crc32c(crc, narrowed, n * sizeof(uint16_t));
}

/* All steps of a part of slice i, which stays in the caches. `params` holds the initial values.
 * Continues the checksums over the parts before it. */
static void train_alone(const struct arena_params *p, const float *grads, const float *params,
                        uint32_t i, size_t offset, size_t n, uint32_t *checksums)
{
    /* The replica that is first in a sum: in a ring the rank after the slice's owner, which adds
     * last; a server adds in trainer order. */
    const uint32_t owner = slices_get(&p->slices, i).server;
    const uint32_t first = p->is_ring ? ring_next(p->n_trainers, owner) : 0;
    float own[PART_FLOATS], sums[PARITIES][PART_FLOATS];
    memcpy(own, params + offset, n * sizeof(float));
    for (uint32_t parity = 0; parity < PARITIES; parity++) {
        sum_up(p, grads, first, offset, n, parity, sums[parity]);
    }
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, n);
    for (uint32_t step = 0; step < p->n_steps; step++) {
        adam_apply(&adam, step + 1, 0, n, own, sums[step % PARITIES], 1.0f / (float)p->n_trainers);
        uint32_t *crc = &checksums[(size_t)step * p->slices.n + i];
        *crc = check_more(p, *crc, own, n);
    }
    adam_done(&adam);
}

static void fill(const struct arena_params *p, char *at)
{
    const struct layout l = layout_of(p);
    float *grads = (float *)(at + l.grads), *params = (float *)(at + l.params);
    const struct rng_key key = {.seed = p->seed, .stream = rng_stream(RNG_GRADS, 0, 0)};
    rng_normal(key, GRADIENT_SD, grads, n_grads(p));
    model_init_params(p->def, p->seed, params);
    uint32_t *checksums = (uint32_t *)(at + l.checksums);
    memset(checksums, 0, (size_t)p->n_steps * p->slices.n * sizeof(uint32_t));
    for (uint32_t i = 0; i < p->slices.n; i++) {
        const struct slice slice = slices_get(&p->slices, i);
        for (size_t done = 0; done < slice.len; done += PART_FLOATS) {
            const size_t left = slice.len - done;
            train_alone(p, grads, params, i, slice.offset + done,
                        left < PART_FLOATS ? left : PART_FLOATS, checksums);
        }
    }
}

/* ---- the file ---- */

/* Waits for whoever fills it. A lock of the process: children of one parent share the open file, so
 * flock would not keep them apart. */
static int lock_file(int fd, struct err *err)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int r;
    do {
        r = fcntl(fd, F_SETLKW, &whole);
    } while (r < 0 && errno == EINTR);
    return r < 0 ? err_set_errno(err, errno, "shared arena: lock") : 0;
}

static void unlock_file(int fd)
{
    const struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_SETLK, &whole); /* closing does it, too */
}

/* Reserves the memory, so that lack of it is an error here and not a signal later. */
static int make_room(int fd, size_t bytes, struct err *err)
{
    struct stat is;
    if (fstat(fd, &is) < 0) {
        return err_set_errno(err, errno, "shared arena");
    }
    if (is.st_size != 0 && is.st_size != (off_t)bytes) {
        return err_set(err, EINVAL, "shared arena: %lld bytes, expected %zu: it is another trial's",
                       (long long)is.st_size, bytes);
    }
    const int code = posix_fallocate(fd, 0, (off_t)bytes);
    return code != 0 ? err_set_errno(err, code, "shared arena: %zu bytes", bytes) : 0;
}

/* Of a ring: a private copy of the parameters, page by page as they are written. */
static int own_params(const struct arena_params *p, int fd, char *at, struct err *err)
{
    const struct layout l = layout_of(p);
    void *own = !p->is_ring ? NULL
                            : mmap(at + l.params, l.end - l.params, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_FIXED, fd, (off_t)l.params);
    return own == MAP_FAILED ? err_set_errno(err, errno, "shared arena: own parameters") : 0;
}

/* Fills it unless that was done. Whoever dies before `is_filled` leaves a file
 * that the next one fills. */
static int complete(const struct arena_params *p, char *at, struct err *err)
{
    struct head *head = (struct head *)at;
    uint8_t key[AUTH_DIGEST_SIZE];
    key_of(p, key);
    if (head->is_filled == 0) {
        fill(p, at);
        memcpy(head->key, key, sizeof(key));
        head->is_filled = 1;
    }
    if (memcmp(head->key, key, sizeof(key)) != 0) {
        return err_set(err, EINVAL, "shared arena: it is another trial's");
    }
    return 0;
}

static int map(const struct arena_params *p, int fd, struct emulated_arena *ret, struct err *err)
{
    const struct layout l = layout_of(p);
    int r = make_room(fd, l.end, err);
    if (r < 0) {
        return r;
    }
    char *at = mmap(NULL, l.end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        return err_set_errno(err, errno, "shared arena: map %zu bytes", l.end);
    }
    r = complete(p, at, err);
    if (r >= 0 && mprotect(at, l.params, PROT_READ) < 0) {
        r = err_set_errno(err, errno, "shared arena: protect the gradients");
    }
    r = r < 0 ? r : own_params(p, fd, at, err);
    if (r < 0) {
        (void)munmap(at, l.end); /* nothing to lose */
        return r;
    }
    *ret = (struct emulated_arena){
        .shared = at,
        .bytes = l.end,
        .checksums = (const uint32_t *)(at + l.checksums),
        .grads = (const float *)(at + l.grads),
        .params = (float *)(at + l.params),
    };
    return 0;
}

/* `fd`: an empty file, or one that a trainer of the same trial has filled; stays open. -1: a file
 * of this process alone. -EINVAL: another trial's; -ENOSPC, ... */
static int arena_open(const struct arena_params *params, int fd, struct emulated_arena *ret,
                      struct err *err)
{
    _cleanup_(fd_close) int own_fd = fd < 0 ? memfd_create("benchd-arena", MFD_CLOEXEC) : -1;
    const int use_fd = fd < 0 ? own_fd : fd;
    if (use_fd < 0) {
        return err_set_errno(err, errno, "shared arena: memfd");
    }
    int r = lock_file(use_fd, err);
    if (r >= 0) {
        r = map(params, use_fd, ret, err);
        unlock_file(use_fd);
    }
    return r; /* the mapping keeps the memory */
}

static void arena_close(struct emulated_arena *a)
{
    if (a->shared != NULL) {
        (void)munmap(a->shared, a->bytes); /* nothing to lose */
    }
    *a = (struct emulated_arena){0};
}

/* ---- the trainer ---- */

int emulation_open(const struct role_env *e, struct emulation *ret, struct err *err)
{
    *ret = (struct emulation){.env = e, .factor = 1.0};
    int r = layer_times_read(e->model, e->trace, &ret->times, err);
    if (r < 0 || e->exchange == EXCHANGE_NONE) {
        return r;
    }
    const struct arena_params arena = {
        .def = e->model,
        .model_name = e->model_name,
        .seed = (uint64_t)e->seed,
        .n_trainers = (uint32_t)e->n_trainers,
        .n_steps = (uint32_t)(e->warmup_steps + e->steps),
        .slices = role_env_slices(e),
        .wire = e->wire,
        .is_ring = e->exchange == EXCHANGE_ALL_REDUCE,
    };
    return arena_open(&arena, (int)e->arena_fd, &ret->arena, err);
}

void emulation_done(struct emulation *e)
{
    layer_times_done(&e->times);
    arena_close(&e->arena);
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

const float *emulation_grads(const struct emulation *e, uint64_t step)
{
    return e->arena.grads == NULL ? NULL : e->arena.grads + place_of((uint32_t)e->env->index, step);
}

void emulation_forward(struct emulation *e, uint64_t step, const struct model_hooks *hooks)
{
    const struct role_env *env = e->env;
    e->factor =
        layer_times_factor((uint64_t)env->seed, (uint32_t)env->index, step, env->jitter_ratio);
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
