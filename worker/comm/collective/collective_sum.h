/* The sum of a part of a message over all ranks, by one rank that reads the numbers of all (shared
 * memory). Its additions are those that the ranks make together over TCP (collective_plan.h), so
 * the bits are the same. Pure. */
#pragma once

#include "worker/comm/collective/collective_plan.h"

/* Added up at a time, so that partial sums stay in the first-level cache. */
#define COLLECTIVE_SUM_BLOCK ((size_t)2048)
/* Floats of scratch memory: a block for each step of the pairs of COLLECTIVE_RANKS_MAX ranks. */
#define COLLECTIVE_SUM_SCRATCH (10 * COLLECTIVE_SUM_BLOCK)

/* to (n) = the sum of numbers[i] (n) over all ranks i, n_ranks >= 2. If the way is the ring, all n
 * lie in one block, that of `owner`; else `owner` is not read. `to` may be one of `numbers`; it
 * overlaps nothing else. */
void collective_sum(enum collective_way way, uint32_t n_ranks, uint32_t owner,
                    const float *const *numbers, float *to, size_t n, float *scratch);
