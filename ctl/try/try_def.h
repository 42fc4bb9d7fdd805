/* What `benchctl try` runs of a definition: the smallest point of a system, once. Pure. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "spec/run_def.h"

/* The swept point of the system with the fewest replicas, then the fewest busy threads, then the
 * lowest index; NULL: no swept point is of this system. */
const struct point *try_smallest_point(const struct run_def *def, uint32_t system);
/* The definition of a run of that point alone: one trial of so many measured steps, without a
 * warm-up, tried once. It still has all systems: load it with --systems of the point's. Without
 * a deadline (0) it has that of the whole, and its time to live. Owned. */
json_t *try_definition(const struct run_def *def, const struct point *point, int64_t steps,
                       int64_t deadline_s, int64_t ttl_s);
