/* The CPUs of this machine that we may use. Edge file: asks the kernel. Used by processes.c. */
#pragma once

#include <stdint.h>

#include "run/cpus.h"

/* Fills at most `max` of them in the order in which they are given out (cpus_spread) and returns
 * their number; 0: not known, nobody is pinned. */
uint32_t host_cpus_usable(struct cpu *ret, uint32_t max);
