/* The CPUs of this machine that this process may use. Edge file: asks the kernel. Used by
 * processes.c. */
#pragma once

#include <stdint.h>

#include "run/processes/cpus.h"

/* Fills in at most `max` of them, in the order of cpus_spread, and returns their number. 0:
 * unknown, so nothing is pinned. */
uint32_t host_cpus_usable(struct cpu *ret, uint32_t max);
