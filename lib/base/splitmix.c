/* See splitmix.h. */
#include "base/splitmix.h"

/* The state steps by a constant, the output is a mix of it. */
uint64_t splitmix_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* The first 2^64 mod n outputs are drawn again. */
uint32_t splitmix_below(uint64_t *state, uint32_t n)
{
    uint64_t skipped = -(uint64_t)n % n;
    uint64_t x;
    do {
        x = splitmix_next(state);
    } while (x < skipped);
    return (uint32_t)(x % n);
}
