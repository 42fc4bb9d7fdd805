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

/* How long no process has ever listened on the MASTER_PORT of the attempt that was started last.
 * NaN: one has, its workers were given none, or it is too early to say. */
double processes_unmet_s(const struct launcher *launcher);

/* For tests: counts now what its programs have used. By itself it does so more and more rarely, by
 * what a look costs. */
void processes_look(struct launcher *launcher);

int processes_new(const struct processes_params *params, struct launcher **ret, struct err *err);
