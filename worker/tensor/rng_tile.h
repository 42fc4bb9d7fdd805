/* The Philox rounds for 16 counters in parallel, for the files that are compiled once for each
 * instruction set; all others call rng_tile.
 *
 * Numbers of 32 bits lie in lanes of 64 bits. The upper halves may hold anything, because the
 * multiplication does not read them, so nothing is moved or masked between rounds. Even and odd
 * counters are in two vectors, which are combined at the end. */
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "worker/tensor/rng.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

#if defined(__AVX512F__)
#define RNG_LANES 8
#elif defined(__AVX2__)
#define RNG_LANES 4
#else
#define RNG_LANES 2
#endif
typedef uint64_t rng_wide __attribute__((vector_size(RNG_LANES * sizeof(uint64_t))));

#define RNG_INLINE static inline __attribute__((always_inline))

/* The product of the lower halves of lanes. The compiler would multiply whole lanes, in three
 * steps. */
RNG_INLINE rng_wide rng_multiply(rng_wide x, uint32_t by)
{
#if defined(__AVX512F__)
    return (rng_wide)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(by));
#elif defined(__AVX2__)
    return (rng_wide)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(by));
#elif defined(__x86_64__)
    return (rng_wide)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(by));
#elif defined(__aarch64__)
    return (rng_wide)vmull_n_u32(vmovn_u64((uint64x2_t)x), by);
#else
    return (x & 0xffffffff) * by;
#endif
}

/* Ten rounds over RNG_LANES counters, `step` apart. */
RNG_INLINE void rng_rounds(struct rng_key key, uint64_t counter, uint32_t step, rng_wide x[4])
{
    x[0] = (rng_wide){0} + counter;
    for (uint32_t l = 0; l < RNG_LANES; l++) {
        x[0][l] += l * step; /* the low four bits of counter are free: no carry */
    }
    x[1] = (rng_wide){0} + (counter >> 32);
    x[2] = (rng_wide){0} + key.stream;
    x[3] = (rng_wide){0} + (key.stream >> 32);
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        rng_wide p0 = rng_multiply(x[0], PHILOX_M0), p1 = rng_multiply(x[2], PHILOX_M1);
        x[0] = (p1 >> 32) ^ x[1] ^ k0;
        x[2] = (p0 >> 32) ^ x[3] ^ k1;
        x[1] = p1;
        x[3] = p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
}

/* Longer than an inline function of a header should be, because it must be compiled with the flags
 * of its caller. */
RNG_INLINE void rng_tile_inline(struct rng_key key, uint64_t tile, uint32_t ret[RNG_TILE])
{
    for (uint32_t first = 0; first < 16; first += 2 * RNG_LANES) {
        rng_wide even[4], odd[4];
        rng_rounds(key, (tile << 4) + first, 2, even);
        rng_rounds(key, (tile << 4) + first + 1, 2, odd);
        for (uint32_t j = 0; j < 4; j++) {
            rng_wide words = (even[j] & 0xffffffff) | odd[j] << 32; /* little-endian */
            memcpy(ret + 16 * j + first, &words, sizeof(words));
        }
    }
}
