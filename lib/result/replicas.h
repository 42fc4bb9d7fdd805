/* Each replica of a point over its succeeded trials: its own work in a step, what it spends with
 * the exchange, and whether it is slower than the others of its role (replica_speed.h). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/record.h"

struct point_result;
struct trial_result;

struct replica_line {
    uint32_t point;
    enum role role;
    uint32_t index;
    const char *node;  /* of its last trial that says one; borrowed; NULL: not said */
    uint32_t n_nodes;  /* different ones over its trials */
    uint32_t n_trials; /* succeeded, with its summary */
    uint64_t n_steps;  /* over these */
    double work_ns;    /* of a step; median over trials; NaN: not known */
    double
        exchange; /* share of its measured time in phases that are not its own; NaN: counts none */
    double throttled; /* share of it in which a cgroup kept it from running */
    double excess;    /* 0.12: 12% more time than the median of the others; median over trials; NaN:
                          nothing to compare with */
    uint32_t n_compared; /* trials in which it could be compared, */
    uint32_t n_slowest;  /* and in which it was the slowest of its role */
};
struct replica_lines {
    VEC(struct replica_line) list; /* by point, role, index */
};
/* The most resident memory, in MiB, of a replica of a role that leads; NaN if none says it. */
double peak_memory(const struct trial_result *t, enum role leading);
/* Adds those of one more point, while its replicas are in memory. */
void replica_lines_add(struct replica_lines *lines, const struct point_result *p);
