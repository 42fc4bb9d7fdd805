/* One loop for each width of vectors, from the same text. All give the same bits: a number does not
 * depend on its neighbours, and there is nothing to fuse. */
#include "worker/tensor/accumulate.h"

#include <stdbool.h>
#include <string.h>

static uint16_t narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 |
                          0x40); /* a NaN: not what is left of it, which may be an infinity */
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float widen(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* Vectors of `lanes` numbers that may lie anywhere, also over each other; then the rest one by one.
 * A vector is read whole before one is written. */
#define DEFINE_ALL(name, attribute, lanes)                                                         \
    typedef uint16_t name##_half __attribute__((vector_size(2 * (lanes)), aligned(2), may_alias)); \
    typedef uint32_t name##_bits __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias)); \
    typedef float name##_wide __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));    \
    attribute static void name##_narrow(uint16_t *to, const float *from, size_t n)                 \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + (lanes) <= n; i += (lanes)) {                                                   \
            const name##_bits x = *(const name##_bits *)(from + i);                                \
            const name##_bits is_nan = (name##_bits)((x & 0x7fffffff) > 0x7f800000);               \
            const name##_bits rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;                        \
            const name##_bits kept = (is_nan & (x >> 16 | 0x40)) | (~is_nan & rounded);            \
            *(name##_half *)(to + i) = __builtin_convertvector(kept, name##_half);                 \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            to[i] = narrow(from[i]);                                                               \
        }                                                                                          \
    }                                                                                              \
    attribute static void name##_widen(float *to, const uint16_t *from, size_t n)                  \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + (lanes) <= n; i += (lanes)) {                                                   \
            const name##_half x = *(const name##_half *)(from + i);                                \
            *(name##_bits *)(to + i) = __builtin_convertvector(x, name##_bits) << 16;              \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const float wide = widen(from[i]);                                                     \
            memcpy(to + i, &wide, sizeof(wide)); /* it may be where the next of `from` is */       \
        }                                                                                          \
    }                                                                                              \
    attribute static void name##_add_bf16(float *sum, const uint16_t *grad, size_t n)              \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + (lanes) <= n; i += (lanes)) {                                                   \
            const name##_half x = *(const name##_half *)(grad + i);                                \
            *(name##_wide *)(sum + i) +=                                                           \
                (name##_wide)(__builtin_convertvector(x, name##_bits) << 16);                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            sum[i] += widen(grad[i]);                                                              \
        }                                                                                          \
    }                                                                                              \
    attribute static void name##_add(float *sum, const float *grad, size_t n)                      \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + (lanes) <= n; i += (lanes)) {                                                   \
            *(name##_wide *)(sum + i) += *(const name##_wide *)(grad + i);                         \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            sum[i] += grad[i];                                                                     \
        }                                                                                          \
    }                                                                                              \
    static const struct vector_ops name##_ops = {name##_narrow, name##_widen, name##_add_bf16,     \
                                                 name##_add};

DEFINE_ALL(baseline, , 4)

#if defined(__x86_64__)

DEFINE_ALL(avx2, __attribute__((target("avx2"))), 8)
DEFINE_ALL(avx512, __attribute__((target("avx512f,avx512bw"))), 16)

const struct vector_ops *vector_ops(enum vector_isa isa)
{
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
    return isa == VECTORS_AVX512 && has_avx512 ? &avx512_ops
           : isa == VECTORS_AVX2 && has_avx2   ? &avx2_ops
           : isa == VECTORS_BASELINE           ? &baseline_ops
                                               : NULL;
}

#else

const struct vector_ops *vector_ops(enum vector_isa isa)
{
    return isa == VECTORS_BASELINE ? &baseline_ops : NULL;
}

#endif

static const struct vector_ops *widest(void)
{
    enum vector_isa isa = VECTORS_AVX512;
    while (vector_ops(isa) == NULL) {
        isa--; /* the baseline is always there */
    }
    return vector_ops(isa);
}

void bf16_narrow(uint16_t *to, const float *from, size_t n)
{
    widest()->narrow(to, from, n);
}

void bf16_widen(float *to, const uint16_t *from, size_t n)
{
    widest()->widen(to, from, n);
}

void bf16_add(float *sum, const uint16_t *grad, size_t n)
{
    widest()->add_bf16(sum, grad, n);
}

void grad_add(float *sum, const float *grad, size_t n)
{
    widest()->add(sum, grad, n);
}
