/* The machines of a result's figures, distinguished by what their start records say.
 * Pure; called by result.c. */
#pragma once

#include "result/result.h"

/* Counts every replica of a point's succeeded trials in r->hardware; there are few kinds in a run.
 * Replicas without a start record are passed over. Sets the replicas' `node` and `hardware`, and
 * the point's `machines`. */
void hardware_collect(struct result *r, struct point_result *p);
void hardware_done(struct hardware *h);
