/* CRC-32C, see crc32c.h.
 *
 * The CPU's instruction has a latency of 3 cycles for 8 bytes but can start every cycle, so three
 * ranges of BLOCK bytes are computed in parallel and then combined: the CRC of "a then b" is the
 * CRC of a, advanced over as many zero bytes as b has, xor the CRC of b. Advancing is linear over
 * GF(2), so for the one length that is needed it takes four table look-ups. The tables are written
 * once, before anyone reads them.
 *
 * With carry-less products of vectors 256 bytes are 16 polynomials a(x) of 128 bits. A product with
 * x^2048 mod P adds each to the one 256 bytes further on, and the CRC stays the same. So all but
 * the last 256 bytes are folded away, and the instruction above computes the CRC of what is left
 * (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, 2009).
 *
 * Vectors of 256 bits fold no faster than the instruction computes, but another unit of the CPU
 * does it: three ranges by the instruction and a fourth by folding, of FOLDED bytes, take hardly
 * longer than the longer one. */
#include "worker/comm/link/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* reflected 0x1edc6f41 */
#define BLOCK 8192             /* bytes of each of the three ranges */
#define FOLD 256               /* bytes that are folded at a time */
#define STEP 64                /* bytes of each of the three ranges processed at the same time */
#define FOLDED (BLOCK / STEP * FOLD)

static uint32_t byte_table[256];           /* one byte */
static uint32_t skip_table[4][256];        /* BLOCK zero bytes, by byte of the state */
static uint32_t skip_folded_table[4][256]; /* FOLDED zero bytes */
static bool has_sse42, has_avx2, has_avx512;
/* x^2080 and x^2016 mod P, for the low and the high 64 bits of a polynomial;
 * reflected, so shifted. */
static uint64_t fold_low, fold_high;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t advance_by_zeros(uint32_t state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state = byte_table[state & 0xff] ^ (state >> 8);
    }
    return state;
}

static uint32_t skip(uint32_t table[4][256], uint32_t state)
{
    return table[0][state & 0xff] ^ table[1][(state >> 8) & 0xff] ^ table[2][(state >> 16) & 0xff] ^
           table[3][state >> 24];
}

/* Skipping is linear: the table follows from what becomes of each bit. */
static void fill_skip(uint32_t table[4][256], uint32_t (*skip_bit)(uint32_t state))
{
    for (int byte = 0; byte < 4; byte++) {
        for (int bit = 0; bit < 8; bit++) {
            table[byte][1 << bit] = skip_bit(1u << (8 * byte + bit));
        }
        for (uint32_t v = 1; v < 256; v++) {
            table[byte][v] = table[byte][v & (v - 1)] ^ table[byte][v & -v];
        }
    }
}

static uint32_t skip_block_slowly(uint32_t state)
{
    return advance_by_zeros(state, BLOCK);
}

static uint32_t skip_folded_slowly(uint32_t state)
{
    for (int i = 0; i < FOLDED / BLOCK; i++) {
        state = skip(skip_table, state);
    }
    return state;
}

static void fill_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t state = b;
        for (int bit = 0; bit < 8; bit++) {
            state = (state >> 1) ^ ((state & 1) != 0 ? POLYNOMIAL : 0);
        }
        byte_table[b] = state;
    }
    fill_skip(skip_table, skip_block_slowly);
    fill_skip(skip_folded_table, skip_folded_slowly);
#if defined(__x86_64__)
    has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
    const bool folds = has_sse42 && __builtin_cpu_supports("vpclmulqdq") != 0;
    has_avx2 = folds && __builtin_cpu_supports("avx2") != 0;
    has_avx512 = folds && __builtin_cpu_supports("avx512f") != 0;
#endif
    fold_low = (uint64_t)advance_by_zeros(0x80000000u, (FOLD + 4)) << 1;
    fold_high = (uint64_t)advance_by_zeros(0x80000000u, (FOLD - 4)) << 1;
}

static uint32_t by_table(uint32_t state, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state = byte_table[(state ^ p[i]) & 0xff] ^ (state >> 8);
    }
    return state;
}

#if defined(__x86_64__)

static uint32_t skip_block(uint32_t state)
{
    return skip(skip_table, state);
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t state, const uint8_t *p,
                                                                 size_t n)
{
    while (n >= 3 * BLOCK) {
        uint64_t a = state, b = 0, c = 0;
        for (size_t i = 0; i < BLOCK; i += 8) {
            a = __builtin_ia32_crc32di(a, load64(p + i));
            b = __builtin_ia32_crc32di(b, load64(p + BLOCK + i));
            c = __builtin_ia32_crc32di(c, load64(p + 2 * BLOCK + i));
        }
        state = skip_block(skip_block((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
        p += 3 * BLOCK;
        n -= 3 * BLOCK;
    }
    uint64_t wide = state;
    for (; n >= 8; p += 8, n -= 8) {
        wide = __builtin_ia32_crc32di(wide, load64(p));
    }
    state = (uint32_t)wide;
    for (; n > 0; p++, n--) {
        state = __builtin_ia32_crc32qi(state, *p);
    }
    return state;
}

#define XOR_OF_THREE 0x96 /* the truth table; a variable is no immediate for clang */
/* a moved on by FOLD bytes, plus the bytes there. */
__attribute__((target("avx512f,vpclmulqdq"))) static __m512i fold(__m512i a, __m512i by,
                                                                  const uint8_t *next)
{
    const __m512i low = _mm512_clmulepi64_epi128(a, by, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(a, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next), XOR_OF_THREE);
}

__attribute__((target("avx512f,vpclmulqdq"))) static uint32_t by_folding(uint32_t state,
                                                                         const uint8_t *p, size_t n)
{
    if (n < 2 * FOLD) {
        return by_instruction(state, p, n);
    }
    const __m512i by = _mm512_set4_epi64((long long)fold_high, (long long)fold_low,
                                         (long long)fold_high, (long long)fold_low);
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);
    __m512i c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
    for (p += FOLD, n -= FOLD; n >= FOLD; p += FOLD, n -= FOLD) {
        a = fold(a, by, p);
        b = fold(b, by, p + 64);
        c = fold(c, by, p + 128);
        d = fold(d, by, p + 192);
    }
    uint8_t left[FOLD];
    _mm512_storeu_si512(left, a);
    _mm512_storeu_si512(left + 64, b);
    _mm512_storeu_si512(left + 128, c);
    _mm512_storeu_si512(left + 192, d);
    return by_instruction(by_instruction(0, left, FOLD), p, n);
}

/* ---- vectors of 256 bits, together with the instruction ---- */

#define HALF_VECTORS (FOLD / 32)

struct folded {
    __m256i v[HALF_VECTORS];
};

__attribute__((target("avx2,vpclmulqdq"))) static inline __m256i fold_half(__m256i a, __m256i by,
                                                                           const uint8_t *next)
{
    const __m256i low = _mm256_clmulepi64_epi128(a, by, 0x00);
    const __m256i high = _mm256_clmulepi64_epi128(a, by, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(low, high),
                            _mm256_loadu_si256((const __m256i *)(const void *)next));
}

__attribute__((target("avx2,vpclmulqdq"))) static inline void begin_folding(struct folded *f,
                                                                            uint32_t state,
                                                                            const uint8_t *p)
{
#pragma GCC unroll 8
    for (int i = 0; i < HALF_VECTORS; i++) {
        f->v[i] = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
    }
    f->v[0] = _mm256_xor_si256(f->v[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)));
}

__attribute__((target("avx2,vpclmulqdq"))) static inline void go_on_folding(struct folded *f,
                                                                            __m256i by,
                                                                            const uint8_t *p)
{
#pragma GCC unroll 8
    for (int i = 0; i < HALF_VECTORS; i++) {
        f->v[i] = fold_half(f->v[i], by, p + 32 * i);
    }
}

__attribute__((target("avx2,vpclmulqdq,sse4.2"))) static uint32_t end_folding(
    const struct folded *f, const uint8_t *rest, size_t n)
{
    uint8_t left[FOLD];
#pragma GCC unroll 8
    for (int i = 0; i < HALF_VECTORS; i++) {
        _mm256_storeu_si256((__m256i *)(void *)(left + 32 * i), f->v[i]);
    }
    return by_instruction(by_instruction(0, left, FOLD), rest, n);
}

/* 3 * BLOCK bytes by the instruction, and FOLDED bytes after them. */
__attribute__((target("avx2,vpclmulqdq,sse4.2"))) static uint32_t by_both(uint32_t state,
                                                                          const uint8_t *p,
                                                                          __m256i by)
{
    const uint8_t *behind = p + 3 * BLOCK;
    uint64_t a = state, b = 0, c = 0;
    struct folded f;
    begin_folding(&f, 0, behind);
    for (size_t i = 0; i < BLOCK; i += STEP) {
        if (i > 0) {
            go_on_folding(&f, by, behind + i / STEP * FOLD);
        }
        for (size_t k = i; k < i + STEP; k += 8) {
            a = __builtin_ia32_crc32di(a, load64(p + k));
            b = __builtin_ia32_crc32di(b, load64(p + BLOCK + k));
            c = __builtin_ia32_crc32di(c, load64(p + 2 * BLOCK + k));
        }
    }
    state = skip_block(skip_block((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    return skip(skip_folded_table, state) ^ end_folding(&f, NULL, 0);
}

__attribute__((target("avx2,vpclmulqdq,sse4.2"))) static uint32_t by_two_units(uint32_t state,
                                                                               const uint8_t *p,
                                                                               size_t n)
{
    const __m256i by = _mm256_set_epi64x((long long)fold_high, (long long)fold_low,
                                         (long long)fold_high, (long long)fold_low);
    for (; n >= 3 * BLOCK + FOLDED; p += 3 * BLOCK + FOLDED, n -= 3 * BLOCK + FOLDED) {
        state = by_both(state, p, by);
    }
    if (n < 2 * FOLD) {
        return by_instruction(state, p, n);
    }
    struct folded f;
    begin_folding(&f, state, p);
    for (p += FOLD, n -= FOLD; n >= FOLD; p += FOLD, n -= FOLD) {
        go_on_folding(&f, by, p);
    }
    return end_folding(&f, p, n);
}

#else

#define by_instruction by_table
#define by_two_units by_table
#define by_folding by_table

#endif

bool crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t n, uint32_t *ret)
{
    (void)pthread_once(&once, fill_tables); /* fails only for a broken `once` */
    if ((way == CRC32C_AVX512 && !has_avx512) || (way == CRC32C_AVX2 && !has_avx2) ||
        (way == CRC32C_SSE42 && !has_sse42)) {
        return false;
    }
    *ret = way == CRC32C_AVX512  ? ~by_folding(~crc, data, n)
           : way == CRC32C_AVX2  ? ~by_two_units(~crc, data, n)
           : way == CRC32C_SSE42 ? ~by_instruction(~crc, data, n)
                                 : ~by_table(~crc, data, n);
    return true;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    uint32_t value = 0;
    enum crc32c_way way = CRC32C_AVX512;
    while (!crc32c_by(way, crc, data, n, &value)) {
        way--; /* the table is always there */
    }
    return value;
}
