/* The measurement of all-reduce, see allreduce_measure.h. */
#include "worker/allreduce_measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PERIOD 61u /* of the numbers; prime, so that blocks begin with different ones */
#define PIECE ((size_t)4 << 20) /* floats that are written or checked between two signs of life */
#define PIECE_BYTES (PIECE * sizeof(float))
#define ALIGNMENT ((size_t)2 << 20) /* a huge page */

double allreduce_algbw(size_t bytes, double time_us)
{
    return (double)bytes / (time_us * 1e3);
}

double allreduce_busbw(size_t bytes, double time_us, uint32_t n_ranks)
{
    return allreduce_algbw(bytes, time_us) * 2 * (n_ranks - 1) / n_ranks;
}

size_t allreduce_next_bytes(const struct allreduce_params *p, size_t bytes)
{
    if (p->factor > 0) {
        return bytes <= p->max_bytes / p->factor ? bytes * p->factor : 0;
    }
    return p->step_bytes <= p->max_bytes - bytes ? bytes + p->step_bytes : 0;
}

static float *new_array(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

int allreduce_arrays_new(const struct allreduce_params *p, const struct collective *c,
                         struct allreduce_arrays *ret, struct err *err)
{
    struct collective_memory memory = {0};
    if (c->ops->memory != NULL) {
        c->ops->memory(c, &memory);
    }
    struct allreduce_arrays a = {.from = memory.from, .to = memory.to};
    const bool is_elsewhere = memory.from != NULL && c->ops->write != NULL;
    if (is_elsewhere) {
        a.piece = new_array(p->max_bytes < PIECE_BYTES ? p->max_bytes : PIECE_BYTES);
    } else if (memory.from == NULL) {
        a = (struct allreduce_arrays){
            .from = new_array(p->max_bytes), .to = new_array(p->max_bytes), .is_owned = true};
    }
    if (a.from == NULL || a.to == NULL || (is_elsewhere && a.piece == NULL)) {
        allreduce_arrays_done(&a);
        return err_set(err, ENOMEM, "no memory for two arrays of %zu bytes; choose a smaller -e",
                       p->max_bytes);
    }
    *ret = a;
    return 0;
}

void allreduce_arrays_done(struct allreduce_arrays *a)
{
    if (a->is_owned) {
        free(a->from);
        free(a->to);
    }
    free(a->piece);
    *a = (struct allreduce_arrays){0};
}

/* Where an array is written and read: itself, or a piece of it that is copied. */
struct place {
    struct collective *c;
    float *array, *piece; /* piece NULL: the array is memory like any other */
};

/* The floats from `at` on, in this process. */
static float *here(const struct place *p, size_t at)
{
    return p->piece != NULL ? p->piece : p->array + at;
}

/* n floats were written from `at` on. Writing an array for the first time takes
 * long: a sign of life. */
static int put(const struct place *p, size_t at, size_t n, struct err *err)
{
    const struct collective_ops *ops = p->c->ops;
    const int e = p->piece != NULL ? ops->write(p->c, p->array + at, p->piece, n, err) : 0;
    return e < 0 ? e : ops->beat(p->c, err);
}

/* n floats are to be read. */
static int get(const struct place *p, size_t at, size_t n, struct err *err)
{
    const struct collective_ops *ops = p->c->ops;
    const int e = p->piece != NULL ? ops->read(p->c, p->piece, p->array + at, n, err) : 0;
    return e < 0 ? e : ops->beat(p->c, err);
}

static size_t piece_at(size_t n, size_t at)
{
    return n - at < PIECE ? n - at : PIECE;
}

/* Every byte of n floats. */
static int set_bytes(const struct place *to, int byte, size_t n, struct err *err)
{
    int e = 0;
    for (size_t at = 0; at < n && e >= 0; at += PIECE) {
        memset(here(to, at), byte, piece_at(n, at) * sizeof(float));
        e = put(to, at, piece_at(n, at), err);
    }
    return e;
}

/* This rank's number at i, in the round-th check. */
static uint32_t number(uint32_t rank, uint32_t round, size_t i)
{
    return (uint32_t)((i + 7u * rank + 13u * round) % PERIOD);
}

static int fill(const struct allreduce_params *p, uint32_t round, const struct place *to, size_t n,
                struct err *err)
{
    float numbers[PERIOD];
    for (uint32_t i = 0; i < PERIOD; i++) {
        numbers[i] = (float)number(p->rank, round, i);
    }
    uint32_t k = 0;
    int e = 0;
    for (size_t at = 0; at < n && e >= 0; at += PIECE) {
        float *const piece = here(to, at);
        for (size_t i = 0; i < piece_at(n, at); i++) {
            piece[i] = numbers[k];
            k = k + 1 < PERIOD ? k + 1 : 0;
        }
        e = put(to, at, piece_at(n, at), err);
    }
    return e;
}

static int count_wrong(const struct allreduce_params *p, uint32_t round, const struct place *sums,
                       size_t n, uint64_t *ret, struct err *err)
{
    float want[PERIOD];
    for (uint32_t i = 0; i < PERIOD; i++) {
        uint32_t sum = 0; /* at most 60 x COLLECTIVE_RANKS_MAX: exact in fp32 */
        for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
            sum += number(rank, round, i);
        }
        want[i] = (float)sum;
    }
    uint64_t n_wrong = 0;
    uint32_t k = 0;
    int e = 0;
    for (size_t at = 0; at < n && e >= 0; at += PIECE) {
        e = get(sums, at, piece_at(n, at), err);
        const float *const piece = here(sums, at);
        for (size_t i = 0; i < piece_at(n, at) && e >= 0; i++) {
            n_wrong += piece[i] != want[k];
            k = k + 1 < PERIOD ? k + 1 : 0;
        }
    }
    *ret += n_wrong;
    return e;
}

/* The checked calls: their arrays are new each time. */
static int check(const struct allreduce_params *p, const struct place *from, const struct place *to,
                 size_t n, uint64_t *ret_wrong, struct err *err)
{
    struct collective *c = from->c;
    *ret_wrong = 0;
    for (uint32_t round = 0; round < p->checks; round++) {
        /* NaN: what is not written is wrong. */
        int e = from->array != to->array ? set_bytes(to, 0xff, n, err) : 0;
        e = e < 0 ? e : fill(p, round, from, n, err);
        e = e < 0 ? e : c->ops->all_reduce(c, from->array, to->array, n, err);
        e = e < 0 ? e : count_wrong(p, round, to, n, ret_wrong, err);
        if (e < 0) {
            return e;
        }
    }
    return 0;
}

/* The sum of `values` over all ranks. A float has 24 bits: enough for what is printed. */
static int sum_over_ranks(struct collective *c, float *values, size_t n, struct err *err)
{
    return c->ops->all_reduce(c, values, values, n, err);
}

/* The measured calls. The first sum is the barrier: no rank gets it before all have arrived. */
static int measure(const struct allreduce_params *p, const struct place *zeros, float *to, size_t n,
                   struct allreduce_figures *ret, struct err *err)
{
    struct collective *c = zeros->c;
    const float *from = zeros->array;
    float at_start = 0;
    int e = set_bytes(zeros, 0, n, err); /* in place the numbers would grow to infinity */
    for (uint32_t i = 0; i < p->warmup && e >= 0; i++) {
        e = c->ops->all_reduce(c, from, to, n, err);
    }
    e = e < 0 ? e : sum_over_ranks(c, &at_start, 1, err);
    const int64_t begin_ns = clock_monotonic_ns(), cpu_begin_ns = clock_process_cpu_ns();
    int64_t at_ns = begin_ns;
    struct allreduce_figures f = {.least_us = 1e30};
    for (uint32_t i = 0; i < p->iters && e >= 0; i++) {
        e = c->ops->all_reduce(c, from, to, n, err);
        const int64_t now_ns = clock_monotonic_ns();
        const double us = (double)(now_ns - at_ns) / 1e3;
        at_ns = now_ns;
        f.least_us = us < f.least_us ? us : f.least_us;
        f.most_us = us > f.most_us ? us : f.most_us;
    }
    if (e < 0) {
        return e;
    }
    float sums[2] = {(float)(at_ns - begin_ns) / 1e3f,
                     (float)(clock_process_cpu_ns() - cpu_begin_ns)};
    e = sum_over_ranks(c, sums, 2, err);
    f.time_us = (double)sums[0] / p->n_ranks / p->iters;
    f.cpu_ns_per_byte = (double)sums[1] / p->iters / ((double)n * sizeof(float));
    *ret = f;
    return e;
}

static int measure_and_check(const struct allreduce_params *p, const struct place *from,
                             const struct place *to, size_t n, struct allreduce_figures *ret,
                             struct err *err)
{
    uint64_t n_wrong;
    int e = measure(p, from, to->array, n, ret, err);
    e = e < 0 ? e : check(p, from, to, n, &n_wrong, err);
    if (e < 0) {
        return e;
    }
    float wrong = (float)n_wrong;
    e = sum_over_ranks(from->c, &wrong, 1, err);
    /* What adds wrongly may lose the count too: then the count is one more wrong number. */
    const bool is_count = wrong >= (float)n_wrong && wrong < 0x1p63f;
    ret->n_wrong = is_count ? (uint64_t)wrong : n_wrong + 1;
    return e;
}

int allreduce_measure(const struct allreduce_params *p, struct collective *c,
                      const struct allreduce_arrays *a, size_t bytes, struct allreduce_row *ret,
                      struct err *err)
{
    const size_t n = bytes / sizeof(float);
    struct allreduce_row row = {.bytes = bytes, .way = c->ops->way(c, n)};
    const struct place from = {c, a->from, a->piece}, to = {c, a->to, a->piece};
    int e = measure_and_check(p, &from, &to, n, &row.out_of_place, err);
    e = e < 0 ? e : measure_and_check(p, &from, &from, n, &row.in_place, err);
    if (e >= 0) {
        *ret = row;
    }
    return e;
}
