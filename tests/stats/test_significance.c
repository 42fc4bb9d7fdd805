/* Constants named "scipy" were made with SciPy 1.17.1: special.betainc, stats.t.sf, stats.ttest_ind
 * (equal_var=False), stats.false_discovery_control; those of permutations by going through all
 * arrangements in Python, with the statistic from stats.ttest_ind. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "stats/stats.h"
#include "stats/significance.h"

#include <math.h>

#define SEED 7

/* ---- one point ---- */

TEST(incomplete_betas_of_scipy)
{
    static const struct {
        double a, b, x, value;
    } rows[] = {
        {0.5, 0.5, 0.5, 0.50000000000000011},
        {0.5, 0.5, 0.001, 0.020135041633377492},
        {1, 1, 0.3, 0.29999999999999999},
        {2, 3, 0.4, 0.52479999999999993},
        {5, 0.5, 0.9, 0.31664291502001218},
        {0.75, 0.5, 0.02, 0.029719998276697947},
        {50, 0.5, 0.98, 0.1562435078668179},
        {3, 7, 0.999, 1},
        {1000, 0.5, 0.995, 0.0015463281751827704},
        {10000, 20000, 0.33, 0.11020551912742219},
        {0.5, 5, 1e-08, 0.00024609374671875006},
        {200, 0.5, 0.05, 2.5451937926639045e-262},
        {2, 3, 0, 0},
        {2, 3, 1, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# I_%g(%g, %g)\n", rows[i].x, rows[i].a, rows[i].b);
        double value = student_incomplete_beta(rows[i].a, rows[i].b, rows[i].x);
        assert_near("value", rows[i].value, value, 1e-10);
        double mirrored = student_incomplete_beta(rows[i].b, rows[i].a, 1 - rows[i].x);
        assert_true(fabs(value + mirrored - 1) < 1e-10);
    }
}

TEST(students_t_of_scipy)
{
    static const struct {
        double t, df, p;
    } rows[] = {
        {0, 3, 1},
        {1, 1, 0.50000000000000011},
        {2.5, 1.37, 0.18440753415030961},
        {-2.5, 4.2, 0.063815413466537699},
        {4.303, 2, 0.049992524985214497},
        {12.706, 1, 0.050000802358133187},
        {1.96, 1000000.0, 0.049996067585269852},
        {6, 8, 0.00032339322188514892},
        {30, 8, 1.6535256751789761e-09},
        {100, 2.02, 9.2392546801476946e-05},
        {5.5, 12.75, 0.00010954513293473327},
        {INFINITY, 4, 0},
        {-INFINITY, 4, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# t %g, df %g\n", rows[i].t, rows[i].df);
        assert_near("p", rows[i].p, student_two_sided(rows[i].t, rows[i].df), 1e-9);
    }
}

TEST(t_quantiles)
{
    /* NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975. */
    static const struct {
        double df, t;
    } rows[] = {
        {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},   {5, 2.571},  {9, 2.262},
        {10, 2.228}, {20, 2.086}, {29, 2.045}, {30, 2.042},  {31, 2.040}, {40, 2.021},
        {50, 2.009}, {60, 2.000}, {80, 1.990}, {100, 1.984},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_near("the printed table", rows[i].t, student_quantile(rows[i].df, 0.05), 5e-4);
    }
    assert_near("all digits, df 1", 12.706204736174698, student_quantile(1, 0.05), 1e-10);
    assert_near("all digits, df 2", 4.302652729749464, student_quantile(2, 0.05), 1e-12);
    assert_near("all digits, df 30", 2.0422724563012373, student_quantile(30, 0.05), 1e-11);
    assert_near("many", 1.959964, student_quantile(1e8, 0.05), 1e-6);
    for (double df = 1; df < 200; df *= 1.07) { /* any df: the inverse of p, and falling */
        const double t = student_quantile(df, 0.05);
        assert_near("back", 0.05, student_two_sided(t, df), 1e-11);
        assert_true(t > student_quantile(1.07 * df, 0.05));
    }
}

static struct welch welch_of(const struct sample *a, const struct sample *b)
{
    const struct contrast mean_a = significance_mean(a), mean_b = significance_mean(b);
    return significance_welch_of(&mean_a, &mean_b);
}

TEST(welch_of_scipy)
{
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n_a, n_b;
        double a[6], b[6];
        double t, df, p;
    } rows[] = {
        {"like Student's", 3, 3, {1, 2, 3}, {2, 3, 4}, 1.2247448713915889, 4, 0.28786413472669053},
        {"five trials each, 1.5% slower", 5, 5, {3.55, 3.57, 3.56, 3.58, 3.54},
         {3.50, 3.51, 3.49, 3.52, 3.50}, -6.4236405483757482, 7.2745591939546284,
         0.00030573236687263136},
        {"two and three", 2, 3, {0, 1}, {10, 10.5, 11.75}, 14.202816622064795, 2.7352297592997807,
         0.0012129533910804735},
        {"one side does not vary", 2, 6, {5.1, 5.1}, {5.0, 5.3, 5.2, 4.9, 5.6, 5.15},
         0.91350027839114167, 5, 0.40287952775333147},
        {"neither varies", 3, 2, {2, 2, 2}, {1.5, 1.5}, -INFINITY, 3, 0},
        {"all alike", 2, 2, {2, 2}, {2, 2}, 0, 2, 1},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct sample a = {rows[i].a, rows[i].n_a}, b = {rows[i].b, rows[i].n_b};
        struct welch w = welch_of(&a, &b), mirrored = welch_of(&b, &a);
        assert_true(w.known && mirrored.known);
        if (isinf(rows[i].t)) {
            assert_true(isinf(w.t) && signbit(w.t) == signbit(rows[i].t));
        } else {
            assert_near("t", rows[i].t, w.t, 1e-9);
        }
        assert_near("df", rows[i].df, w.df, 1e-9);
        assert_near("p", rows[i].p, w.p, 1e-9);
        assert_true(mirrored.t == -w.t && mirrored.df == w.df && mirrored.p == w.p);
    }
    const double one[] = {1}, two[] = {1, 2};
    assert_false(welch_of(&(struct sample){one, 1}, &(struct sample){two, 2}).known);
    assert_false(welch_of(&(struct sample){two, 2}, &(struct sample){one, 1}).known);
    assert_false(welch_of(&(struct sample){two, 2}, &(struct sample){NULL, 0}).known);
}

TEST(adjusted_as_by_scipy)
{
    /* clang-format off */
    static const struct {
        size_t n;
        double p[25], adjusted[25];
    } rows[] = {
        {0, {0}, {0}},
        {1, {0.01}, {0.01}},
        {4, {0.01, 0.04, 0.03, 0.005}, {0.02, 0.04, 0.04, 0.02}},
        {3, {0.8, 0.6, 0.9}, {0.9, 0.9, 0.9}},
        {3, {0.2, 0.2, 0.2}, {0.2, 0.2, 0.2}},
        {25,
         {0.001, 0.008, 0.039, 0.041, 0.042, 0.06,  0.074, 0.205, 0.212,
          0.216, 0.222, 0.251, 0.269, 0.275, 0.34,  0.341, 0.384, 0.569,
          0.594, 0.696, 0.762, 0.94,  0.942, 0.975, 0.986},
         {0.025,          0.1,            0.21,           0.21,           0.21,
          0.25,           0.264285714286, 0.491071428571, 0.491071428571, 0.491071428571,
          0.491071428571, 0.491071428571, 0.491071428571, 0.491071428571, 0.5328125,
          0.5328125,      0.564705882353, 0.781578947368, 0.781578947368, 0.87,
          0.907142857143, 0.986,          0.986,          0.986,          0.986}},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double adjusted[25];
        significance_adjust(rows[i].p, rows[i].n, adjusted);
        for (size_t k = 0; k < rows[i].n; k++) {
            print_message("# row %zu, p[%zu]\n", i, k);
            assert_near("adjusted", rows[i].adjusted[k], adjusted[k], 1e-11);
        }
    }
}

static double uniform(uint64_t *state)
{
    return (double)(splitmix_next(state) >> 11) / 9007199254740992.0;
}

/* Adjusting keeps the order, raises nothing beyond 1 and lowers nothing; a smaller p elsewhere
 * never raises mine. */
TEST(adjusting_is_monotone)
{
    uint64_t seed = 20181120;
    for (int round = 0; round < 200; round++) {
        double p[12], adjusted[12], lowered[12];
        const size_t n = 1 + (size_t)round % 12;
        for (size_t i = 0; i < n; i++) {
            p[i] = pow(uniform(&seed), 3);
        }
        significance_adjust(p, n, adjusted);
        for (size_t i = 0; i < n; i++) {
            assert_true(adjusted[i] >= p[i] && adjusted[i] <= 1);
            for (size_t k = 0; k < n; k++) {
                assert_true(p[i] > p[k] || adjusted[i] <= adjusted[k]);
            }
        }
        p[0] /= 2;
        significance_adjust(p, n, lowered);
        for (size_t i = 0; i < n; i++) {
            assert_true(lowered[i] <= adjusted[i]);
        }
    }
}

/* Corrected for many points p is judged at less than 5%: there the hypothesis with the wider
 * interval at 95% may be the one with the smaller p. */
TEST(a_staged_p_is_the_larger_of_both)
{
    const struct contrast a = {.value = 0.11,
                               .variance = 0.03 * 0.03 / 20,
                               .df = 2,
                               .is_staged = true,
                               .common = 0.03 * 0.03,
                               .common_df = 2,
                               .scale = 1.0 / 20};
    const struct contrast b = {.value = 0,
                               .variance = 0.002 * 0.002 / 5,
                               .df = 2,
                               .is_staged = true,
                               .common = 0.002 * 0.002,
                               .common_df = 2,
                               .scale = 1.0 / 5};
    const struct welch w = significance_welch_of(&a, &b);
    assert_true(fabs(w.df - 2.071) < 0.001 && fabs(w.p - 0.003235) < 0.00001);
    const double s2 =
        (2 * a.common + 2 * b.common) / 4; /* with one deviation for both p is less, */
    assert_true(student_two_sided(0.11 / sqrt(s2 * (a.scale + b.scale)), 4) < 0.0006);
    assert_true(significance_uncertainty(&(struct contrast){.variance = a.variance + b.variance,
                                                            .df = w.df,
                                                            .is_staged = true,
                                                            .common = s2,
                                                            .common_df = 4,
                                                            .scale = a.scale + b.scale})
                    .df == 4); /* though its 95% interval is wider */
}
