/* Vectors of the instruction set that a file is compiled for (isa.h), as the vector types of GCC
 * and clang: transforms, products and passes are written once and compiled for each set. A product
 * and a sum in one expression become a fused multiply-add if the set has one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VL 16           /* floats per vector */
#define PRODUCT_ROWS 12 /* rows of a register block: 12 x 2 vectors of 32 registers */
#elif defined(__AVX__)
#define VL 8
#define PRODUCT_ROWS 6 /* 6 x 2 of 16 */
#elif defined(__aarch64__)
#define VL 4
#define PRODUCT_ROWS 11 /* 11 x 2 of 32; 8 hold four rows of b (product.c) */
#else
#define VL 4
#define PRODUCT_ROWS 6
#endif

typedef float vf __attribute__((vector_size(VL * sizeof(float)), may_alias));
typedef int vi __attribute__((vector_size(VL * sizeof(int)), may_alias));
/* For memory that need not be aligned. Variables are vf, so that a spilled one never crosses a
 * line. */
typedef float vf_memory __attribute__((vector_size(VL * sizeof(float)), aligned(4), may_alias));

/* True or false for each lane; `&` combines two masks. */
#if defined(__AVX512F__)
typedef __mmask16 vmask;
#else
typedef vi vmask;
#endif

#define SIMD_INLINE static inline __attribute__((always_inline))

/* Put it before a loop whose iterations do not depend on each other, even if pointers may alias. */
#if defined(__clang__)
#define SIMD_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SIMD_LOOP _Pragma("GCC ivdep")
#endif

SIMD_INLINE vf vload(const float *p)
{
    return *(const vf_memory *)p;
}

SIMD_INLINE void vstore(float *p, vf v)
{
    *(vf_memory *)p = v;
}

/* Stores past the caches, which saves reading each line before it is written. Use it for memory
 * that the caches would not hold until it is read. p is aligned to a vector. */
SIMD_INLINE void vstream(float *p, vf v)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX__)
    _mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE__)
    _mm_stream_ps(p, (__m128)v);
#else
    vstore(p, v);
#endif
}

SIMD_INLINE void vstore_or_stream(float *p, vf v, bool streams)
{
    if (streams) {
        vstream(p, v);
    } else {
        vstore(p, v);
    }
}

/* Call it after vstream, before another thread reads. */
SIMD_INLINE void vstream_end(void)
{
#if defined(__SSE__)
    _mm_sfence();
#endif
}

SIMD_INLINE vf vzero(void)
{
    return (vf){0};
}

SIMD_INLINE vmask vpositive(vf v)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(v, vzero(), _CMP_GT_OQ);
#else
    return v > vzero();
#endif
}

SIMD_INLINE vmask vnot_less(vi a, vi b)
{
#if defined(__AVX512F__)
    return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, _MM_CMPINT_NLT);
#else
    return a >= b;
#endif
}

/* v in the lanes of m, 0 in the others. */
SIMD_INLINE vf vkeep(vmask m, vf v)
{
#if defined(__AVX512F__)
    return _mm512_maskz_mov_ps(m, v);
#else
    return (vf)((vi)v & m);
#endif
}

/* Bit i is lane i. */
SIMD_INLINE uint32_t vmask_bits(vmask m)
{
#if defined(__AVX512F__)
    return m;
#elif defined(__AVX__)
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif defined(__SSE__)
    return (uint32_t)_mm_movemask_ps((__m128)m);
#elif defined(__aarch64__)
    return vaddvq_u32((uint32x4_t)m & (uint32x4_t){1, 2, 4, 8});
#else
    uint32_t bits = 0;
    for (int i = 0; i < VL; i++) {
        bits |= (uint32_t)(m[i] & 1) << i;
    }
    return bits;
#endif
}

/* Lane i is bit i. */
SIMD_INLINE vmask vmask_from(uint32_t bits)
{
#if defined(__AVX512F__)
    return (vmask)bits;
#else
    vi lane;
    for (int i = 0; i < VL; i++) {
        lane[i] = 1 << i;
    }
    return (((vi){0} + (int)bits) & lane) == lane;
#endif
}

/* Lane i of the result is lane lanes[i] of a and b; the lanes of a are 0 to VL - 1, those of b
 * follow. */
SIMD_INLINE vf vpick(vf a, vf b, vi lanes)
{
#if defined(__clang__)
    vf picked; /* clang has no __builtin_shuffle, but makes one of this loop if lanes is constant */
    for (int i = 0; i < VL; i++) {
        picked[i] = lanes[i] < VL ? a[lanes[i] % VL] : b[lanes[i] % VL];
    }
    return picked;
#else
    return __builtin_shuffle(a, b, lanes);
#endif
}

/* Swaps the off-diagonal halves of blocks of 2 x size rows. `size` is a constant where this is
 * inlined, otherwise GCC would not keep the rows in registers. */
SIMD_INLINE void vexchange(vf row[VL], int size)
{
    vi first, second; /* for vpick */
    for (int e = 0; e < VL; e++) {
        first[e] = (e & size) == 0 ? e : VL + e - size;
        second[e] = (e & size) == 0 ? e + size : VL + e;
    }
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) {
        if ((i & size) == 0) {
            vf a = row[i], b = row[i + size];
            row[i] = vpick(a, b, first);
            row[i + size] = vpick(a, b, second);
        }
    }
}

/* Transposes VL rows of VL by swapping halves of ever larger blocks. */
SIMD_INLINE void vtranspose(vf row[VL])
{
    vexchange(row, 1);
    vexchange(row, 2);
#if VL >= 8
    vexchange(row, 4);
#endif
#if VL >= 16
    vexchange(row, 8);
#endif
}
