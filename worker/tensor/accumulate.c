/* One loop for each width of vectors. All give the same bits: an element's sum does not depend on
 * its neighbours, and there is nothing to fuse. */
#include "worker/tensor/accumulate.h"

/* Unaligned vectors of so many bytes, then the rest one by one. */
#define DEFINE_ADD(name, attribute, bytes)                                                         \
    attribute static void name(float *to, const float *a, const float *b, size_t n)                \
    {                                                                                              \
        typedef float vec __attribute__((vector_size(bytes), aligned(sizeof(float)), may_alias));  \
        const size_t lanes = (bytes) / sizeof(float);                                              \
        size_t i = 0;                                                                              \
        for (; i + lanes <= n; i += lanes) {                                                       \
            *(vec *)(to + i) = *(const vec *)(a + i) + *(const vec *)(b + i);                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            to[i] = a[i] + b[i];                                                                   \
        }                                                                                          \
    }

DEFINE_ADD(add_baseline, , 16)

#if defined(__x86_64__)

DEFINE_ADD(add_avx2, __attribute__((target("avx2"))), 32)
DEFINE_ADD(add_avx512, __attribute__((target("avx512f"))), 64)

static bool has(enum grad_add_isa isa)
{
    return isa == GRAD_ADD_BASELINE ||
           (isa == GRAD_ADD_AVX2 && __builtin_cpu_supports("avx2") != 0) ||
           (isa == GRAD_ADD_AVX512 && __builtin_cpu_supports("avx512f") != 0);
}

#else

#define add_avx2 add_baseline
#define add_avx512 add_baseline

static bool has(enum grad_add_isa isa)
{
    return isa == GRAD_ADD_BASELINE;
}

#endif

bool grad_sum_by(enum grad_add_isa isa, float *to, const float *a, const float *b, size_t n)
{
    if (!has(isa)) {
        return false;
    }
    switch (isa) {
    case GRAD_ADD_AVX512:
        add_avx512(to, a, b, n);
        break;
    case GRAD_ADD_AVX2:
        add_avx2(to, a, b, n);
        break;
    default:
        add_baseline(to, a, b, n);
    }
    return true;
}

void grad_sum(float *to, const float *a, const float *b, size_t n)
{
    enum grad_add_isa isa = GRAD_ADD_AVX512;
    while (!grad_sum_by(isa, to, a, b, n)) {
        isa--; /* the baseline is always there */
    }
}

void grad_add(float *sum, const float *grad, size_t n)
{
    grad_sum(sum, sum, grad, n);
}
