/* The machines of a result's figures, distinguished by what their start records say.
 * Pure; called by result_build.c and trial_figures.c. */
#pragma once

#include "result/result.h"

/* Counts every replica of a point's succeeded trials in r->hardware; there are few kinds in a run.
 * Replicas without a start record are passed over. Sets the replicas' `node` and `hardware`, and
 * the point's `machines`. */
void hardware_collect(struct result *r, struct point_result *p);
/* What a start record says; owned. Returns its node, owned too; NULL: not said. */
char *hardware_read(const json_t *environment, struct hardware *ret);
/* One more replica of this kind; nothing is counted of one that says nothing. */
void hardware_count(struct result *r, struct replica_result *replica, const struct hardware *h);
void hardware_done(struct hardware *h);
