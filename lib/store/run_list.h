/* The items of a list of runs, kind RUN_LIST_KIND: `benchctl get runs -o json` and /api/v1/runs
 * print the same keys. Pure but for memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "store/store.h"

#define RUN_LIST_KIND "BenchmarkRunList"

/* One item. `is_interrupted`: the run is not final, and no process drives it. Owned. */
json_t *run_item_to_json(const struct run_row *row, bool is_interrupted);
/* A date in RFC 3339; null for 0, which means "not yet". Owned. */
json_t *run_time_to_json(int64_t unix_ms);
