/* See one_pass.h. */
#include "worker/tensor/one_pass.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void add_baseline(float *restrict sum, const float *restrict a, const float *restrict b,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] = a[i] + b[i];
    }
}

#if defined(__x86_64__)

#define LANES 8

__attribute__((target("avx2"))) static void add_avx2(float *sum, const float *a, const float *b,
                                                     size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        _mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
    }
    add_baseline(sum + i, a + i, b + i, n - i);
}

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

void one_pass_add(float *sum, const float *a, const float *b, size_t n)
{
    (__builtin_cpu_supports("avx2") != 0 ? add_avx2 : add_baseline)(sum, a, b, n);
}

void one_pass_copy(float *to, const float *from, size_t n)
{
    if (__builtin_cpu_supports("avx2") != 0 && (uintptr_t)to % (LANES * sizeof(float)) == 0) {
        copy_avx2(to, from, n);
    } else {
        memcpy(to, from, n * sizeof(float));
    }
}

#else

void one_pass_add(float *sum, const float *a, const float *b, size_t n)
{
    add_baseline(sum, a, b, n);
}

void one_pass_copy(float *to, const float *from, size_t n)
{
    memcpy(to, from, n * sizeof(float));
}

#endif
