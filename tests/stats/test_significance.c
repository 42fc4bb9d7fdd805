/* Constants named "scipy" were made with SciPy 1.17.1: special.betainc, stats.t.sf, stats.ttest_ind
 * (equal_var=False), stats.false_discovery_control; those of permutations by going through all
 * arrangements in Python, with the statistic from stats.ttest_ind. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "stats/stats.h"
#include "stats/significance.h"

#include <math.h>

#define SEED 7

static void near(const char *what, double expected, double actual, double relative)
{
    if (!(fabs(actual - expected) <= relative * fabs(expected))) {
        fail_msg("%s: expected %.17g, got %.17g", what, expected, actual);
    }
}

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
        near("value", rows[i].value, value, 1e-10);
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
        near("p", rows[i].p, student_two_sided(rows[i].t, rows[i].df), 1e-9);
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
        near("the printed table", rows[i].t, student_quantile(rows[i].df, 0.05), 5e-4);
    }
    near("all digits, df 1", 12.706204736174698, student_quantile(1, 0.05), 1e-10);
    near("all digits, df 2", 4.302652729749464, student_quantile(2, 0.05), 1e-12);
    near("all digits, df 30", 2.0422724563012373, student_quantile(30, 0.05), 1e-11);
    near("many", 1.959964, student_quantile(1e8, 0.05), 1e-6);
    for (double df = 1; df < 200; df *= 1.07) { /* any df: the inverse of p, and falling */
        const double t = student_quantile(df, 0.05);
        near("back", 0.05, student_two_sided(t, df), 1e-11);
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
            near("t", rows[i].t, w.t, 1e-9);
        }
        near("df", rows[i].df, w.df, 1e-9);
        near("p", rows[i].p, w.p, 1e-9);
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
            near("adjusted", rows[i].adjusted[k], adjusted[k], 1e-11);
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

/* ---- all points ---- */

struct values {
    size_t n;
    double v[5];
};

struct world { /* up to four strata */
    const char *name;
    size_t n;
    struct {
        struct values a, b;
    } s[4];
    double statistic, p, p_least;
    uint64_t n_arrangements;
};

/* clang-format off */
static const struct world worlds[] = {
    {"three each: not enough", 1, {{{3, {1.0, 1.2, 1.1}}, {3, {1.5, 1.7, 1.65}}}},
     14.17078171575535, 2 / 20.0, 2 / 20.0, 20},
    {"three each, mixed", 1, {{{3, {1.0, 1.2, 1.6}}, {3, {1.5, 1.7, 1.35}}}},
     1.9216946543224716, 6 / 20.0, 2 / 20.0, 20},
    {"four each: enough", 1, {{{4, {1.0, 1.2, 1.1, 1.3}}, {4, {1.5, 1.7, 1.65, 1.9}}}},
     13.463761824556373, 2 / 70.0, 2 / 70.0, 70},
    {"two and four", 1, {{{2, {1.0, 1.2}}, {4, {1.5, 1.7, 1.65, 1.1}}}},
     3.6184640248562197, 3 / 15.0, 1 / 15.0, 15},
    {"one of two changed", 2,
     {{{3, {1.0, 1.2, 1.1}}, {3, {1.5, 1.7, 1.65}}}, {{3, {2.0, 2.4, 2.2}}, {3, {2.1, 2.5, 2.05}}}},
     14.183165621080459, 40 / 400.0, 4 / 400.0, 400},
    {"one up, one down: they do not cancel", 2,
     {{{3, {1.0, 1.2, 1.1}}, {3, {1.5, 1.7, 1.65}}}, {{3, {2.5, 2.4, 2.3}}, {3, {2.1, 2.0, 2.05}}}},
     26.904350948931928, 4 / 400.0, 4 / 400.0, 400},
    {"four strata of several sizes", 4,
     {{{2, {1.0, 1.2}}, {2, {1.5, 1.7}}}, {{2, {2.0, 2.4}}, {2, {2.1, 2.5}}},
      {{2, {3.0, 3.1}}, {2, {4.0, 4.5}}}, {{1, {7.0}}, {2, {7.5, 7.25}}}},
     22.290573237638828, 104 / 648.0, 8 / 648.0, 648},
    {"all alike: nothing to say", 2,
     {{{3, {1, 1, 1}}, {3, {1, 1, 1}}}, {{2, {2, 2}}, {2, {2, 2}}}}, 0, 1, 4 / 120.0, 120},
    {"nothing varies but the runs", 1, {{{4, {1, 1, 1, 1}}, {4, {2, 2, 2, 2}}}},
     8 * 20.72326583694641, 2 / 70.0, 2 / 70.0, 70},
    {"a stratum of one each is passed over", 2,
     {{{1, {1}}, {1, {2}}}, {{4, {1.0, 1.2, 1.1, 1.3}}, {4, {1.5, 1.7, 1.65, 1.9}}}},
     13.463761824556373, 2 / 70.0, 2 / 70.0, 70},
};
/* clang-format on */

/* Strata of a world, as they are, mirrored, or from the last to the first. */
static void take_strata(const struct world *w, bool mirrored, bool backwards, struct stratum *ret)
{
    for (size_t i = 0; i < w->n; i++) {
        const size_t from = backwards ? w->n - 1 - i : i;
        ret[i].a = (struct sample){w->s[from].a.v, w->s[from].a.n};
        ret[i].b = (struct sample){w->s[from].b.v, w->s[from].b.n};
        if (mirrored) {
            struct sample a = ret[i].a;
            ret[i].a = ret[i].b;
            ret[i].b = a;
        }
    }
}

TEST(exact_permutations)
{
    for (size_t i = 0; i < N_ROWS(worlds); i++) {
        const struct world *w = &worlds[i];
        print_message("# world '%s'\n", w->name);
        for (int how = 0; how < 4; how++) {
            struct stratum strata[4];
            take_strata(w, how & 1, how & 2, strata);
            struct permutation g = significance_permute(strata, w->n, SEED);
            assert_true(g.known && g.is_exact);
            near("statistic", w->statistic, g.statistic, 1e-8);
            near("p", w->p, g.p, 1e-12);
            near("p_least", w->p_least, g.p_least, 1e-12);
            assert_int_equal(w->n_arrangements, g.n_arrangements);
        }
    }
    assert_false(significance_permute(NULL, 0, SEED).known);
    const double one[] = {1}, two[] = {2};
    struct stratum lonely = {{one, 1}, {two, 1}};
    assert_false(significance_permute(&lonely, 1, SEED).known);
}

/* Three strata of 5 + 5: 16,003,008 arrangements, of which this many reach the observed sum. */
TEST(drawn_permutations_agree_with_all)
{
    static const struct world w = {
        "",
        3,
        {{{5, {3.10, 3.12, 3.08, 3.15, 3.11}}, {5, {3.14, 3.16, 3.12, 3.19, 3.13}}},
         {{5, {2.50, 2.53, 2.49, 2.47, 2.55}}, {5, {2.52, 2.58, 2.50, 2.54, 2.51}}},
         {{5, {1.20, 1.22, 1.19, 1.25, 1.21}}, {5, {1.24, 1.20, 1.23, 1.27, 1.22}}}},
        0,
        2144344 / 16003008.0,
        0,
        0};
    const double deviation = sqrt(w.p * (1 - w.p) / SIGNIFICANCE_DRAWS);
    double sum = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct stratum strata[3];
        take_strata(&w, false, false, strata);
        struct permutation g = significance_permute(strata, 3, seed);
        assert_true(g.known && !g.is_exact);
        assert_int_equal(g.n_arrangements, SIGNIFICANCE_DRAWS);
        near("p_least", 1e-4, g.p_least, 1e-12);
        if (fabs(g.p - w.p) > 4 * deviation) {
            fail_msg("seed %u: expected %.5f, got %.5f", (unsigned)seed, w.p, g.p);
        }
        sum += g.p;
        struct permutation again = significance_permute(strata, 3, seed);
        assert_true(again.p == g.p);
        for (int how = 1; how < 4; how++) { /* the same draws, whoever is called a */
            take_strata(&w, how & 1, how & 2, strata);
            assert_true(significance_permute(strata, 3, seed).p == g.p);
        }
    }
    static const struct world uneven = {
        "",
        4,
        {{{5, {3.10, 3.12, 3.08, 3.15, 3.11}}, {5, {3.14, 3.16, 3.12, 3.19, 3.13}}},
         {{5, {2.50, 2.53, 2.49, 2.47, 2.55}}, {4, {2.52, 2.58, 2.50, 2.54}}},
         {{5, {1.20, 1.22, 1.19, 1.25, 1.21}}, {3, {1.24, 1.20, 1.23}}},
         {{5, {1.20, 1.22, 1.18, 1.25, 1.21}}, {3, {1.24, 1.20, 1.23}}}},
        0,
        0,
        0,
        0};
    struct stratum in_order[4], turned[4];
    take_strata(&uneven, false, false, in_order);
    for (size_t i = 0; i < 4; i++) {
        turned[(i + 2) % 4] = in_order[i];
    }
    assert_true(significance_permute(in_order, 4, SEED).p ==
                significance_permute(turned, 4, SEED).p);
    near("mean of ten seeds", w.p, sum / 10, 4 * deviation / sqrt(10) / w.p);
    struct stratum far[3]; /* none of the drawn lies as far: p is not 0 */
    const double low[] = {1, 1.01, 1.02, 1.03, 1.04}, high[] = {2, 2.01, 2.02, 2.03, 2.04};
    for (size_t i = 0; i < 3; i++) {
        far[i] = (struct stratum){{low, 5}, {high, 5}};
    }
    near("least", 1e-4, significance_permute(far, 3, SEED).p, 1e-12);
}

/* All arrangements whose group sums are this close count as ties, however little the groups
 * explain. */
TEST(drawn_ties_far_below_rounding)
{
    double a[12], b[12];
    for (int i = 0; i < 12; i++) {
        a[i] = b[i] = i % 2;
    }
    a[0] += 5e-8;
    const struct stratum one = {{a, 12}, {b, 12}};
    struct permutation g = significance_permute(&one, 1, SEED);
    assert_true(g.known && !g.is_exact);
    assert_true(g.p == 1);
}

/* Without any change p is no smaller than chance would have it, drawn or not. */
TEST(under_the_null_p_is_even)
{
    static const double levels[] = {0.05, 0.2, 0.5, 0.8};
    uint64_t seed = 4711;
    for (int drawn = 0; drawn < 2; drawn++) {
        const size_t n_strata = drawn ? 5 : 2, experiments = drawn ? 150 : 1000;
        size_t at_most[N_ROWS(levels)] = {0};
        for (size_t e = 0; e < experiments; e++) {
            double v[5][6];
            struct stratum strata[5];
            for (size_t s = 0; s < n_strata; s++) {
                for (size_t i = 0; i < 6; i++) { /* skewed, each stratum with its own spread */
                    v[s][i] = (double)(s + 1) * -log(1 - uniform(&seed));
                }
                strata[s] = (struct stratum){{v[s], 3}, {v[s] + 3, 3}};
            }
            struct permutation g = significance_permute(strata, n_strata, e);
            assert_int_equal(g.is_exact, !drawn);
            for (size_t l = 0; l < N_ROWS(levels); l++) {
                at_most[l] += g.p <= levels[l];
            }
        }
        for (size_t l = 0; l < N_ROWS(levels); l++) {
            const double share = (double)at_most[l] / (double)experiments;
            const double slack = 4 * sqrt(levels[l] * (1 - levels[l]) / (double)experiments);
            if (fabs(share - levels[l]) > slack) {
                fail_msg("%s, p <= %g: expected +-%.3f, got %.3f", drawn ? "drawn" : "exact",
                         levels[l], slack, share);
            }
        }
    }
}

TEST(values_needed)
{
    static const struct {
        size_t strata, values;
    } rows[] = {{1, 4}, {2, 3}, {3, 2}, {10, 2}, {0, 2}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        size_t n = significance_values_needed(rows[i].strata, 0.05);
        if (n != rows[i].values) {
            fail_msg("%zu strata: expected %zu, got %zu", rows[i].strata, rows[i].values, n);
        }
    }
    near("4 + 4", 2 / 70.0, significance_least(4, 4), 1e-12);
    near("2 + 5", 1 / 21.0, significance_least(2, 5), 1e-12);
    near("5 + 2", 1 / 21.0, significance_least(5, 2), 1e-12);
    near("1 + 1", 1, significance_least(1, 1), 1e-12);
    assert_true(significance_least(2000, 2000) < 1e-300); /* and no overflow */
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
