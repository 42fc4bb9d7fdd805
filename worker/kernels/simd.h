/* Vectors of the instruction set that a file is compiled for (isa.h), by the compiler's own vector
 * types: transforms, products and passes are written once and built three times. A product and a
 * sum in one expression become a fused multiply-add where the set has one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VL 16           /* floats of a vector */
#define PRODUCT_ROWS 12 /* rows of a register block: 12 x 2 vectors of 32 registers */
#elif defined(__AVX__)
#define VL 8
#define PRODUCT_ROWS 6 /* 6 x 2 of 16 */
#else
#define VL 4
#define PRODUCT_ROWS 6
#endif

typedef float vf __attribute__((vector_size(VL * sizeof(float)), may_alias));
typedef int vi __attribute__((vector_size(VL * sizeof(int)), may_alias));
/* In memory that need not be aligned. Variables are vf: a spilled one must not straddle lines. */
typedef float vf_memory __attribute__((vector_size(VL * sizeof(float)), aligned(4), may_alias));

/* True or false for each lane; `&` joins two. */
#if defined(__AVX512F__)
typedef __mmask16 vmask;
#else
typedef vi vmask;
#endif

#define SIMD_INLINE static inline __attribute__((always_inline))

/* Before a loop whose iterations do not depend on each other, whatever its pointers may alias. */
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

/* Past the caches, for memory that they would not hold until it is read: saves reading each line
 * before it is written. p is aligned to a vector. */
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

/* Between vstream and another thread's reads. */
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

/* v where m, 0 elsewhere. */
SIMD_INLINE vf vkeep(vmask m, vf v)
{
#if defined(__AVX512F__)
    return _mm512_maskz_mov_ps(m, v);
#else
    return (vf)((vi)v & m);
#endif
}

/* Bit i: lane i. */
SIMD_INLINE uint32_t vmask_bits(vmask m)
{
#if defined(__AVX512F__)
    return m;
#elif defined(__AVX__)
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif defined(__SSE__)
    return (uint32_t)_mm_movemask_ps((__m128)m);
#else
    uint32_t bits = 0;
    for (int i = 0; i < VL; i++) {
        bits |= (uint32_t)(m[i] & 1) << i;
    }
    return bits;
#endif
}

/* The lowest VL bits as lanes. */
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

/* Lane i is lane lanes[i] of the pair a, b: those of a are 0 to VL - 1, those of b come after them. */
SIMD_INLINE vf vpick(vf a, vf b, vi lanes)
{
#if defined(                                                                                       \
    __clang__) /* has no shuffle by a vector, and makes one of this where lanes is constant */
    vf picked;
    for (int i = 0; i < VL; i++) {
        picked[i] = lanes[i] < VL ? a[lanes[i] % VL] : b[lanes[i] % VL];
    }
    return picked;
#else
    return __builtin_shuffle(a, b, lanes);
#endif
}

/* Halves of blocks of `size` rows change places. It is a constant wherever this is inlined: only so
 * GCC keeps rows in registers (a transposition by AVX-512: 73 ns, then 16). */
SIMD_INLINE void vexchange(vf row[VL], int size)
{
    vi first, second; /* of the pair a, b: element e of a is e, of b VL + e */
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

/* Transposes VL rows of VL: halves of ever larger blocks change places. */
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
