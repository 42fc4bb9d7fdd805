/* Prints a list of Benchmark objects for `benchctl get benchmarks`. Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "ctl/runs/backend.h"
#include "ctl/runs/runs.h"

/* What --sort-by takes, NULL at the end. */
extern const char *const benchmarks_columns[];
/* column: an index into benchmarks_columns. */
void benchmarks_sort(struct benchmark_list *list, int column);

void benchmarks_format(const struct cli *cli, const struct benchmark_list *list,
                       const struct runs_format *how, struct buf *out);
