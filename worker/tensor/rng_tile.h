/* The Philox rounds over 16 counters side by side, for the files that the build compiles once for
 * each instruction set; everyone else calls rng_tile. Arrays of 16 so that the compiler sees whole
 * vectors. */
#pragma once

#include <stdint.h>

#include "worker/tensor/rng.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

/* Longer than a header's inline function should be: it must be compiled with the flags of its
 * caller, which is its whole point. */
static inline __attribute__((always_inline)) void rng_tile_inline(struct rng_key key, uint64_t tile,
                                                                  uint32_t ret[RNG_TILE])
{
    uint32_t *x0 = ret, *x1 = ret + 16, *x2 = ret + 32, *x3 = ret + 48;
    for (uint32_t l = 0; l < 16; l++) {
        x0[l] = (uint32_t)(tile << 4) + l; /* the low four bits are free: no carry */
        x1[l] = (uint32_t)(tile >> 28);
        x2[l] = (uint32_t)key.stream;
        x3[l] = (uint32_t)(key.stream >> 32);
    }
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        for (int l = 0; l < 16; l++) {
            uint64_t p0 = (uint64_t)PHILOX_M0 * x0[l], p1 = (uint64_t)PHILOX_M1 * x2[l];
            x0[l] = (uint32_t)(p1 >> 32) ^ x1[l] ^ k0;
            x2[l] = (uint32_t)(p0 >> 32) ^ x3[l] ^ k1;
            x1[l] = (uint32_t)p1;
            x3[l] = (uint32_t)p0;
        }
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
}
