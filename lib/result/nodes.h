/* A run's figures by the node that its replicas ran on. Pure; called by result.c, after hardware.c
 * has read the environments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result;

/* The replicas of succeeded trials on one node. Their time a step is compared with that of replicas
 * of the same role on other nodes, in the same trial (replica_speed.h). */
struct node_result {
    const char *name;      /* borrowed from a replica's result */
    const char *cpu_model; /* of its first replica that says one; borrowed; NULL: not said */
    size_t n_replicas;
    uint32_t n_points;   /* with a replica on it */
    uint32_t n_compared; /* of these, with replicas on other nodes to compare with */
    uint32_t n_slower;   /* of these, slower by 5% or more */
    double excess;       /* over these, geometric mean: 0.12 is 12% more time; NaN: none */
    double p; /* of "it is as fast as the others": Student's t over the points, adjusted for the
                 number of nodes; 1: under 3 points, or not slower by 5% */
    double throttled_s, measured_s; /* sums over its replicas */
};
/* Fills r->nodes, ordered by name. */
void nodes_collect(struct result *r);
/* Is this node slow, beyond chance? */
bool node_result_is_slow(const struct node_result *node);
/* Of the measured time of its replicas, 0 to 1; NaN: no replica says. */
double node_result_throttled_ratio(const struct node_result *node);
