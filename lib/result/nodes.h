/* A run's figures by the node that its replicas ran on. Pure; called by result_build.c, after
 * hardware.c has read the environments. */
#pragma once

#include "result/result.h"

/* Fills r->nodes, ordered by name. */
void nodes_collect(struct result *r);
/* Is this node slow, beyond chance? */
bool node_result_is_slow(const struct node_result *node);
/* Of the measured time of its replicas, 0 to 1; NaN: no replica says. */
double node_result_throttled_ratio(const struct node_result *node);
