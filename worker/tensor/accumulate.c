/* One loop for each width of vectors. All give the same bits: an element's sum does not depend on
 * its neighbours, and there is nothing to fuse. */
#include "worker/tensor/accumulate.h"

/* Unaligned vectors of so many bytes, then the rest one by one. */
#define DEFINE_ADD(name, attribute, bytes)                                                         \
    attribute static void name(float *sum, const float *grad, size_t n)                            \
    {                                                                                              \
        typedef float vec __attribute__((vector_size(bytes), aligned(sizeof(float)), may_alias));  \
        const size_t lanes = (bytes) / sizeof(float);                                              \
        size_t i = 0;                                                                              \
        for (; i + lanes <= n; i += lanes) {                                                       \
            *(vec *)(sum + i) += *(const vec *)(grad + i);                                         \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            sum[i] += grad[i];                                                                     \
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

bool grad_add_by(enum grad_add_isa isa, float *sum, const float *grad, size_t n)
{
    if (!has(isa)) {
        return false;
    }
    switch (isa) {
    case GRAD_ADD_AVX512:
        add_avx512(sum, grad, n);
        break;
    case GRAD_ADD_AVX2:
        add_avx2(sum, grad, n);
        break;
    default:
        add_baseline(sum, grad, n);
    }
    return true;
}

void grad_add(float *sum, const float *grad, size_t n)
{
    enum grad_add_isa isa = GRAD_ADD_AVX512;
    while (!grad_add_by(isa, sum, grad, n)) {
        isa--; /* the baseline is always there */
    }
}
