#include "tests/test.h"
#include "compare/comparison.h"

#include <math.h>

#include "base/splitmix.h"
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
        size_t repeats_for_all, repeats_for_one, repeats_to_decide;
    } rows[] = {
        {"nothing changed", 4, 4, {40, 70, 120, 200}, {40, 70, 120, 200}, 0.02, "----",
         CHANGE_NONE, 0, 0},
        {"one is 6% slower", 4, 4, {40, 70, 120, 200}, {40, 70, 113, 200}, 0.02, "--S-",
         CHANGE_SLOWER, 0, 0},
        {"another differs by no more than chance", 4, 4, {40, 70, 120, 200}, {40.04, 70, 113, 200}, 0,
         "--S-", CHANGE_SLOWER, 0, 0},
        {"one is 6% faster", 4, 5, {40, 70, 113, 200}, {40, 70, 120, 200}, 0.02, "--F-",
         CHANGE_FASTER, 0, 0},
        {"one alone, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 113, 200}, 0.02, "--i-",
         CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"one alone half as fast, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "--i-", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"one alone half as fast, two trials", 2, 2, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "ttit", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"nothing changed, two trials: nothing bounds a change", 2, 2, {40, 70, 120, 200},
         {40, 70, 120, 200}, 0.02, "tttt", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"nothing changed, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 120, 200}, 0.02,
         "----", CHANGE_NONE, 0, 4, 0},
        {"faster, and a point that only one side measured", 4, 4, {40, 70, 120, 200},
         {44, 70, 120, 0}, 0.02, "F--x", CHANGE_INCONCLUSIVE, 0, 0, 0},
        {"a point that the base did not measure", 4, 4, {40, 70, 0, 200}, {40, 70, 120, 200}, 0.02,
         "--x-", CHANGE_INCONCLUSIVE, 0, 0, 0},
        {"slower and faster: they do not cancel", 4, 4, {40, 70, 120, 200}, {44, 63, 120, 200},
         0.02, "FS--", CHANGE_SLOWER, 0, 0},
        {"all slower", 5, 3, {40, 70, 120, 200}, {38, 66, 113, 190}, 0.02, "SSSS", CHANGE_SLOWER,
         0, 0},
        {"1.5% slower everywhere: not worth a word", 8, 8, {40, 70, 120, 200},
         {39.4, 68.95, 118.2, 197}, 0.02, "----", CHANGE_NONE, 0, 0},
        {"the same with a threshold of 1%", 8, 8, {40, 70, 120, 200}, {39.4, 68.95, 118.2, 197},
         0.01, "SSSS", CHANGE_SLOWER, 0, 0},
        {"5.1% of the smaller are 4.9% of the larger", 8, 8, {40, 70, 120, 200},
         {42.04, 66.603, 126.12, 190.295}, 0.05, "FSFS", CHANGE_SLOWER, 0, 0},
        {"4.9% of the smaller", 8, 8, {40, 70, 120, 200}, {41.96, 66.73, 125.88, 190.66}, 0.05,
         "----", CHANGE_NONE, 0, 0},
        {"one trial each", 1, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt",
         CHANGE_INCONCLUSIVE, 2, 4, 4},
        {"one trial on one side", 8, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt",
         CHANGE_INCONCLUSIVE, 2, 4, 4},
        {"two each at four points", 2, 2, {40, 70, 120, 200}, {30, 52, 90, 150}, 0.02, "SSSS",
         CHANGE_SLOWER, 0, 4},
        {"two each at one point", 2, 2, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "txxx", CHANGE_INCONCLUSIVE,
         4, 4, 4},
        {"three each at one point", 3, 3, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "txxx",
         CHANGE_INCONCLUSIVE, 4, 4, 4},
        {"four each at one point", 4, 4, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "Sxxx", CHANGE_SLOWER,
         0, 0},
        {"two each at two points", 2, 2, {40, 70, 0, 0}, {30, 52, 0, 0}, 0.02, "ttxx",
         CHANGE_INCONCLUSIVE, 3, 4, 4},
        {"a point that only one side measured", 4, 4, {40, 0, 120, 200}, {36, 70, 0, 200}, 0.02,
         "Sxx-", CHANGE_SLOWER, 0, 0},
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
        assert_int_equal(c->repeats_for_all, rows[i].repeats_for_all);
        assert_int_equal(c->repeats_for_one, rows[i].repeats_for_one);
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
            assert_int_equal(p->change, n <= 2 ? CHANGE_TOO_FEW : CHANGE_NONE);
            assert_true(!p->welch.known || (p->welch.t == 0 && p->welch.p == 1));
        }
        assert_true(c->gate.p == 1);
        assert_true(c->geomean_ratio.estimate.value == 1);
        assert_int_equal(c->differences.len, 0);
    }
}

/* The promise behind the gate: of comparisons without any change, at most about 5% flag a point. */
TEST(without_change_few_are_flagged)
{
    uint64_t seed = 20181120;
    const int experiments = 300;
    int flagged = 0, inconclusive = 0;
    for (int round = 0; round < experiments; round++) {
        struct fixture f[2];
        for (size_t side = 0; side < 2; side++) {
            fixture_init(&f[side], GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
            for (uint32_t p = 0; p < 4; p++) {
                for (uint32_t t = 0; t < 3; t++) {
                    double noise = 0;
                    for (int i = 0; i < 12; i++) { /* nearly normal */
                        noise += (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0 - 0.5;
                    }
                    fixture_throughput(&f[side], p, t, 50 * exp(0.05 * noise));
                }
            }
            fixture_build(&f[side], RUN_SUCCEEDED);
        }
        struct comparison *c = compare(&f[0], &f[1], &defaults);
        flagged += c->change == CHANGE_SLOWER || c->change == CHANGE_FASTER;
        inconclusive += c->change == CHANGE_INCONCLUSIVE;
        comparison_free(c);
        fixture_done(&f[0]);
        fixture_done(&f[1]);
    }
    print_message("# %d of %d flagged, %d inconclusive\n", flagged, experiments, inconclusive);
    /* Each test alone rejects 5%, so both together leave at most 10% where one does. */
    assert_true(inconclusive <= experiments * 0.1 + 2 * sqrt(experiments * 0.1 * 0.9));
    assert_true(flagged <= experiments * 0.05 + 2 * sqrt(experiments * 0.05 * 0.95));
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
        const double ratio = p->ratio.estimate.value;
        assert_true(base == 0 ? ratio > 1.025 && p->welch.t < 0 : ratio < 0.98 && p->welch.t > 0);
        assert_true(c->gate_rejects && p->p_adjusted <= COMPARE_ALPHA);
        assert_string_equal(change_names[p->change], change_names[CHANGE_NONE]);
        comparison_free(c);
    }
    fixture_done(&f[0]);
    fixture_done(&f[1]);
}
