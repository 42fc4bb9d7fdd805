/* Rows of a store as a real run writes them, for benches that need many (store_size.c, results_store.c): summaries with
 * their series as the worker writes them, environments with the keys of a real one and a host of each pod's own. The
 * numbers follow from the state of splitmix64 alone. */
#pragma once

#include <stdint.h>

#include "core/phase.h"

#define MADE_UP_STEPS 100

/* Adds n replicas. `speed`: steps take the usual time divided by it. */
void made_up_replicas(struct attempt_row *row, enum role role, uint32_t n, double speed,
                      uint64_t *random);
