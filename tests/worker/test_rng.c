#include <math.h>

#include "tests/test.h"
#include "worker/tensor/rng.h"

/* The known answers of Random123 (kat_vectors, philox4x32 10). */
TEST(known_answers)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct rng_key key;
        uint64_t counter;
        uint32_t words[4];
    } rows[] = {
        {"zeros", {0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {"ones", {UINT64_MAX, UINT64_MAX}, UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {"pi", {0x299f31d0a4093822, 0x0370734413198a2e}, 0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint32_t words[4];
        print_message("# row '%s'\n", rows[i].name);
        rng_block(rows[i].key, rows[i].counter, words);
        for (int j = 0; j < 4; j++) {
            assert_int_equal(words[j], rows[i].words[j]);
        }
    }
}

TEST(tiles_are_blocks)
{
    static const uint64_t tiles[] = {
        0, 1, 12345, (UINT64_C(1) << 28) - 1, UINT64_C(1) << 28, UINT64_C(0x123456789a)};
    struct rng_key key = {.seed = 0x1234567890abcdef, .stream = 0xfedcba0987654321};
    for (size_t i = 0; i < N_ROWS(tiles); i++) {
        uint32_t tile[RNG_TILE], block[4];
        rng_tile(key, tiles[i], tile);
        for (uint32_t l = 0; l < 16; l++) {
            rng_block(key, tiles[i] * 16 + l, block);
            for (uint32_t j = 0; j < 4; j++) {
                assert_int_equal(tile[16 * j + l], block[j]);
            }
        }
    }
}

static void moments(const float *x, size_t n, double *ret_mean, double *ret_sd)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    *ret_mean = sum / (double)n;
    *ret_sd = sqrt(squares / (double)n - *ret_mean * *ret_mean);
}

TEST(distributions)
{
    enum { N = 1000001 };
    _cleanup_(freep) float *x = calloc(N, sizeof(*x));
    struct rng_key key = {.seed = 1, .stream = 2};
    double mean, sd;

    rng_uniform(key, x, N);
    for (size_t i = 0; i < N; i++) {
        assert_true(x[i] >= 0 && x[i] < 1);
    }
    moments(x, N, &mean, &sd);
    assert_true(fabs(mean - 0.5) < 5 * 0.2887 / 1000 && fabs(sd - 0.288675) < 1e-3);

    rng_normal(key, 0.1f, x, N);
    moments(x, N, &mean, &sd);
    assert_true(fabs(mean) < 5 * 0.1 / 1000 && fabs(sd - 0.1) < 5e-4);
    size_t beyond = 0; /* two deviations: 4.55% */
    for (size_t i = 0; i < N; i++) {
        beyond += fabsf(x[i]) > 0.2f;
    }
    assert_true(fabs((double)beyond / N - 0.0455) < 1.1e-3);
}

/* The two normals that one pair of words makes: as independent as any. */
TEST(pairs_of_normals)
{
    enum { TILES = 10000, N = TILES * RNG_TILE / 2 };
    static float x[TILES * RNG_TILE];
    double sum = 0;
    rng_normal((struct rng_key){.seed = 1, .stream = 3}, 1, x, N_ROWS(x));
    for (size_t i = 0; i < N; i++) {
        size_t at = i / 32 * RNG_TILE + i % 32;
        sum += (double)x[at] * (double)x[at + 32];
    }
    double correlation = sum / N;
    if (fabs(correlation) > 5 / sqrt(N)) {
        fail_msg("correlation %g, expected 0 +- %g", correlation, 5 / sqrt(N));
    }
}

/* A prefix does not depend on how much is asked for. */
TEST(prefixes)
{
    float a[200], b[200] = {0};
    struct rng_key key = {.seed = 9, .stream = 9};
    rng_normal(key, 1, a, 200);
    rng_normal(key, 1, b, 70);
    assert_memory_equal(a, b, 70 * sizeof(float));
    assert_true(b[70] == 0);
}

TEST(permutations)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 10, 63, 1000, 4096, 10001};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        uint64_t n = sizes[i], fixed = 0;
        _cleanup_(freep) char *seen = calloc(n, 1);
        for (uint64_t j = 0; j < n; j++) {
            uint64_t to = rng_permute((struct rng_key){.seed = 1, .stream = n}, j, n);
            assert_true(to < n);
            assert_false(seen[to]);
            seen[to] = 1;
            fixed += to == j;
        }
        assert_true(n < 10 || fixed < 8); /* one is expected */
    }
}

/* Each bit of the index moves the result by many distances: an order that repeats itself in
 * blocks is no shuffle. */
TEST(permutations_mix)
{
    enum { N = 4096 };
    struct rng_key key = {.seed = 1, .stream = 1};
    for (uint64_t bit = 1; bit < N; bit <<= 1) {
        static bool seen[N];
        size_t distances = 0;
        memset(seen, 0, sizeof(seen));
        for (uint64_t i = 0; i < N; i++) {
            uint64_t distance = rng_permute(key, i, N) ^ rng_permute(key, i ^ bit, N);
            distances += !seen[distance];
            seen[distance] = true;
        }
        if (distances < N / 4) { /* 1612 of 2048 pairs are expected to differ */
            fail_msg("bit %llu: %zu distances, expected %d at least", (unsigned long long)bit,
                     distances, N / 4);
        }
    }
}

TEST(streams_differ)
{
    enum { N = 4096 };
    _cleanup_(freep) uint64_t *ids = calloc(N, sizeof(*ids));
    for (uint32_t i = 0; i < N; i++) {
        ids[i] = rng_stream(i % 4, i / 4 % 32, i / 128);
        for (uint32_t j = 0; j < i; j++) {
            assert_true(ids[i] != ids[j]);
        }
    }
}
