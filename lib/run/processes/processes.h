/* The launcher of one machine: replicas as its child processes, implementing launcher.h. Each leads
 * a process group, has a port of its own, and is pinned to CPUs of its own where there are enough.
 * All end with this process, whatever ends it. docs/run.md is its page. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "run/launcher.h"

struct uv_loop_s;
struct processes_params {
    struct uv_loop_s *loop;
    const char *benchworker; /* path of the worker program: what argv[0] "benchworker" means */
    size_t log_max_bytes;    /* kept of each replica's output; the middle is dropped; 0: 64 MiB */
};

int processes_new(const struct processes_params *params, struct launcher **ret, struct err *err);
