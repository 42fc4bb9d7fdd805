/* Counter-based random numbers: a pure function of (key, counter), so the same seed gives the same
 * bits whatever the number of threads, trainers or restarts. Philox4x32-10 (Salmon et al., SC11). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng_key {
    uint64_t seed;
    uint64_t stream; /* what the numbers are for: see rng_stream */
};

/* Mixes up to three small numbers (purpose, step, trainer, layer...) into a stream id. */
uint64_t rng_stream(uint32_t purpose, uint32_t a, uint64_t b);
/* Four 32-bit words for one counter. */
void rng_block(struct rng_key key, uint64_t counter, uint32_t ret[4]);
/* n floats, uniform in [0, 1), from counter 0. */
void rng_uniform(struct rng_key key, float *out, size_t n);
/* n floats, normal(0, sd), from counter 0. */
void rng_normal(struct rng_key key, float sd, float *out, size_t n);
