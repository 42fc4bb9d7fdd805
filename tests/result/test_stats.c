#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/stats.h"

#include <math.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static void near(const char *what, double expected, double actual, double relative)
{
    if (!(fabs(actual - expected) <= relative * fabs(expected))) {
        fail_msg("%s: expected %.12g, got %.12g", what, expected, actual);
    }
}

static void t_quantiles_match_the_printed_table(void **state)
{
    (void)state;
    /* NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975. */
    static const struct {
        size_t df;
        double t;
    } rows[] = {
        {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},   {5, 2.571},  {9, 2.262},
        {10, 2.228}, {20, 2.086}, {29, 2.045}, {30, 2.042},  {31, 2.040}, {40, 2.021},
        {50, 2.009}, {60, 2.000}, {80, 1.990}, {100, 1.984},
    };
    near("all digits", 4.30265272974946, stats_t_quantile_975(2),
         1e-12); /* 0.95 sqrt(2 / 0.04875) / 2 */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double t = stats_t_quantile_975(rows[i].df);
        if (fabs(t - rows[i].t) > 0.0005 + 3e-6) {
            fail_msg("df %zu: expected %.3f, got %.6f", rows[i].df, rows[i].t, t);
        }
    }
    near("many", 1.959964, stats_t_quantile_975(100000000), 1e-6);
    assert_true(isinf(stats_t_quantile_975(0)));
    for (size_t df = 1; df < 200; df++) { /* no step where the table ends */
        assert_true(stats_t_quantile_975(df) > stats_t_quantile_975(df + 1));
    }
}

static void ranks_of_the_median(void **state)
{
    (void)state;
    /* Exact: 1 - 2 * sum of C(n, i) for i < j, over 2^n. */
    static const struct {
        size_t n, j;
        double coverage;
    } rows[] = {
        {0, 0, 0},
        {1, 0, 0},
        {5, 0, 0}, /* the whole range of five holds the median in 93.75% only */
        {6, 1, 1 - 2 * 1 / 64.0},
        {8, 1, 1 - 2 * 1 / 256.0},
        {9, 2, 1 - 2 * 10 / 512.0},
        {10, 2, 1 - 2 * 11 / 1024.0},
        {12, 3, 1 - 2 * 79 / 4096.0},
        {17, 5, 1 - 2 * 3214 / 131072.0},
        {20, 6, 1 - 2 * 21700 / 1048576.0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double coverage = -1;
        size_t j = stats_median_rank(rows[i].n, &coverage);
        if (j != rows[i].j || fabs(coverage - rows[i].coverage) > 1e-12) {
            fail_msg("n %zu: expected rank %zu, %.6f; got %zu, %.6f", rows[i].n, rows[i].j,
                     rows[i].coverage, j, coverage);
        }
    }
    for (size_t n = 6; n < 3000; n += 7) {
        double coverage;
        assert_true(stats_median_rank(n, &coverage) > 0);
        assert_true(coverage >= 0.95 && coverage < 1);
    }
}

static void medians_by_hand(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n;
        double values[10];
        bool known;
        double value;
        enum interval_method method;
        double low, high;
    } rows[] = {
        {"none", 0, {0}, false, 0, INTERVAL_NONE, 0, 0},
        {"one", 1, {5}, true, 5, INTERVAL_NONE, 0, 0},
        {"two: the middle", 2, {6, 4}, true, 5, INTERVAL_NONE, 0, 0},
        /* logs 0, 1, 2: mean 1, deviation 1; half = 4.302653 / sqrt(3) = 2.484138 */
        {"three", 3, {M_E * M_E, 1, M_E}, true, M_E, INTERVAL_T_LOG, 0.226696, 32.594323},
        /* logs 0, 0, 3: mean 1, deviation sqrt(3); half = 4.302653; the median is 1 */
        {"three, off-centre", 3, {1, 20.085536923187668, 1}, true, 1, INTERVAL_T_LOG, 0.036786,
         200.869},
        {"three alike", 3, {7.1, 7.1, 7.1}, true, 7.1, INTERVAL_T_LOG, 7.1, 7.1},
        /* logs -1, 1, -1, 1: mean 0, deviation sqrt(4/3); half = 3.182446 * 1.154701 / 2 */
        {"four", 4, {1 / M_E, M_E, 1 / M_E, M_E}, true, (M_E + 1 / M_E) / 2, INTERVAL_T_LOG,
         0.159233, 6.280100},
        {"a zero among three", 3, {0, 1, 2}, true, 1, INTERVAL_NONE, 0, 0},
        {"six: least and most", 6, {3, 1, 6, 2, 5, 4}, true, 3.5, INTERVAL_ORDER_STATISTIC, 1, 6},
        {"nine: second and eighth", 9, {9, 1, 8, 2, 7, 3, 6, 4, 5}, true, 5,
         INTERVAL_ORDER_STATISTIC, 2, 8},
        {"six with a zero", 6, {0, 1, 2, 3, 4, 5}, true, 2.5, INTERVAL_ORDER_STATISTIC, 0, 5},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct estimate e = stats_median(rows[i].values, rows[i].n);
        assert_int_equal(e.known, rows[i].known);
        near("value", rows[i].value, e.value, 1e-12);
        assert_int_equal(e.method, rows[i].method);
        assert_int_equal(e.has_interval, rows[i].method != INTERVAL_NONE);
        if (e.has_interval) {
            near("low", rows[i].low, e.low, 2e-5);
            near("high", rows[i].high, e.high, 2e-5);
            assert_true(e.low <= e.value && e.value <= e.high);
        }
    }
}

static struct estimate exactly(double value)
{
    return (struct estimate){.known = true, .value = value};
}

static void the_seeds_eight_percentages(void **state)
{
    (void)state;
    /* Throughput of N trainers over N times that of one without server, batch 128, 2018. */
    static const struct {
        const char *system;
        double trainers, samples_per_s, single, percent;
    } rows[] = {
        {"fluid", 20, 263.29, 16.74, 78.64}, {"fluid", 40, 518.80, 16.74, 77.47},
        {"fluid", 80, 836.26, 16.74, 62.44}, {"fluid", 100, 1019.29, 16.74, 60.89},
        {"v2", 20, 326.85, 17.60, 92.85},    {"v2", 40, 534.58, 17.60, 75.93},
        {"v2", 80, 853.30, 17.60, 60.60},    {"v2", 100, 1041.99, 17.60, 59.20},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct estimate x = exactly(rows[i].samples_per_s), one = exactly(rows[i].single);
        struct estimate e = stats_ratio(&x, &one, 1 / rows[i].trainers);
        if (!e.known || fabs(100 * e.value - rows[i].percent) > 0.01) {
            fail_msg("%s, %g trainers: expected %.2f%%, got %.4f%%", rows[i].system,
                     rows[i].trainers, rows[i].percent, 100 * e.value);
        }
        assert_false(e.has_interval);
    }
}

static void ratios_by_hand(void **state)
{
    (void)state;
    /* In logs both reach 3 hundredths down and 4 up; crossed, each side adds to 5. */
    struct estimate a = {true, 100, true, 100 * exp(-0.03), 100 * exp(0.04), INTERVAL_T_LOG};
    struct estimate b = {true, 50, true, 50 * exp(-0.03), 50 * exp(0.04), INTERVAL_T_LOG};
    struct estimate e = stats_ratio(&a, &b, 0.5);
    assert_true(e.known && e.has_interval && e.method == INTERVAL_RATIO);
    near("value", 1, e.value, 1e-15);
    near("low", exp(-0.05), e.low, 1e-12);  /* a's 3 down, b's 4 up */
    near("high", exp(0.05), e.high, 1e-12); /* a's 4 up, b's 3 down */

    e = stats_ratio(&a, &a, 0.25);
    assert_true(e.known && e.value == 0.25 && !e.has_interval && e.method == INTERVAL_NONE);

    struct estimate no_interval = exactly(50), unknown = {0}, zero = exactly(0);
    e = stats_ratio(&a, &no_interval, 1);
    assert_true(e.known && e.value == 2 && !e.has_interval);
    assert_false(stats_ratio(&a, &unknown, 1).known);
    assert_false(stats_ratio(&unknown, &a, 1).known);
    assert_false(stats_ratio(&a, &zero, 1).known);
    assert_false(stats_ratio(&zero, &a, 1).known);
    struct estimate reaches_zero = {true, 50, true, 0, 60, INTERVAL_ORDER_STATISTIC};
    assert_false(stats_ratio(&a, &reaches_zero, 1).has_interval);
}

static void geometric_means_by_hand(void **state)
{
    (void)state;
    /* 3 and 4 hundredths down make 5 of the sum, so 2.5 of the mean; likewise up. */
    struct estimate r[] = {
        {true, 2, true, 2 * exp(-0.03), 2 * exp(0.06), INTERVAL_RATIO},
        {true, 0.5, true, 0.5 * exp(-0.04), 0.5 * exp(0.08), INTERVAL_RATIO},
    };
    struct estimate e = stats_geomean(r, 2);
    assert_true(e.known && e.has_interval && e.method == INTERVAL_RATIO);
    near("value", 1, e.value, 1e-15);
    near("low", exp(-0.025), e.low, 1e-12);
    near("high", exp(0.05), e.high, 1e-12);
    e = stats_geomean(r, 1);
    near("one", 2, e.value, 1e-15);
    near("one's low", r[0].low, e.low, 1e-12);
    r[1].has_interval = false;
    e = stats_geomean(r, 2);
    assert_true(e.known && !e.has_interval && e.method == INTERVAL_NONE);
    assert_false(stats_geomean(r, 0).known);
    r[1].value = 0;
    assert_false(stats_geomean(r, 2).known);
    r[1] = (struct estimate){0};
    assert_false(stats_geomean(r, 2).known);
}

static uint64_t next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}

/* A normal number, by Box and Muller. */
static double normal(uint64_t *s)
{
    double u = ((double)(next(s) >> 11) + 1) / 9007199254740993.0;
    double v = (double)(next(s) >> 11) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* What the contract promises: the intervals hold the truth in about 95% of all experiments. */
static void intervals_cover_the_truth(void **state)
{
    (void)state;
    static const size_t counts[] = {3, 5, 6, 9};
    uint64_t seed = 20181120;
    for (size_t c = 0; c < N_ROWS(counts); c++) {
        const int experiments = 4000;
        int median_held = 0, ratio_held = 0;
        for (int i = 0; i < experiments; i++) {
            double a[16], b[16];
            for (size_t j = 0; j < counts[c]; j++) {
                a[j] = 200 * exp(0.05 * normal(&seed));
                b[j] = 100 * exp(0.02 * normal(&seed));
            }
            struct estimate ea = stats_median(a, counts[c]), eb = stats_median(b, counts[c]);
            struct estimate r = stats_ratio(&ea, &eb, 1);
            median_held += ea.low <= 200 && 200 <= ea.high;
            ratio_held += r.low <= 2 && 2 <= r.high;
        }
        print_message("# n %zu: median %d, ratio %d of %d\n", counts[c], median_held, ratio_held,
                      experiments);
        /* 95% of 4000 is 3800, 3 standard deviations are 41. MOVER errs on the wide side. */
        assert_true(median_held >= 3800 - 41);
        assert_true(ratio_held >= 3800 - 41);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_quantiles_match_the_printed_table),
        cmocka_unit_test(ranks_of_the_median),
        cmocka_unit_test(medians_by_hand),
        cmocka_unit_test(the_seeds_eight_percentages),
        cmocka_unit_test(ratios_by_hand),
        cmocka_unit_test(geometric_means_by_hand),
        cmocka_unit_test(intervals_cover_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
