/* Slices: whole, disjoint, bounded, even within 1%. */
#include "tests/test.h"
#include "exchange/slices.h"

#define VGG16 15254602

static void check_cover(const struct slices *s, size_t max_bytes)
{
    size_t at = 0;
    assert_true(s->n > 0 && s->n % s->n_servers == 0);
    for (uint32_t i = 0; i < s->n; i++) {
        struct slice slice = slices_get(s, i);
        assert_int_equal(slice.offset, at);
        assert_int_equal(slice.server, i % s->n_servers);
        assert_true(slice.len * sizeof(float) <= max_bytes);
        assert_true(slice.offset % 16 == 0);
        at += slice.len;
    }
    assert_int_equal(at, s->n_params);
}

TEST(even_for_any_number_of_servers)
{
    for (uint32_t servers = 1; servers <= 60; servers++) {
        struct slices s = slices_plan(VGG16, servers, SLICES_MAX_BYTES);
        check_cover(&s, SLICES_MAX_BYTES);
        size_t least = SIZE_MAX, most = 0, sum = 0;
        for (uint32_t i = 0; i < servers; i++) {
            size_t n = slices_server_params(&s, i);
            least = n < least ? n : least;
            most = n > most ? n : most;
            sum += n;
        }
        double mean = (double)VGG16 / servers;
        print_message("# %u servers: %u slices, %zu to %zu floats\n", servers, s.n, least, most);
        assert_int_equal(sum, VGG16);
        assert_true((double)most <= 1.01 * mean && (double)least >= 0.99 * mean);
    }
}

TEST(by_trainers)
{
    static const struct {
        uint32_t trainers, servers, n;
    } rows[] = {
        {1, 1, 59},     {8, 2, 60}, /* 1 MiB */
        {9, 1, 66},     {16, 8, 120},   {24, 12, 180},   {32, 1, 233},
        {100, 20, 240}, {100, 60, 240}, {65536, 1, 233}, /* 256 KiB */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct slices s = slices_of_gang(VGG16, rows[i].servers, rows[i].trainers);
        print_message("# %u trainers, %u servers\n", rows[i].trainers, rows[i].servers);
        check_cover(&s, SLICES_MAX_BYTES);
        assert_int_equal(s.n, rows[i].n);
    }
}

TEST(odd_sizes)
{
    static const struct {
        const char *name;
        size_t n_params;
        uint32_t servers;
        size_t max_bytes;
        uint32_t n;
    } rows[] = {
        {"nothing", 0, 1, SLICES_MAX_BYTES, 1},
        {"one float, three servers", 1, 3, SLICES_MAX_BYTES, 3},
        {"less than a line each", 33, 4, SLICES_MAX_BYTES, 4},
        {"smallest slices", 1000, 1, 128, 63},
        {"exactly full", 262128, 1, SLICES_MAX_BYTES, 1},
        {"one more", 262129, 1, SLICES_MAX_BYTES, 2},
        {"fc4096 at 224 pixels", 134695078, 20, SLICES_MAX_BYTES, 520},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct slices s = slices_plan(rows[i].n_params, rows[i].servers, rows[i].max_bytes);
        print_message("# row '%s': %u slices\n", rows[i].name, s.n);
        check_cover(&s, rows[i].max_bytes);
        assert_int_equal(s.n, rows[i].n);
    }
}
