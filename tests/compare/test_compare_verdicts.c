#include "tests/test.h"
#include "compare/comparison.h"

#include <math.h>

#include "compare_fixture.h"

TEST(verdicts)
{
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n_a, n_b;
        double a[4], b[4]; /* throughput; 0: no trial of the point */
        double threshold_ratio;
        const char *changes; /* S slower, F faster, i inconclusive, - none shown, t too few, x not
                                measured */
        enum change whole;
        size_t repeats_to_decide;
    } rows[] = {
        {"nothing changed", 4, 4, {40, 70, 120, 200}, {40, 70, 120, 200}, 0.02, "----",
         CHANGE_NONE, 0},
        {"one is 6% slower", 4, 4, {40, 70, 120, 200}, {40, 70, 113, 200}, 0.02, "--S-",
         CHANGE_SLOWER, 0},
        {"one is 6% faster", 4, 5, {40, 70, 113, 200}, {40, 70, 120, 200}, 0.02, "--F-",
         CHANGE_FASTER, 0},
        {"one alone half as fast, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "--S-", CHANGE_SLOWER, 0},
        {"one alone half as fast, two trials", 2, 2, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "--i-", CHANGE_SLOWER, 0},
        {"nothing changed, two trials", 2, 2, {40, 70, 120, 200},
         {40, 70, 120, 200}, 0.02, "----", CHANGE_NONE, 0},
        {"faster, and a point that only one side measured", 4, 4, {40, 70, 120, 200},
         {44, 70, 120, 0}, 0.02, "F--x", CHANGE_INCONCLUSIVE, 0},
        {"a point that the base did not measure", 4, 4, {40, 70, 0, 200}, {40, 70, 120, 200}, 0.02,
         "--x-", CHANGE_INCONCLUSIVE, 0},
        {"slower and faster: they do not cancel", 4, 4, {40, 70, 120, 200}, {44, 63, 120, 200},
         0.02, "FS--", CHANGE_SLOWER, 0},
        {"all slower", 5, 3, {40, 70, 120, 200}, {38, 66, 113, 190}, 0.02, "SSSS", CHANGE_SLOWER, 0},
        {"1.5% slower everywhere: not worth a word", 8, 8, {40, 70, 120, 200},
         {39.4, 68.95, 118.2, 197}, 0.02, "----", CHANGE_NONE, 0},
        {"the same with a threshold of 1%", 8, 8, {40, 70, 120, 200}, {39.4, 68.95, 118.2, 197},
         0.01, "SSSS", CHANGE_SLOWER, 0},
        {"5.1% of the smaller are 4.9% of the larger", 8, 8, {40, 70, 120, 200},
         {42.04, 66.603, 126.12, 190.295}, 0.05, "FSFS", CHANGE_SLOWER, 0},
        {"4.9% of the smaller", 8, 8, {40, 70, 120, 200}, {41.96, 66.73, 125.88, 190.66}, 0.05,
         "----", CHANGE_NONE, 0},
        {"one trial each", 1, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt", CHANGE_INCONCLUSIVE, 5},
        {"one trial on one side", 8, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt", CHANGE_INCONCLUSIVE, 5},
        {"two each at four points", 2, 2, {40, 70, 120, 200}, {30, 52, 90, 150}, 0.02, "SSUU", CHANGE_SLOWER, 0},
        {"two each at one point", 2, 2, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "Sxxx", CHANGE_SLOWER, 0},
        {"a point that only one side measured", 4, 4, {40, 0, 120, 200}, {36, 70, 0, 200}, 0.02,
         "Sxx-", CHANGE_SLOWER, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", rows[i].n_a, rows[i].a, 0);
        make_run(&b, "demo-q2v8n", rows[i].n_b, rows[i].b, 3);
        const struct compare_params params = {.threshold_ratio = rows[i].threshold_ratio};
        _cleanup_(comparison_freep) struct comparison *c = compare(&a, &b, &params);
        char changes[5] = "";
        size_t counts[CHANGE_COUNT] = {0};
        assert_int_equal(c->points.len, 4);
        for (size_t p = 0; p < 4; p++) {
            changes[p] = "SFiuU-tx"[c->points.items[p].change];
            counts[c->points.items[p].change]++;
        }
        assert_string_equal(changes, rows[i].changes);
        assert_memory_equal(counts, c->counts, sizeof(counts));
        assert_int_equal(c->change, rows[i].whole);
        assert_int_equal(c->repeats_to_decide, rows[i].repeats_to_decide);
    }
}

/* A run beside one with the same trials: every ratio is 1, nothing is flagged, p is 1. */
TEST(the_same_trials_twice)
{
    static const double x[] = {40, 70, 120, 200};
    for (size_t n = 1; n <= 8; n++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", n, x, 0);
        make_run(&b, "demo-q2v8n", n, x, 0);
        const struct compare_params params = {.threshold_ratio = 0};
        _cleanup_(comparison_freep) struct comparison *c = compare(&a, &b, &params);
        vec_each (struct compared_point, p, &c->points) {
            assert_true(p->ratio.estimate.value == 1);
            assert_int_equal(p->change, n < 2 ? CHANGE_TOO_FEW : CHANGE_NONE);
            assert_true(!p->welch.known || (p->welch.t == 0 && p->welch.p == 1));
        }
        assert_true(c->geomean_ratio.estimate.value == 1);
        assert_int_equal(c->differences.len, 0);
    }
}

/* Medians rise by 3%, means of logs fall by a third, and both tests are sure of a difference: a
 * verdict of either direction would be wrong. */
TEST(skewed_trials_have_no_direction)
{
    static const double trials[2][9] = {
        {100, 100.1, 99.9, 100.2, 99.8, 150, 151, 149, 152},
        {103, 103.1, 102.9, 103.2, 102.8, 60, 61, 59, 62},
    };
    struct fixture f[2];
    for (size_t side = 0; side < 2; side++) {
        fixture_init(&f[side], "{grid: {pservers: [1], trainers: [1]}}",
                     POINT_BASELINE "  repeats: {min: 9}\n", 16);
        for (uint32_t t = 0; t < 9; t++) {
            fixture_throughput(&f[side], 0, t, trials[side][t]);
        }
        fixture_build(&f[side], RUN_SUCCEEDED);
    }
    for (size_t base = 0; base < 2; base++) {
        struct comparison *c = compare(&f[base], &f[1 - base], &defaults);
        const struct compared_point *p = &c->points.items[0];
        const double ratio =
            p->candidate->throughput.estimate.value / p->base->throughput.estimate.value;
        assert_true(base == 0 ? ratio > 1.025 && p->welch.t < 0 : ratio < 0.98 && p->welch.t > 0);
        assert_true(p->welch_p_adjusted <= COMPARE_ALPHA);
        assert_string_equal(change_names[p->change], change_names[CHANGE_INCONCLUSIVE]);
        comparison_free(c);
    }
    fixture_done(&f[0]);
    fixture_done(&f[1]);
}
