/* Which CPUs each member of an attempt gets. Pure: the affinity mask is data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/launcher.h"

/* A CPU we may use, and the core that it is a hardware thread of. */
struct cpu {
    int cpu, core;
};

/* Sorts so that the first thread of every core comes before the second of any: members that are
 * given neighbours in the list share a core only when there are more threads than cores. */
void cpus_spread(struct cpu *cpus, uint32_t n);

struct cpu_range { /* positions in the list of usable CPUs */
    uint32_t first, count;
};

/* Trainers and workers get `threads` CPUs each, by index, then every pserver one. False when
 * `cpus` are not enough for all of them: then nobody is pinned, since half a pinning would
 * favour some. */
bool cpus_for_member(const struct gang_spec *gang, uint32_t cpus, enum role role, uint32_t index,
                     struct cpu_range *ret);
