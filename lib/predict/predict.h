/* What the points of a definition would reach, before anybody runs them: docs/prediction.md. Each
 * point is simulated (gang.h) as often as it has trials, each with another seed. Pure.
 *
 * A prediction is no result: it has types of its own, so that code that compares results
 * cannot use it as one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "predict/gang.h"
#include "stats/stats.h"
#include "spec/run_def.h"

/* What TCP carries of a link's rate. A full frame takes 1538 bytes of an Ethernet, with its
 * preamble and the gap after it. A link that benchctl shapes counts 1514 bytes of it. The
 * payload is 1448 bytes. */
#define PREDICT_ETHERNET_PAYLOAD (1448.0 / 1538)
#define PREDICT_SHAPED_PAYLOAD (1448.0 / 1514)

/* How long a trainer or worker computes in a step of so many samples, measured. */
struct pass {
    int64_t batch_size;
    double forward_s, backward_s; /* without waiting */
};
struct passes { /* a vector (base/vec.h): each batch once */
    struct pass *items;
    size_t len, cap;
};

/* Calls one(ctx, i) for each i below n, in any order, some of them at a time. */
typedef void (*predict_each_fn)(void (*one)(void *ctx, uint32_t i), void *ctx, uint32_t n);

struct predict_params {
    predict_each_fn each;
    const struct trace *trace;   /* borrowed: how long the layers take, and the jitter */
    int64_t batch_size, threads; /* that these times are of */
    /* Borrowed, NULL: none. At a point with one of these batches the layers take so long together,
     * each its share of the trace. */
    const struct passes *passes;
    struct gang_costs costs;
    /* As in gang.h, like the rest. A worker's link is a trainer's. Of payload. A point whose links
     * the definition shapes has those instead. */
    double trainer_bytes_per_s, server_bytes_per_s, first_bytes_per_s;
    double latency_s;
    double n_cores;
};

enum predict_limit {
    PREDICT_COMPUTE,    /* under a tenth of a step is waiting for the exchange */
    PREDICT_STRAGGLER,  /* half of that, or more, is the slowest trainer of each step */
    PREDICT_LATENCY,    /* else the same would not be waited without a latency */
    PREDICT_SERVER_CPU, /* else whatever is used most */
    PREDICT_SERVER_LINK,
    PREDICT_TRAINER_LINK,
    PREDICT_WORKER_CPU, /* its communication thread */
    PREDICT_WORKER_LINK,
    PREDICT_CORES, /* those that all share */
};
extern const char *const predict_limit_names[]; /* "Compute", ... */

struct predicted_point {
    const struct point *point; /* borrowed from the definition */
    /* Samples/s; the interval is of the median over the seeds, so it holds what jitter
     * does and nothing else. */
    struct estimate throughput, speedup, efficiency;
    struct gang_result mean; /* over the seeds */
    enum predict_limit limit;
    bool is_scaled; /* times of its batch were not measured: they are taken to grow with it */
    /* More may be on its way to a server than waits for its shaped link, which drops the rest. The
     * simulation has no losses, so it may be too fast. */
    bool has_losses;
};

/* Points that differ in servers alone. */
struct predicted_servers {
    const struct predicted_point *best,
        *fewest; /* the fastest; the one with the fewest servers that is near it */
    size_t n;
};
#define PREDICT_NEAR 0.02

struct prediction {
    const struct run_def *def; /* borrowed */
    struct predict_params params;
    uint32_t n_seeds;
    struct predicted_point *points;        /* (def->matrix.n_points) owned */
    VEC(struct predicted_servers) servers; /* of each set of two or more such points */
};

/* -EINVAL: the definition has what cannot be simulated, or the trace does not fit the model;
 * -E2BIG: it is too large. */
int prediction_new(const struct run_def *def, const struct predict_params *params,
                   struct prediction **ret, struct err *err);
void prediction_free(struct prediction *p); /* NULL is fine */
/* kind BenchmarkPrediction, docs/contracts/prediction.md; owned. In predict_json.c. */
json_t *prediction_to_json(const struct prediction *p);
