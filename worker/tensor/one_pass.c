/* See one_pass.h. */
#include "worker/tensor/one_pass.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

#define LANES 8

/* `to` is at a multiple of a vector. */
__attribute__((target("avx2"))) static void copy_avx2(float *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
    }
    memcpy(to + i, from + i, (n - i) * sizeof(float));
    _mm_sfence(); /* such stores are not ordered with those that announce them to others */
}

#endif

void one_pass_copy(float *to, const float *from, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") != 0 && (uintptr_t)to % (LANES * sizeof(float)) == 0) {
        copy_avx2(to, from, n);
        return;
    }
#endif
    memcpy(to, from, n * sizeof(float));
}
