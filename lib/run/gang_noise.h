/* What the launcher sees of its machine around an attempt whose replicas do not look themselves
 * (docs/contracts/summary.md#noise): a probe before the first member starts, and one after the last
 * that trains has ended, when no member of the gang computes. Edge file: times loops, reads /proc.
 * Used by processes.c only. */
#pragma once

#include <stdbool.h>

#include "core/record.h"
#include "host/host.h"

struct gang_noise { /* all zero: it has not begun */
    bool has_begun;
    struct host_cpu_time cpu_begin;
    struct noise seen;
};

/* Both probe on this CPU, because cores of one machine may have different clocks; -1: wherever they
 * run. They take 0.2 s at most each, some 0.1 s on an idle machine. */
void gang_noise_begin(struct gang_noise *n, int cpu);
void gang_noise_end(struct gang_noise *n, int cpu);
