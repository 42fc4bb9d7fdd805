/* The CPUs of this machine that this process may use, and which of them each member of an attempt
 * gets. Edge file: asks the kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/launcher.h"

/* A usable CPU, and the core that it is a hardware thread of. */
struct cpu {
    int cpu, core;
};

/* Sorts so that the first thread of every core comes before the second of any. Members get
 * neighbours in this order, so they share a core only if there are more busy threads than cores. */
void cpus_spread(struct cpu *cpus, uint32_t n);

struct cpu_range { /* positions in the list of usable CPUs */
    uint32_t first, count;
};

/* Trainers and workers get `threads` CPUs each, by index, then each pserver gets one. A
 * launcher starts the processes of all trainers and workers and gets their CPUs. False if
 * `cpus` do not suffice for all members: then none is pinned, since pinning only some would
 * favour them. */
bool cpus_for_member(const struct gang_spec *gang, uint32_t cpus, enum role role, uint32_t index,
                     struct cpu_range *ret);

/* Fills in at most `max` of them, in the order of cpus_spread, and returns their number. 0:
 * unknown, so nothing is pinned. */
uint32_t host_cpus_usable(struct cpu *ret, uint32_t max);
