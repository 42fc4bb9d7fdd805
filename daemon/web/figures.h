/* What /metrics shows of a run's points: a few numbers each, copied out of a result so that the
 * result and its rows can be freed. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "result/result.h"

struct point_figures {
    uint32_t point;
    char *system; /* owned */
    char *other;  /* swept values without a label of their own, "cpu=400m memory=1Gi"; owned */
    uint32_t pservers, trainers;
    int64_t batch_size, threads;
    struct estimate throughput, speedup, efficiency, baseline_throughput;
    uint32_t n_succeeded; /* trials */
};

/* As `benchctl results --by node` shows it. */
struct node_figures {
    char *name; /* owned */
    uint32_t n_replicas, n_points, n_slower;
    double excess, throttled; /* ratios; NaN: not known */
};

struct run_gauges {
    struct point_figures *points; /* swept ones, by index; owned */
    size_t n_points;
    struct node_figures *nodes; /* by name; owned */
    size_t n_nodes;
    uint32_t n_slow_replicas; /* slower than the others of their role beyond their spread */
};

struct run_gauges *run_gauges_new(const struct result *r);
void run_gauges_free(struct run_gauges *figures); /* NULL is fine */
