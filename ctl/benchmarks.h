/* Prints a list of Benchmark objects for `benchctl get benchmarks`. Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "ctl/backend.h"

void benchmarks_format(const struct cli *cli, const struct benchmark_list *list,
                       int64_t now_unix_ms, struct buf *out);
