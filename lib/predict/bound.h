/* The fewest seconds that a training step can take, and what limits it. Pure. docs/prediction.md
 * has the formula with measured runs next to it.
 *
 *     compute        C + h L             C: a replica computes a step; L: latency, one way;
 *                                        h: latencies of a step that no computing hides
 *     replica link   max(out, in) / R    bytes that one trainer or worker sends, and receives
 *     server link    max(out, in) / R    bytes that one server sends, and receives
 *     server CPU     (out + in) c / t    c: CPU seconds of a byte; t: threads of a server
 *
 * A link carries R bytes a second in each direction. These may happen at the same time, so a step
 * takes at least as long as the longest of them. With P bytes of parameters, N trainers and S
 * servers a trainer sends and receives P, a server N P / S. N workers that reduce among themselves
 * send and receive 2 (N - 1) / N P each, which no all-reduce undercuts (Patarasuk and Yuan 2009,
 * doi:10.1016/j.jpdc.2008.09.002). With local steps all of it is divided by their number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spec/run_def.h"

/* What is assumed of all points. NaN: unknown, and so is every bound that needs it. */
struct bound_assumptions {
    double link_bits_per_s, server_link_bits_per_s; /* each way; links that are not shaped */
    double latency_s;                               /* of these links, one way */
    double server_s_per_byte;                       /* CPU time */
    double bytes;  /* of parameters as they are sent; NaN: those of benchworker's model, in FP32 or
                     BF16; of other systems unknown */
    double step_s; /* a replica computes so long in a step */
    int64_t batch_size; /* samples of that step; 0: it takes as long with any */
    int64_t threads;    /* that compute it; 0: any */
    bool is_of_layers;  /* it is one of benchworker, else of every system */
};

struct bound_traffic { /* bytes of one replica in a step; NaN: unknown */
    double out, in;
};
struct bound_inputs {    /* of a point */
    uint32_t n_replicas; /* trainers or workers */
    int64_t batch_size;  /* samples of one of them in a step; 0: unknown, and steps are counted */
    bool is_scaled;      /* the assumed step has another batch: its time is scaled by the ratio */
    double compute_s;    /* NaN: unknown */
    double latency_s, n_latencies;
    struct bound_traffic replica, server;           /* all zero where nothing is exchanged */
    double replica_bytes_per_s, server_bytes_per_s; /* NaN: unknown */
    double server_s_per_byte;                       /* NaN: unknown */
    uint32_t server_threads;                        /* at least 1 */
};
struct bound_inputs bound_inputs_of(const struct run_def *def, const struct point *point,
                                    const struct bound_assumptions *a);

enum bound_limit {
    BOUND_COMPUTE,
    BOUND_REPLICA_LINK,
    BOUND_SERVER_LINK,
    BOUND_SERVER_CPU,
    BOUND_COUNT /* no bound is known */
};
struct bound {
    double seconds[BOUND_COUNT]; /* of a step, by limit; NaN: unknown; 0: nothing to do */
    enum bound_limit limit;      /* the largest of those that are known, the first of equals */
    double step_s;               /* its seconds; NaN: no bound is known */
    double samples_per_s;        /* of all replicas at most; NaN: no bound is known */
};
struct bound bound_of(const struct bound_inputs *in);
