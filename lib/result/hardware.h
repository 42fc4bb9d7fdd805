/* The machines behind a result's figures, told apart by what their start records say. Pure; called
 * by result.c. */
#pragma once

#include "result/result.h"

/* Counts every replica of a succeeded trial in r->hardware; there are few kinds in a run. Replicas
 * without a start record are passed over. Sets the replicas' `node` and `hardware`. */
void hardware_collect(struct result *r);
void hardware_done(struct hardware *h);
