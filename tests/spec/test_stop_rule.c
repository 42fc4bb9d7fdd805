/* How many trials a point needs, by numbers that were worked out apart from the code. */
#include "tests/test.h"
#include "spec/stop_rule.h"
#include "stats/stats.h"

#include <math.h>

TEST(trials_that_are_needed)
{
    /* t(0.975, 2) = 4.3027, t(0.975, 4) = 2.7764; s of the logs of 98, 100, 102 is 0.020003, of
     * 100, 100.5, 101 0.004975, of 95, 98, 100, 102, 105 0.038112. */
    /* clang-format off */
    static const struct {
        const char *name;
        int64_t min, max;
        double half_width, values[8];
        size_t n;
        uint32_t needed;
    } rows[] = {
        {"not known yet", 3, 10, 0.05, {98, 100}, 2, 10},
        {"nothing yet", 3, 10, 0.05, {0}, 0, 10},
        {"(4.3027 x 0.020003 / ln 1.05)^2 = 3.11, more than 3; (3.11 pi + 2 - pi) / 2 = 4.3", 3, 10,
         0.05, {98, 100, 102}, 3, 5},
        {"of the first stage alone", 3, 10, 0.05, {98, 100, 102, 300, 1}, 5, 5},
        {"enough: 0.19", 3, 10, 0.05, {100, 100.5, 101}, 3, 3},
        {"too many: 18.9", 3, 10, 0.02, {98, 100, 102}, 3, 10},
        {"(18.9 pi + 2 - pi) / 2 = 29.1", 3, 100, 0.02, {98, 100, 102}, 3, 30},
        {"more than any number", 3, 10, 1e-200, {98, 100, 102}, 3, 10},
        {"all alike", 3, 10, 1e-9, {7, 7, 7}, 3, 3},
        {"(2.7764 x 0.038112 / ln 1.05)^2 = 4.70", 5, 9, 0.05, {95, 98, 100, 102, 105}, 5, 5},
        {"(2.7764 x 0.038112 / ln 1.04)^2 = 7.28; 10.9", 5, 19, 0.04, {95, 98, 100, 102, 105}, 5,
         11},
        {"the order of the first stage does not matter", 5, 19, 0.04, {105, 95, 102, 98, 100}, 5,
         11},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct spec spec = {
            .repeats = rows[i].max, .min_repeats = rows[i].min, .stop = {true, rows[i].half_width}};
        const uint32_t needed = stop_rule_needed(&spec, rows[i].values, rows[i].n);
        if (needed != rows[i].needed) {
            fail_msg("'%s': expected %u, got %u", rows[i].name, rows[i].needed, needed);
        }
    }
    const struct spec fixed = {.repeats = 5, .min_repeats = 5};
    assert_int_equal(stop_rule_needed(&fixed, rows[0].values, 2), 5);
    assert_int_equal(stop_rule_first_stage(&fixed, rows[9].values, 5).n, 0);
}

TEST(the_first_stage)
{
    const struct spec spec = {.repeats = 10, .min_repeats = 3, .stop = {true, 0.05}};
    const double values[] = {98, 100, 102, 500};
    const struct first_stage stage = stop_rule_first_stage(&spec, values, 4);
    assert_int_equal(stage.n, 3);
    assert_true(fabs(sqrt(stage.variance) - 0.0200030) < 1e-6);
    assert_int_equal(stop_rule_first_stage(&spec, values, 2).n, 0);
}

/* Of the median of n normal numbers: the roots of 0.44867, 0.28683 and 0.16610, by integration of
 * x^2 times the density of the middle one; of 10 the root of 0.1383, by 2,000,000 draws. */
TEST(medians_deviate)
{
    static const struct {
        size_t n;
        double exact;
    } rows[] = {{3, 0.66983}, {5, 0.53557}, {9, 0.40755}, {10, 0.37189}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const double got = stats_two_stage_deviation(rows[i].n, 1) / rows[i].exact;
        assert_true(got > 0.985 && got < 1.07);
        assert_true(fabs(stats_two_stage_deviation(rows[i].n, rows[i].n) -
                         1 / sqrt((double)rows[i].n)) < 1e-12);
    }
    assert_true(fabs(stats_two_stage_deviation(1000000, 3) * 1000 - sqrt(M_PI / 2)) < 1e-5);
}

TEST(trials_in_the_end)
{
    static const struct {
        const char *name;
        uint32_t needed, decided, values, trials;
    } rows[] = {
        {"none yet", 10, 0, 0, 10},
        {"two more", 6, 4, 4, 6},
        {"a failed one is made up for", 6, 4, 3, 7},
        {"there are no more", 10, 4, 2, 10},
        {"enough", 3, 3, 3, 3},
        {"more than enough", 3, 5, 5, 5},
    };
    const struct spec spec = {.repeats = 10, .min_repeats = 3, .stop = {true, 0.05}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const uint32_t n = stop_rule_trials(&spec, rows[i].needed, rows[i].decided, rows[i].values);
        if (n != rows[i].trials) {
            fail_msg("'%s': expected %u, got %u", rows[i].name, rows[i].trials, n);
        }
    }
}
