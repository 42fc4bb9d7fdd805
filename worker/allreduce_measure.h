/* Measures all-reduce, message size by message size, as nccl-tests' all_reduce_perf does: the same
 * sizes, columns and formulas (those of the page on performance in NVIDIA/nccl-tests).
 *
 *     algbw = bytes / time            busbw = algbw x 2 (n - 1) / n
 *
 * A time is the mean of `iters` calls that follow each other, and the mean of all ranks. Every
 * rank checks every number of `checks` more calls; its numbers are small integers, so their sum
 * is exact in any order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "worker/comm/collective/collective.h"

struct allreduce_params {
    uint32_t rank, n_ranks;
    size_t min_bytes, max_bytes; /* multiples of 4, at least 4 */
    size_t factor;               /* from one size to the next, at least 2; 0: step_bytes is added */
    size_t step_bytes;           /* at least 4 */
    uint32_t warmup, iters, checks;
};

struct allreduce_figures {
    double time_us;           /* a call */
    double least_us, most_us; /* of this rank's calls */
    double cpu_ns_per_byte;   /* CPU time of all ranks, by bytes of the message */
    uint64_t n_wrong;         /* numbers of all ranks */
};

struct allreduce_row {
    size_t bytes;
    const char *way; /* of collective_ops.way */
    struct allreduce_figures out_of_place, in_place;
};

/* GB/s; time_us > 0. */
double allreduce_algbw(size_t bytes, double time_us);
double allreduce_busbw(size_t bytes, double time_us, uint32_t n_ranks);

/* The size after this one; 0: that was the last. */
size_t allreduce_next_bytes(const struct allreduce_params *p, size_t bytes);

/* The two arrays of a rank, of max_bytes: those of the collective, or its own. -ENOMEM. */
struct allreduce_arrays {
    float *from, *to;
    bool is_owned; /* else the collective's */
    /* owned: where parts of them are written and read; NULL: they are memory like any other */
    float *piece;
};
int allreduce_arrays_new(const struct allreduce_params *p, const struct collective *c,
                         struct allreduce_arrays *ret, struct err *err);
void allreduce_arrays_done(struct allreduce_arrays *a);

/* Measures one size. All ranks call it with the same one. */
int allreduce_measure(const struct allreduce_params *p, struct collective *c,
                      const struct allreduce_arrays *a, size_t bytes, struct allreduce_row *ret,
                      struct err *err);
