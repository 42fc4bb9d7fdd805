#include "worker/tensor/rng.h"

#include <math.h>

#include "worker/tensor/rng_tile.h"

#define TWO_PI 6.28318530717958647692f
#define FEISTEL_ROUNDS 6

static uint64_t mix(uint64_t x) /* the finisher of SplitMix64: a bijection */
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t rng_stream(uint32_t purpose, uint32_t a, uint64_t b)
{
    return mix(mix(((uint64_t)purpose << 32 | a) + 0x9E3779B97F4A7C15u) ^ b);
}

void rng_block(struct rng_key key, uint64_t counter, uint32_t ret[4])
{
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32);
    uint32_t x2 = (uint32_t)key.stream, x3 = (uint32_t)(key.stream >> 32);
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * x0, p1 = (uint64_t)PHILOX_M1 * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)p1;
        x3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    ret[0] = x0, ret[1] = x1, ret[2] = x2, ret[3] = x3;
}

void rng_tile(struct rng_key key, uint64_t tile, uint32_t ret[RNG_TILE])
{
    rng_tile_inline(key, tile, ret);
}

static float unit_float(uint32_t word) /* [0, 1), 24 bits: exact in fp32 */
{
    return (float)(word >> 8) * 0x1p-24f;
}

void rng_uniform(struct rng_key key, float *out, size_t n)
{
    uint32_t words[RNG_TILE];
    for (size_t i = 0; i < n; i += RNG_TILE) {
        rng_tile(key, i / RNG_TILE, words);
        for (size_t j = 0; j < RNG_TILE && i + j < n; j++) {
            out[i + j] = unit_float(words[j]);
        }
    }
}

/* Box-Muller: word j and word j + 32 of a tile make the normals j and j + 32. */
static void normal_tile(struct rng_key key, uint64_t tile, float sd, float ret[RNG_TILE])
{
    uint32_t words[RNG_TILE];
    rng_tile(key, tile, words);
    for (int j = 0; j < RNG_TILE / 2; j++) {
        float u = unit_float(words[j]) + 0x1p-24f; /* (0, 1]: the logarithm is finite */
        float radius = sd * sqrtf(-2.0f * logf(u));
        float angle = TWO_PI * unit_float(words[j + RNG_TILE / 2]);
        ret[j] = radius * cosf(angle);
        ret[j + RNG_TILE / 2] = radius * sinf(angle);
    }
}

void rng_normal(struct rng_key key, float sd, float *out, size_t n)
{
    float tile[RNG_TILE];
    for (size_t i = 0; i < n; i += RNG_TILE) {
        normal_tile(key, i / RNG_TILE, sd, tile);
        for (size_t j = 0; j < RNG_TILE && i + j < n; j++) {
            out[i + j] = tile[j];
        }
    }
}

/* A Feistel network over the smallest even number of bits that holds n, applied until the value is
 * below n again (fewer than 4 times on average, because 4^bits < 4n). */
uint64_t rng_permute(struct rng_key key, uint64_t i, uint64_t n)
{
    unsigned half = 1;
    while (half < 32 && (UINT64_C(1) << (2 * half)) < n) {
        half++;
    }
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < FEISTEL_ROUNDS; round++) {
            uint32_t f[4];
            rng_block(key, right | round << 32, f);
            uint64_t next = left ^ (f[0] & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
