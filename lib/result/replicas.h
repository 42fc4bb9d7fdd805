/* Each replica of a point over its succeeded trials: its own work in a step, what it spends with
 * the exchange, and whether it is slower than the others of its role (replica_speed.h). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "result/result.h"

struct replica_line {
    uint32_t point;
    enum role role;
    uint32_t index;
    const char *node; /* of its last trial that says one; borrowed; NULL: not said */
    size_t n_nodes;   /* different ones over its trials */
    size_t n_trials;  /* succeeded, with its summary */
    uint64_t n_steps; /* over these */
    double work_ns;   /* of a step; median over trials; NaN: not known */
    double
        exchange; /* share of its measured time in phases that are not its own; NaN: counts none */
    double throttled; /* share of it in which a cgroup kept it from running */
    double excess;    /* 0.12: 12% more time than the median of the others; median over trials; NaN:
                          nothing to compare with */
    size_t n_compared; /* trials in which it could be compared, */
    size_t n_slowest;  /* and in which it was the slowest of its role */
};
struct replica_lines {
    VEC(struct replica_line) list; /* by point, role, index */
};
void replica_lines_init(struct replica_lines *lines, const struct result *r);
void replica_lines_done(struct replica_lines *lines);
