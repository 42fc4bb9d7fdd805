/* Pseudo-random numbers that are a pure function of their seed: splitmix64 (Vigna), as specified in
 * docs/contracts/order.md. Used by spec/run_def.c, stats/significance.c and kube/retry.c. */
#pragma once

#include <stdint.h>

/* The next output; the seed is the first state. */
uint64_t splitmix_next(uint64_t *state);
/* Uniform in 0..n-1; n > 0. */
uint32_t splitmix_below(uint64_t *state, uint32_t n);
