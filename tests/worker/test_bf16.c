/* bf16: every value, every rounding, every width of vectors, and the widening in place. */
#include <math.h>

#include "tests/test.h"
#include "worker/tensor/accumulate.h"

#define ALL 65536

static const char *const isa_names[] = {"baseline", "AVX2", "AVX-512"};

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

TEST(rounding)
{
    static const struct {
        const char *name;
        uint32_t from;
        uint16_t to;
    } rows[] = {
        {"one", 0x3f800000, 0x3f80},
        {"minus zero", 0x80000000, 0x8000},
        {"below the middle", 0x3f807fff, 0x3f80},
        {"the middle, even below", 0x3f808000, 0x3f80},
        {"the middle, odd below", 0x3f818000, 0x3f82},
        {"above the middle", 0x3f808001, 0x3f81},
        {"into the next exponent", 0x3fffffff, 0x4000},
        {"the smallest subnormal", 0x00000001, 0x0000},
        {"a subnormal", 0x00018000, 0x0002},
        {"the largest", 0x7f7fffff, 0x7f80},
        {"infinite", 0x7f800000, 0x7f80},
        {"minus infinite", 0xff800000, 0xff80},
        {"a NaN whose bits are all in the lower half", 0x7f800001, 0x7fc0},
        {"a NaN that would round to minus zero", 0x7fffffff, 0x7fff},
        {"a NaN with a sign", 0xffc12345, 0xffc1},
    };
    for (int isa = VECTORS_BASELINE; isa <= VECTORS_AVX512; isa++) {
        const struct vector_ops *ops = vector_ops((enum vector_isa)isa);
        for (size_t i = 0; ops != NULL && i < N_ROWS(rows); i++) {
            float from[33];
            uint16_t to[33];
            for (size_t k = 0; k < N_ROWS(from);
                 k++) { /* as part of a vector, and behind the last */
                from[k] = from_bits(rows[i].from);
            }
            ops->narrow(to, from, N_ROWS(from));
            print_message("# %s, %s: %04x %04x\n", isa_names[isa], rows[i].name, to[0], to[32]);
            for (size_t k = 0; k < N_ROWS(to); k++) {
                assert_int_equal(to[k], rows[i].to);
            }
        }
    }
}

/* Each of them widens to the fp32 with its bits, and narrows to itself; a
 * signalling NaN becomes quiet. */
TEST(every_value)
{
    _cleanup_(freep) uint16_t *all = calloc(ALL, sizeof(*all)), *back = calloc(ALL, sizeof(*back));
    _cleanup_(freep) float *wide = calloc(ALL, sizeof(*wide));
    for (uint32_t i = 0; i < ALL; i++) {
        all[i] = (uint16_t)i;
    }
    bf16_widen(wide, all, ALL);
    bf16_narrow(back, wide, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        assert_int_equal(to_bits(wide[i]), i << 16);
        assert_int_equal(back[i], isnan(wide[i]) ? i | 0x40 : i);
    }
}

/* A number in the middle of each kind of rest, and of all lengths: the
 * neighbours stay as they are. */
TEST(every_length)
{
    enum { LEN = 70, GUARD = 3 };
    for (int isa = VECTORS_BASELINE; isa <= VECTORS_AVX512; isa++) {
        const struct vector_ops *ops = vector_ops((enum vector_isa)isa);
        print_message("# %s%s\n", isa_names[isa], ops != NULL ? "" : ": not on this CPU");
        for (size_t n = 0; ops != NULL && n <= LEN; n++) {
            uint16_t narrowed[LEN + GUARD];
            float from[LEN], wide[LEN + GUARD], sum[LEN + GUARD];
            float half[LEN + GUARD]; /* in whose upper half lies what is widened */
            memset(narrowed, 0xa5, sizeof(narrowed));
            memset(wide, 0xa5, sizeof(wide));
            for (size_t i = 0; i < LEN + GUARD; i++) {
                sum[i] = 1e-3f * (float)i;
            }
            for (size_t i = 0; i < n; i++) {
                from[i] = (float)(i * i + 1) * (i % 2 == 0 ? 0.37f : -0.37f);
            }
            ops->narrow(narrowed, from, n);
            ops->widen(wide, narrowed, n);
            ops->add_bf16(sum, narrowed, n);
            memcpy((uint16_t *)(void *)half + n, narrowed, n * sizeof(uint16_t));
            ops->widen(half, (uint16_t *)(void *)half + n, n / 3); /* part by part, as bytes come */
            ops->widen(half + n / 3, (uint16_t *)(void *)half + n + n / 3, n - n / 3);
            assert_memory_equal(half, wide, n * sizeof(float));
            for (size_t i = 0; i < n; i++) {
                assert_true(fabsf(wide[i] - from[i]) <= fabsf(from[i]) / 256);
                assert_true(sum[i] == 1e-3f * (float)i + wide[i]);
            }
            for (size_t i = n; i < LEN + GUARD; i++) {
                assert_int_equal(narrowed[i], 0xa5a5);
                assert_int_equal(to_bits(wide[i]), 0xa5a5a5a5);
                assert_true(sum[i] == 1e-3f * (float)i);
            }
        }
    }
}
