/* What of an archived run is otherwise on this machine, before the run is repeated. */
#pragma once

#include "ctl/import/archive_file.h"

/* Appends one line per fact: "differs  kernel: 6.1.0-34 -> 6.1.0-37". `worker` is the path of
 * benchworker, or NULL if the run is repeated in a cluster: its machines are known once they have
 * reported. Returns how many facts differ or are unknown. */
size_t reproduce_describe(const struct archive *a, const struct loaded_run *run, const char *worker,
                          struct buf *out);
