/* Pseudo-random numbers that are a pure function of their seed: splitmix64 (Vigna), as specified in
 * docs/contracts/order.md. Used by spec/run_def.c, stats/significance.c and kube/retry.c. */
#pragma once

#include <stdint.h>

/* The next output; the seed is the first state. The state steps by a constant, the output is a mix
 * of it. */
static inline uint64_t splitmix_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* An output of which the remainder by n is uniform in 0..n-1; n > 0. The first 2^64 mod n outputs,
 * all below n, are drawn again. */
static inline uint64_t splitmix_fair(uint64_t *state, uint32_t n)
{
    uint64_t x;
    do {
        x = splitmix_next(state);
    } while (x < n && x < -(uint64_t)n % n);
    return x;
}

/* Uniform in 0..n-1; n > 0. */
static inline uint32_t splitmix_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(splitmix_fair(state, n) % n);
}

/* The same number without a division; `inverse` is UINT64_MAX / n. The high half of x * inverse is
 * x / n or one less, so the remainder is at most n too large. */
static inline uint32_t splitmix_below_by(uint64_t *state, uint32_t n, uint64_t inverse)
{
    const uint64_t x = splitmix_fair(state, n);
    const uint64_t rest = x - (uint64_t)(((unsigned __int128)x * inverse) >> 64) * n;
    return (uint32_t)(rest >= n ? rest - n : rest);
}
