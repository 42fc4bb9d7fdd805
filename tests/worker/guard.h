/* Arrays between guard bands, so that a kernel that writes outside is caught, and comparison of
 * arrays that prints what differs. */
#pragma once

#include <math.h>

#include "tests/test.h"
#include "worker/tensor/rng.h"

#define GUARD_FLOATS 64
#define GUARD_VALUE 12345.678f

/* n floats, 64-byte aligned, filled with seeded numbers in [-1, 1). */
static inline float *guarded_new(size_t n, uint64_t seed)
{
    float *block = NULL;
    assert_int_equal(posix_memalign((void **)&block, 64, (n + 2 * GUARD_FLOATS + 16) * 4), 0);
    for (size_t i = 0; i < GUARD_FLOATS; i++) {
        block[i] = block[GUARD_FLOATS + n + i] = GUARD_VALUE;
    }
    float *data = block + GUARD_FLOATS;
    rng_uniform((struct rng_key){.seed = seed, .stream = 7}, data, n);
    for (size_t i = 0; i < n; i++) {
        data[i] = 2 * data[i] - 1;
    }
    return data;
}

/* As guarded_new, n words, none of which a kernel would leave by chance. */
static inline uint32_t *guarded_words_new(size_t n)
{
    float *data = guarded_new(n, 1);
    memset(data, 0xa5, n * sizeof(*data));
    return (uint32_t *)(void *)data;
}

static inline void guarded_free(float *data, size_t n, const char *what)
{
    for (size_t i = 0; i < GUARD_FLOATS; i++) {
        const float before = data[-1 - (ptrdiff_t)i], after = data[n + i];
        if (before != GUARD_VALUE || after != GUARD_VALUE) {
            fail_msg("%s: wrote %zu floats outside (%g before, %g behind)", what, i + 1,
                     (double)before, (double)after);
        }
    }
    free(data - GUARD_FLOATS);
}

/* |got - want| <= tolerance * (largest |want|), element by element. */
static inline void assert_close(const float *got, const float *want, size_t n, double tolerance,
                                const char *what)
{
    double scale = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs((double)want[i]);
        scale = size > scale ? size : scale; /* GCC 12 for arm64 fails on fmax here */
    }
    for (size_t i = 0; i < n; i++) {
        double diff = fabs((double)got[i] - (double)want[i]);
        if (!(diff <= tolerance * scale)) {
            fail_msg("%s[%zu]: got %.9g, expected %.9g (scale %.3g)", what, i, (double)got[i],
                     (double)want[i], scale);
        }
    }
}
