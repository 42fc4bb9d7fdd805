/* A run's figures by the node that its replicas ran on. Pure; called by result_build.c, after
 * hardware.c has read the environments. */
#pragma once

#include "result/result.h"

/* The name as r->nodes has it, which are ordered by name: a new one is added. Borrowed; NULL of
 * NULL. */
const char *nodes_add(struct result *r, const char *name);
/* Is the node listed? *ret is its place, or the one where it belongs. */
bool nodes_find(const struct result *r, const char *name, size_t *ret);
/* Counts the replicas of a point; and evaluates them when all points are counted. */
void nodes_collect(struct result *r, const struct point_result *p);
void nodes_end(struct result *r);
void node_result_done(struct node_result *node);
/* Is this node slow, beyond chance? */
bool node_result_is_slow(const struct node_result *node);
/* Of the measured time of its replicas, 0 to 1; NaN: no replica says. */
double node_result_throttled_ratio(const struct node_result *node);
