/* Random numbers are the same on every machine and in every version: the order of a run's trials
 * and the significance of a comparison depend on them. */
#include "tests/test.h"
#include "base/splitmix.h"

TEST(gives_the_published_numbers)
{
    static const uint64_t expected[] = {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
                                        0xf88bb8a8724c81ec};
    uint64_t seed = 0;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(splitmix_next(&seed) == expected[i]);
    }
}

TEST(below_reaches_each_number_and_no_other)
{
    uint64_t seed = 7;
    for (uint32_t n = 1; n <= 10; n++) {
        unsigned seen[10] = {0};
        for (int i = 0; i < 1000; i++) {
            const uint32_t x = splitmix_below(&seed, n);
            assert_in_range(x, 0, n - 1);
            seen[x]++;
        }
        for (uint32_t x = 0; x < n; x++) { /* five standard deviations or more */
            assert_in_range(seen[x], 1000 / n - 1000 / n / 2, 1000 / n + 1000 / n / 2);
        }
    }
}

TEST(below_without_a_division_gives_the_same_numbers)
{
    static const uint32_t large[] = {65536, 65537, 1u << 31, (1u << 31) + 1, UINT32_MAX};
    uint64_t seed = 7, same = 7;
    for (uint32_t i = 1; i < 1000 + N_ROWS(large); i++) {
        const uint32_t n = i < 1000 ? i : large[i - 1000];
        for (int k = 0; k < 200; k++) {
            const uint32_t x = splitmix_below(&seed, n);
            assert_int_equal(splitmix_below_by(&same, n, UINT64_MAX / n), x);
        }
    }
}
