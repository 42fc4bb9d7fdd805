/* Times training steps on synthetic data in memory, step by step and layer by layer. Used by
 * role_bench.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/record.h"
#include "worker/model/model.h"

#define BENCH_WARMUP_STEPS 2

struct bench_params {
    const struct model_def *def;
    uint32_t batch, threads;
    size_t steps; /* measured, after BENCH_WARMUP_STEPS */
    uint64_t seed;
};

struct bench_layer {
    char name[16];
    double cpu_ms[MODEL_PARTS]; /* CPU time per step: the mean over the measured steps */
    /* Of all parts together: CPU time with one thread, which other processes do not lengthen; with
     * more threads by the clock. */
    double forward_ms, backward_ms;
};

struct bench_result {                          /* owned arrays */
    double *samples_per_s, *samples_per_cpu_s; /* (steps), sorted */
    size_t steps;
    int64_t duration_ns, cpu_ns; /* of all measured steps together */
    struct bench_layer *layers;
    uint32_t n_layers;
    double update_cpu_ms; /* Adam's CPU time per step */
    double loss_nats;     /* of the last step */
    uint64_t max_rss_bytes;
    struct noise_probe noise;      /* a probe of the machine afterwards, */
    double probe_ms, probe_cpu_ms; /* and what it took */
    size_t model_bytes;
    const char *isa; /* static */
};

/* -ENOMEM. */
int bench_run(const struct bench_params *params, struct bench_result *ret, struct err *err);
void bench_done(struct bench_result *r);
double bench_median(const double *sorted, size_t n);
