/* A run's figures by the node that its replicas ran on. Pure. */
#pragma once

#include "result/result.h"

/* Counts a replica of a succeeded trial on its node, with the CPU of its hardware. */
void nodes_count(struct result *r, const struct replica_row *replica, const char *cpu_model);
/* Compares the replicas of a point; and evaluates the nodes when all points are. */
void nodes_collect(struct result *r, const struct point_result *p);
void nodes_end(struct result *r);
void node_result_done(struct node_result *node);
/* Is this node slow, beyond chance? */
bool node_result_is_slow(const struct node_result *node);
/* Of the measured time of its replicas, 0 to 1; NaN: no replica says. */
double node_result_throttled_ratio(const struct node_result *node);
