/* Paired tests against constants of SciPy 1.x (ttest_1samp, t.ppf). */
#include "tests/test.h"
#include "stats/paired.h"

#include <math.h>

static void near(const char *what, double expected, double actual)
{
    if (!(fabs(actual - expected) <= 1e-11 * fmax(1, fabs(expected)))) {
        fail_msg("%s: expected %.17g, got %.17g", what, expected, actual);
    }
}

TEST(as_scipy)
{
    /* clang-format off */
    static const struct {
        size_t n;
        double d[8];
        double mean, sd, t, p, low, high, low_95, p_above; /* above ln 0.98 */
    } rows[] = {
        {5, {0.01, 0.02, 0.015, 0.005, 0.012}, 0.0124, 0.005594640292279746, 4.956036755260076,
         0.007727887826596307, 1.0054682330722717, 1.0195350228748359,
         0.007066121044725133, 0.00010009062922472328},
        {3, {-0.05, -0.045, -0.062}, -0.052333333333333336, 0.008736894948054104,
         -10.37485202714491, 0.009162942034802028, 0.9286373488934996, 0.9698346527384135,
         -0.0670624666554624, 0.9881144133158694},
        {8, {0.3, -0.2, 0.1, 0.05, -0.15, 0.02, 0.4, -0.01}, 0.06375, 0.2045858185282087,
         0.8813525321536781, 0.4073691086109855, 0.8982669127966357, 1.2646406675543937,
         -0.0732886782452995, 0.1419144626214048},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct paired p = paired_test_staged(rows[i].d, rows[i].n, rows[i].n);
        assert_true(p.known);
        near("mean", rows[i].mean, p.mean);
        near("sd", rows[i].sd, p.sd);
        near("t", rows[i].t, p.t);
        near("p", rows[i].p, p.p);
        const struct estimate e = paired_ratio(&p);
        near("ratio", exp(rows[i].mean), e.value);
        near("low", rows[i].low, e.low);
        near("high", rows[i].high, e.high);
        near("one-sided limit", rows[i].low_95, paired_low_95(&p));
        near("above the margin", rows[i].p_above, paired_p_above(&p, log(0.98)));
        /* The limit is where the test turns. */
        near("at its limit", 0.05, paired_p_above(&p, paired_low_95(&p)));
    }
}

TEST(few_or_equal)
{
    static const double d[] = {0.05, 0.05, 0.05, 0.05}, zero[] = {0, 0, 0};
    struct paired p = paired_test_staged(d, 0, 0);
    assert_false(p.known || paired_ratio(&p).known);
    near("no pair shows nothing", 1, paired_p_above(&p, -1));
    p = paired_test_staged(d, 2, 2);
    assert_false(p.known || paired_ratio(&p).has_interval);
    near("two give a ratio", exp(0.05), paired_ratio(&p).value);
    near("two are too few for a margin", 1, paired_p_above(&p, -1));
    assert_int_equal(paired_n_resolving(&p, 1), 0);
    p = paired_test_staged(d, 4, 4);
    assert_true(isinf(p.t) && p.p == 0);
    near("surely above", 0, paired_p_above(&p, 0.04));
    near("surely not", 1, paired_p_above(&p, 0.06));
    p = paired_test_staged(zero, 3, 3);
    near("no difference", 1, p.p);
}

/* As SciPy's t.sf says of the formula. */
TEST(one_more_run)
{
    static const double same[] = {4.60, 4.62, 4.59, 4.61};
    struct paired b = run_spread_test(same, 4, 4.55);
    assert_true(b.known);
    near("sd", 0.012909944487358154, b.sd);
    near("t", -3.810511776651456, b.t);
    near("p", 0.03177698057239783, b.p);
    near("difference", -0.055, b.mean);
    assert_false(run_spread_test(same, 2, 4.55).known); /* two runs may be alike by accident */
    static const double equal[] = {1, 1, 1};
    near("all alike", 0, run_spread_test(equal, 3, 1.5).p);
    assert_true(run_spread_test(equal, 3, 1.5).t == INFINITY);
    near("and so is the other", 1, run_spread_test(equal, 3, 1).p);
}

/* SciPy's t.ppf: 2.9199856 + 1.8856181 of 2, 2.1318468 + 1.5332063 of 4 degrees of freedom. */
TEST(pairs_needed)
{
    const struct paired p = {.known = true, .n = 3, .sd = 0.01, .error = 0.01 / sqrt(3), .df = 2};
    near("with 3", 0.01 / sqrt(3) * (2.91998558035372 + 1.88561808316413), paired_resolution(&p));
    assert_int_equal(paired_n_resolving(&p, 0.0278), 3);
    assert_int_equal(paired_n_resolving(&p, 0.0277), 4);
    assert_int_equal(paired_n_resolving(&p, 0.0164), 5); /* 0.01639 with 5 */
    assert_int_equal(paired_n_resolving(&p, 0.0001), 0);
}

TEST(adjusted_by_holm)
{
    static const double p[] = {0.01, 0.04, 0.03, 0.005, 0.9};
    static const double expected[] = {0.04, 0.09, 0.09, 0.025, 0.9}; /* R: p.adjust(p, "holm") */
    double got[5];
    paired_adjust(p, 5, got);
    for (size_t i = 0; i < 5; i++) {
        near("adjusted", expected[i], got[i]);
    }
    double alone[] = {0.03};
    paired_adjust(alone, 1, alone);
    near("alone", 0.03, alone[0]);
    double high[] = {0.8, 0.7};
    paired_adjust(high, 2, high);
    near("never above 1", 1, fmax(high[0], high[1]));
}

/* Where a stop rule chose how many pairs there are, the first stage alone says how they vary. */
TEST(pairs_of_two_stages)
{
    const double d[] = {-0.05, -0.045, -0.062, -0.1, -0.2};
    const struct paired p = paired_test_staged(d, 5, 3), first = paired_test_staged(d, 3, 3);
    const double deviation = sqrt(M_PI / (10 + M_PI - 2)); /* of a median of five */
    near("median of all", -0.062, p.mean);
    near("sd of the first", first.sd * deviation * sqrt(5), p.sd);
    near("df of the first", 2, p.df);
    near("t", -0.062 / (first.sd * deviation), p.t);
    near("all pairs are the first stage", paired_test_staged(d, 3, 3).t,
         paired_test_staged(d, 3, 5).t);
    assert_false(paired_test_staged(d, 2, 3).known);
}
