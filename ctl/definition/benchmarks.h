/* Prints a list of Benchmark objects for `benchctl get benchmarks`. Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "ctl/runs/backend.h"
#include "ctl/runs/runs.h"

extern const struct list_order benchmarks_order; /* of struct listed_benchmark */

void benchmarks_format(const struct cli *cli, const struct benchmark_list *list,
                       const struct runs_format *how, struct buf *out);
