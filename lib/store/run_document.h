/* Runs as JSON: items of lists, and the status that benchd's API has in all its documents. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "store/store.h"

/* Phase, reason, message and counts of a status as the API writes it in all its documents; times
 * and the current trial stay zero: each document has its own form. -EPROTO names the field. */
int run_status_counts_from_json(const json_t *status, struct run_status *ret, struct err *err);

/* The items of a list of runs: `benchctl get runs -o json` and /api/v1/runs print the same keys. */
#define RUN_LIST_KIND "BenchmarkRunList"

/* One item. `is_interrupted`: the run is not final, and no process drives it. Owned. */
json_t *run_item_to_json(const struct run_row *row, bool is_interrupted);
/* A date in RFC 3339; null for 0, which means "not yet". Owned. */
json_t *run_time_to_json(int64_t unix_ms);
