#include "tests/test.h"
#include "base/histogram.h"

#define MS INT64_C(1000000)

TEST(a_time_is_in_one_bucket)
{
    static const struct {
        const char *name;
        int64_t ns;
        size_t bucket;
    } rows[] = {
        {"none", 0, 0},
        {"the clock went back", -5, 0},
        {"a bound is in its bucket", 1 * MS, 0},
        {"just above", 1 * MS + 1, 1},
        {"between", 300 * MS, 5},
        {"the last bound", 60000 * MS, 12},
        {"above all", 60000 * MS + 1, 13},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct histogram h = {0};
        histogram_add(&h, rows[i].ns);
        for (size_t k = 0; k <= HISTOGRAM_N_BOUNDS; k++) {
            if (h.counts[k] != (k == rows[i].bucket)) {
                fail_msg("%s: bucket %zu has %d", rows[i].name, k, (int)h.counts[k]);
            }
        }
    }
}

TEST(sum_count_and_longest)
{
    struct histogram h = {0};
    assert_int_equal(histogram_count(&h), 0);
    histogram_add(&h, 70000 * MS);
    histogram_add(&h, -1);
    histogram_add(&h, 2 * MS);
    assert_int_equal(histogram_count(&h), 3);
    assert_int_equal(h.sum_ns, 70002 * MS);
    assert_int_equal(h.longest_ns, 70000 * MS);
}

TEST(bounds_ascend)
{
    for (size_t i = 1; i < HISTOGRAM_N_BOUNDS; i++) {
        assert_true(histogram_bounds_ns[i - 1] < histogram_bounds_ns[i]);
    }
}
