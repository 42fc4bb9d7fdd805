/* Vectors of the instruction set that a file is compiled for (isa.h), by the compiler's own vector
 * types: transforms, products and passes are written once and built three times. A product and a
 * sum in one expression become a fused multiply-add where the set has one. */
#pragma once

#include <stddef.h>

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
/* In memory that need not be aligned. Variables are vf: a spilled one must not straddle lines. */
typedef float vf_memory __attribute__((vector_size(VL * sizeof(float)), aligned(4), may_alias));

#define SIMD_INLINE static inline __attribute__((always_inline))

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
    __builtin_ia32_movntps512(p, v);
#elif defined(__AVX__)
    __builtin_ia32_movntps256(p, v);
#elif defined(__SSE__)
    __builtin_ia32_movntps(p, v);
#else
    vstore(p, v);
#endif
}

/* Between vstream and another thread's reads. */
SIMD_INLINE void vstream_end(void)
{
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}

SIMD_INLINE vf vzero(void)
{
    return (vf){0};
}

/* Transposes VL rows of VL: halves of ever larger blocks change places. */
SIMD_INLINE void vtranspose(vf row[VL])
{
    typedef int vi __attribute__((vector_size(VL * sizeof(int))));
    for (int size = 1; size < VL; size *= 2) {
        vi first, second; /* of the pair a, b: element e of a is e, of b VL + e */
        for (int e = 0; e < VL; e++) {
            first[e] = (e & size) == 0 ? e : VL + e - size;
            second[e] = (e & size) == 0 ? e + size : VL + e;
        }
        for (int i = 0; i < VL; i++) {
            if ((i & size) == 0) {
                vf a = row[i], b = row[i + size];
                row[i] = __builtin_shuffle(a, b, first);
                row[i + size] = __builtin_shuffle(a, b, second);
            }
        }
    }
}
