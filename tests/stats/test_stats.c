#include "tests/test.h"
#include "base/splitmix.h"

#include "stats/stats.h"

#include <math.h>

TEST(ranks_of_the_median)
{
    /* Coverage, exact: 1 - 2 * sum of C(n, i) for i < j, over 2^n. The weight by hand for 6:
     * coverages 62/64 and 50/64, so 0.1 of the way to 95%; 5 * 0.1 / (1 + 4 * 0.1). */
    static const struct {
        size_t n, j;
        double coverage, weight;
    } rows[] = {
        {0, 0, 0, 0},
        {1, 0, 0, 0},
        {5, 0, 0, 0}, /* the whole range of five holds the median in 93.75% only */
        {6, 1, 1 - 2 * 1 / 64.0, 0.5 / 1.4},
        {7, 1, 1 - 2 * 1 / 128.0, 0.733333},
        {8, 1, 1 - 2 * 1 / 256.0, 0.935644},
        {9, 2, 1 - 2 * 10 / 512.0, 0.227907},
        {10, 2, 1 - 2 * 11 / 1024.0, 0.657658},
        {12, 3, 1 - 2 * 79 / 4096.0, 0.263118},
        {17, 5, 1 - 2 * 3214 / 131072.0, 0.024016},
        {20, 6, 1 - 2 * 21700 / 1048576.0, 0.235234},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct median_rank r = stats_median_rank(rows[i].n);
        if (r.j != rows[i].j || fabs(r.coverage - rows[i].coverage) > 1e-12 ||
            fabs(r.weight - rows[i].weight) > 1e-6) {
            fail_msg("n %zu: expected rank %zu, %.6f, weight %.6f; got %zu, %.6f, %.6f", rows[i].n,
                     rows[i].j, rows[i].coverage, rows[i].weight, r.j, r.coverage, r.weight);
        }
    }
    for (size_t n = 6; n < 3000; n += 7) {
        const struct median_rank r = stats_median_rank(n);
        assert_true(r.j > 0 && r.coverage >= 0.95 && r.coverage < 1);
        assert_true(r.weight >= 0 && r.weight <= 1 && r.j + 1 <= (n + 1) / 2);
    }
}

TEST(medians_by_hand)
{
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
        /* weights of the test above, between neighbours 1 or 10 apart */
        {"six", 6, {3, 1, 6, 2, 5, 4}, true, 3.5, INTERVAL_ORDER_STATISTICS, 1.357143, 5.642857},
        {"six, far values", 6, {10, 20, 31, 42, 50, 60}, true, 36.5, INTERVAL_ORDER_STATISTICS,
         13.571429, 56.428571},
        {"nine", 9, {9, 1, 8, 2, 7, 3, 6, 4, 5}, true, 5, INTERVAL_ORDER_STATISTICS, 2.227907,
         7.772093},
        {"six with a zero", 6, {0, 1, 2, 3, 4, 5}, true, 2.5, INTERVAL_ORDER_STATISTICS, 0.357143,
         4.642857},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct estimate e = stats_median(rows[i].values, rows[i].n);
        assert_int_equal(e.known, rows[i].known);
        assert_near("value", rows[i].value, e.value, 1e-12);
        assert_int_equal(e.method, rows[i].method);
        assert_int_equal(e.has_interval, rows[i].method != INTERVAL_NONE);
        if (e.has_interval) {
            assert_near("low", rows[i].low, e.low, 2e-5);
            assert_near("high", rows[i].high, e.high, 2e-5);
            assert_true(e.low <= e.value && e.value <= e.high);
        }
    }
}

/* The example of docs/numbers.md, and a ratio of it to a point without a stop rule. */
TEST(two_stages_by_hand)
{
    const double values[] = {98, 100, 102, 101, 99}, base[] = {50, 51, 52, 51, 50};
    const double variance = 0.0004001200380571163; /* of the logs of the first three */
    const struct estimate e = stats_two_stage(values, 5, variance, 3);
    assert_near("value", 100, e.value, 1e-12);
    assert_near("low", 95.532685459, e.low, 1e-7);
    assert_near("high", 104.676215810, e.high, 1e-7);
    assert_int_equal(e.method, INTERVAL_TWO_STAGE_LOG);
    assert_string_equal(interval_method_names[e.method], "SteinTwoStageTLog");
    const struct estimate other = stats_median(base, 5), ratio = stats_ratio(&e, &other, 1);
    assert_near("Welch's is the wider interval: df", 3.92306116618, ratio.logs.df, 1e-10);
    assert_near("low", 1.898840280, ratio.low, 1e-8);
    assert_near("high", 2.041164857, ratio.high, 1e-8);
    const struct estimate first = stats_two_stage(values, 3, variance, 3);
    assert_near("the first stage alone: around the mean of the logs", 95.139726618, first.low,
                1e-7);
    assert_near("the same", 105.080532717, first.high, 1e-7);
    const struct estimate same = stats_two_stage((const double[]){7, 7, 7}, 3, 0, 3);
    assert_near("the side that varies", 4, stats_ratio(&other, &same, 1).logs.df, 1e-12);
    assert_near("of both", 2 * ratio.logs.df,
                stats_geomean((const struct estimate[]){ratio, ratio}, 2).logs.df, 1e-12);
    assert_false(stats_two_stage((const double[]){0, 1, 2}, 3, 1, 3).has_interval);
}

/* The second example: few trials of a side that deviates little, many of the other. One deviation
 * for both is wider. */
TEST(ratios_of_two_stages_by_hand)
{
    double many[44];
    for (size_t i = 0; i < N_ROWS(many); i++) {
        many[i] = 50;
    }
    const struct estimate few = stats_two_stage((const double[]){98, 100, 102, 101, 99}, 5,
                                                0.0004001200380571163, 3),
                          base = stats_two_stage(many, N_ROWS(many), 0.0036, 3),
                          ratio = stats_ratio(&few, &base, 1);
    const struct uncertainty u = significance_uncertainty(&ratio.logs);
    assert_near("Welch's variance", 0.00023969557786864476, ratio.logs.variance, 1e-12);
    assert_near("variance", 0.000634444089430263, u.variance, 1e-12);
    assert_near("df", 4, u.df, 1e-12);
    assert_near("low", 1.8649115006819141, ratio.low, 1e-9);
    assert_near("high", 2.144873898057565, ratio.high, 1e-9);
    const struct welch w = significance_welch_of(&base.logs, &few.logs);
    assert_near("the test is that of the interval", u.df, w.df, 1e-12);
    assert_near("t", ratio.logs.value / sqrt(u.variance), w.t, 1e-12);
    /* Of both sides' numbers of trials nothing is known: Welch's alone. */
    struct contrast free_numbers = ratio.logs;
    free_numbers.is_staged = false;
    assert_near("own", ratio.logs.variance, significance_uncertainty(&free_numbers).variance,
                1e-12);
}

static struct estimate exactly(double value)
{
    return (struct estimate){.known = true, .value = value};
}

TEST(the_seeds_eight_percentages)
{
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

TEST(ratios_by_hand)
{
    /* Logs -0.03, 0, 0.03 about ln 100 and ln 50: each variance 0.0009 / 3, together 0.0006, 4
     * degrees of freedom; half = 2.776445 * 0.0244949 = 0.0680087. */
    const double x[] = {100 * exp(0.03), 100, 100 * exp(-0.03)};
    const double y[] = {50, 50 * exp(0.03), 50 * exp(-0.03)};
    struct estimate a = stats_median(x, 3), b = stats_median(y, 3);
    struct estimate e = stats_ratio(&a, &b, 0.5);
    assert_true(e.known && e.has_interval && e.method == INTERVAL_WELCH_LOG);
    assert_near("value", 1, e.value, 1e-15);
    assert_near("low", exp(-0.0680087), e.low, 1e-7);
    assert_near("high", exp(0.0680087), e.high, 1e-7);

    /* Nine of ten alike, one at half: t holds the median of three; of ten it must be made to. */
    const double far[] = {1, 1, 1, 1, 1, 1, 2.71, 2.72, 2.73, 2.72};
    struct estimate c = stats_median(far, 10);
    e = stats_ratio(&c, &a, 1);
    assert_true(e.has_interval && e.low <= e.value && e.value <= e.high);

    e = stats_ratio(&a, &a, 0.25);
    assert_true(e.known && e.value == 0.25 && !e.has_interval && e.method == INTERVAL_NONE);

    struct estimate no_interval = stats_median(x, 2), unknown = {0}, zero = exactly(0);
    e = stats_ratio(&a, &no_interval, 1);
    assert_true(e.known && !e.has_interval);
    assert_false(stats_ratio(&no_interval, &a, 1).has_interval);
    assert_false(stats_ratio(&a, &unknown, 1).known);
    assert_false(stats_ratio(&unknown, &a, 1).known);
    assert_false(stats_ratio(&a, &zero, 1).known);
    assert_false(stats_ratio(&zero, &a, 1).known);
    const double reaches_zero[] = {0, 50, 51, 52, 53, 54};
    b = stats_median(reaches_zero, 6);
    assert_true(b.has_interval);
    assert_false(stats_ratio(&a, &b, 1).has_interval);
}

TEST(geometric_means_by_hand)
{
    /* Two ratios with a variance of 0.0006 and 4 degrees of freedom each: their mean has a quarter
     * of 0.0012 and 8; half = 2.306004 * 0.0173205 = 0.0399412. */
    const double x[] = {100 * exp(0.03), 100, 100 * exp(-0.03)};
    const double y[] = {50, 50 * exp(0.03), 50 * exp(-0.03)};
    struct estimate a = stats_median(x, 3), b = stats_median(y, 3);
    struct estimate r[] = {stats_ratio(&a, &b, 1), stats_ratio(&b, &a, 1)};
    struct estimate e = stats_geomean(r, 2);
    assert_true(e.known && e.has_interval && e.method == INTERVAL_WELCH_LOG);
    assert_near("value", 1, e.value, 1e-15);
    assert_near("low", exp(-0.0399412), e.low, 1e-7);
    assert_near("high", exp(0.0399412), e.high, 1e-7);
    e = stats_geomean(r, 1);
    assert_near("one", 2, e.value, 1e-15);
    assert_near("one's low", r[0].low, e.low, 1e-12);
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
TEST(intervals_cover_the_truth)
{
    static const size_t counts[] = {3, 5, 6, 8, 9, 10};
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
        /* 94% to 97% of 4000, and 2.5 standard deviations of the count: 35 and 27. */
        assert_in_range(median_held, 3760 - 35, 3880 + 27);
        assert_in_range(ratio_held, 3760 - 35, 3880 + 27);
    }
}

/* The mean of the j-th smallest of n standard normal numbers, by the trapezoidal rule. */
static double mean_of_rank(size_t n, size_t j)
{
    int sign;
    const double ways = lgamma_r((double)n + 1, &sign) - lgamma_r((double)j, &sign) -
                        lgamma_r((double)(n - j) + 1, &sign);
    const double step = 0.01;
    double sum = 0;
    for (double x = -6; x < 6; x += step) {
        const double below = erfc(-x / M_SQRT2) / 2, above = erfc(x / M_SQRT2) / 2;
        sum +=
            x * exp(ways + (double)(j - 1) * log(below) + (double)(n - j) * log(above) - x * x / 2);
    }
    return sum * step / sqrt(2 * M_PI);
}

/* Half of the mean width for normal noise of 1: from 6 trials on the interval is linear in the
 * sorted values, so their means give it exactly. */
static double half_width_of_ranks(size_t n)
{
    double x[32];
    for (size_t j = 1; j <= n; j++) {
        x[j - 1] = 100 + mean_of_rank(n, j);
    }
    const struct estimate e = stats_median(x, n);
    return (e.high - e.low) / 2;
}

static double half_width_simulated(size_t n)
{
    const int experiments = 20000;
    uint64_t seed = 20181120;
    double sum = 0;
    for (int i = 0; i < experiments; i++) {
        double x[8];
        for (size_t j = 0; j < n; j++) {
            x[j] = exp(0.01 * normal(&seed));
        }
        const struct estimate e = stats_median(x, n);
        sum += log(e.high / e.low) / 2 / 0.01;
    }
    return sum / experiments;
}

/* The interval of n + 1 trials is on average narrower than that of n, up to 31 trials. */
TEST(more_trials_never_widen)
{
    double last = INFINITY;
    for (size_t n = 3; n <= 31; n++) {
        const double half = n < 6 ? half_width_simulated(n) : half_width_of_ranks(n);
        print_message("# n %zu: %.4f\n", n, half);
        if (half >= last) {
            fail_msg("%zu trials: half a width of %.4f, one fewer: %.4f", n, half, last);
        }
        last = half;
    }
    assert_near("6 by both ways", half_width_of_ranks(6), half_width_simulated(6), 0.01);
}

TEST(the_middle_is_the_median)
{
    uint64_t random = 20181120;
    for (size_t i = 0; i < 3000; i++) {
        double values[40];
        const size_t n = 1 + splitmix_below(&random, 40);
        const uint32_t kinds = 1 + splitmix_below(&random, 60); /* few: many are equal */
        for (size_t k = 0; k < n; k++) {
            values[k] = 1 + splitmix_below(&random, kinds);
        }
        assert_true(stats_middle(values, n) == stats_median(values, n).value);
    }
    assert_true(isnan(stats_middle(NULL, 0)));
}
