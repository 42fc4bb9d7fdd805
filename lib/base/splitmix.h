/* Pseudo-random numbers that are a pure function of their seed: splitmix64 (Vigna), as
 * docs/contracts/order.md lays it down. Used by order.c and significance.c. Pure. */
#pragma once

#include <stdint.h>

/* The next output; the seed is the first state. */
uint64_t splitmix_next(uint64_t *state);
/* Evenly one of 0..n-1; n > 0. */
uint32_t splitmix_below(uint64_t *state, uint32_t n);
