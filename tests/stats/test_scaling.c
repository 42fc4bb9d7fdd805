/* The expected values of `scipy_rows` were computed in another way with SciPy 1.17.1: the minimum
 * by least_squares with bounds on the logarithms, the mean over subsets of terms by lstsq, the ends
 * of the interval by SLSQP within the ellipsoid. The laws of `coverage` are plain formulas. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "stats/scaling.h"

#include <math.h>
#include <stdlib.h>

#define MAX_SIZES 8
#define MAX_TRIALS 5

struct curve_data {
    struct scaling_size sizes[MAX_SIZES];
    size_t n;
};

static void add(struct curve_data *d, double n, double batch, const double *x, size_t n_x)
{
    double logs[MAX_TRIALS];
    for (size_t i = 0; i < n_x; i++) {
        logs[i] = log(x[i]);
    }
    d->sizes[d->n++] = (struct scaling_size){
        .n = n, .batch = batch, .logs = significance_mean(&(struct sample){logs, n_x})};
}

/* ---- compared with SciPy ---- */

static const struct row {
    const char *name;
    struct {
        double n, batch, x[3];
    } sizes[5];
    double n, batch; /* what is predicted */
    double c[SCALING_TERMS];
    struct scaling_range throughput;
    enum scaling_state state;
} scipy_rows[] = {
    /* clang-format off */
    {"weak", {{1, 64, {101.2, 99.1, 100.4}}, {2, 128, {189.5, 192.8, 190.1}}, {4, 256, {365.2, 370.9, 367.0}}, {8, 512, {690.3, 681.2, 700.9}}}, 16, 1024,
     {0.00989661411, 0.0178695084, 0.0159611493, 0.0053015952}, {1281.91312, 1193.50289, 1352.85898}, SCALING_FITTED},
    {"strong", {{1, 512, {101.2, 99.1, 100.4}}, {2, 512, {189.5, 192.8, 190.1}}, {4, 512, {340.2, 348.9, 345.0}}, {8, 512, {560.3, 551.2, 570.9}}}, 16, 512,
     {0.00961566093, 0.184365568, 0.0293109156, 0.00312624945}, {776.54545, 664.29861, 855.709203}, SCALING_FITTED},
    {"batches that grow now and then", {{8, 256, {95, 108, 99}}, {16, 256, {160, 171, 165}}, {32, 1024, {350, 390, 402}}, {64, 1024, {640, 660, 600}}, {128, 4096, {1500, 1380, 1290}}}, 256, 8192,
     {0.0709618624, 0.154894703, 0.0508567573, 0.000927507399}, {2668.42976, 1199.46254, 5050.74365}, SCALING_UNSURE},
    {"three sizes", {{1, 64, {100.2, 99.1, 100.4}}, {2, 128, {189.5, 192.8, 190.1}}, {4, 256, {330.2, 338.9, 335.0}}}, 8, 512,
     {0.00930554191, 8.79853005e-06, 0.0016970997, 0.0406448832}, {553.027599, 388.114404, 830.484191}, SCALING_FITTED},
    {"steeper", {{1, 64, {101.2, 99.1, 100.4}}, {2, 128, {189.5, 192.8, 190.1}}, {4, 256, {330.2, 338.9, 335.0}}, {8, 512, {490.3, 481.2, 500.9}}}, 16, 1024,
     {0.00883570782, 0, 2.93858785e-05, 0.0568269403}, {694.315481, 536.896626, 1056.46698}, SCALING_SUPERLINEAR},
    /* clang-format on */
};

TEST(the_numbers_of_scipy)
{
    for (size_t i = 0; i < N_ROWS(scipy_rows); i++) {
        const struct row *row = &scipy_rows[i];
        struct curve_data d = {0};
        for (size_t k = 0; k < N_ROWS(row->sizes) && row->sizes[k].n > 0; k++) {
            add(&d, row->sizes[k].n, row->sizes[k].batch, row->sizes[k].x, 3);
        }
        const struct scaling_law law = scaling_fit(d.sizes, d.n);
        struct scaling_range x;
        print_message("# %s\n", row->name);
        assert_int_equal(scaling_predict(&law, row->n, row->batch, &x), row->state);
        assert_int_equal(law.state, row->state); /* it is at twice the largest size */
        for (size_t k = 0; k < SCALING_TERMS; k++) {
            assert_true(fabs(law.c[k] - row->c[k]) < 1e-8 + 1e-6 * row->c[k]);
        }
        assert_near("value", row->throughput.value, x.value, 1e-6);
        assert_near("low", row->throughput.low, x.low, 1e-5);
        assert_near("high", row->throughput.high, x.high, 1e-5);
    }
}

/* ---- how often the interval holds the truth ---- */

static uint64_t random_state;

static double uniform(void)
{
    return (double)((splitmix_next(&random_state) >> 11) + 1) / 9007199254740993.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

enum growth { CONSTANT, LOGARITHMIC, LINEAR, RING, QUADRATIC, GROWTHS };

static double growth_of(enum growth g, double n)
{
    return g == CONSTANT      ? 1
           : g == LOGARITHMIC ? log2(n)
           : g == LINEAR      ? n
           : g == RING        ? (n - 1) / n
                              : n * n;
}

struct truth {
    enum growth growth;
    bool is_strong;
    double largest, size; /* the growth, in parts of the computation at the largest size */
};

static double batch_of(const struct truth *t, double n)
{
    return t->is_strong ? 512 : 64 * n;
}

static double step_of(const struct truth *t, double n)
{
    const double computation = t->is_strong ? t->largest / n : 1;
    return computation + t->size * growth_of(t->growth, n) / growth_of(t->growth, t->largest);
}

struct count {
    unsigned tries, answered, held;
};

/* Makes up a curve and counts what is predicted at twice and at four times its largest size. */
static void try_once(const struct truth *t, const double *sizes, size_t n_sizes, size_t n_trials,
                     double noise, struct count ret[2])
{
    struct curve_data d = {0};
    for (size_t i = 0; i < n_sizes; i++) {
        double x[MAX_TRIALS];
        for (size_t k = 0; k < n_trials; k++) {
            x[k] = batch_of(t, sizes[i]) / step_of(t, sizes[i]) * exp(noise * normal());
        }
        add(&d, sizes[i], batch_of(t, sizes[i]), x, n_trials);
    }
    const struct scaling_law law = scaling_fit(d.sizes, d.n);
    for (size_t i = 0; i < 2; i++) {
        const double n = (i == 0 ? 2 : 4) * t->largest, truth = batch_of(t, n) / step_of(t, n);
        struct scaling_range x;
        const bool is_answered = scaling_predict(&law, n, batch_of(t, n), &x) == SCALING_FITTED;
        ret[i].tries++;
        ret[i].answered += is_answered;
        ret[i].held += is_answered && x.low <= truth && truth <= x.high;
    }
}

static const struct {
    const double n[MAX_SIZES];
    size_t len;
} sizes_of_runs[] = {{{1, 2, 4}, 3}, {{1, 2, 4, 8}, 4}, {{2, 4, 8, 16}, 4}, {{1, 2, 4, 8, 16}, 5}};

/* BENCHD_LAW_TIMES: a longer look, by hand, in which every cell is checked by itself. */
static bool is_long(void)
{
    return getenv("BENCHD_LAW_TIMES") != NULL;
}

/* All sizes of runs, 3 and 5 trials, 0.5 and 1% of noise; ret: at twice and at four times. */
static void count_all(enum growth growth, bool is_strong, double size, double least,
                      struct count ret[2])
{
    for (size_t i = 0; i < N_ROWS(sizes_of_runs); i++) {
        const double *n = sizes_of_runs[i].n;
        const size_t len = sizes_of_runs[i].len;
        for (size_t cell = 0; cell < 4; cell++) {
            const struct truth t = {growth, is_strong, n[len - 1], size};
            const size_t n_trials = cell < 2 ? 3 : 5;
            const double noise = cell % 2 == 0 ? 0.005 : 0.01;
            struct count c[2] = {0};
            for (int k = 0; k < (is_long() ? 1000 : 25); k++) {
                try_once(&t, n, len, n_trials, noise, c);
            }
            for (size_t k = 0; k < 2; k++) {
                ret[k].tries += c[k].tries;
                ret[k].answered += c[k].answered;
                ret[k].held += c[k].held;
                if (is_long() && c[k].held < least * c[k].answered) {
                    fail_msg("growth %d, %s, %zu sizes, %zu trials, noise %g, size %g: %u of %u",
                             growth, is_strong ? "strong" : "weak", len, n_trials, noise, size,
                             c[k].held, c[k].answered);
                }
            }
        }
    }
}

TEST(coverage)
{
    static const char *const names[] = {"constant", "logarithmic", "linear", "ring"};
    static const double sizes[] = {0.02, 0.1, 0.4, 1};
    random_state = 20261130;
    for (enum growth g = CONSTANT; g < QUADRATIC; g++) {
        for (int is_strong = 0; is_strong < 2; is_strong++) {
            struct count c[2] = {0};
            for (size_t i = 0; i < N_ROWS(sizes); i++) {
                count_all(g, is_strong, sizes[i], 0.9, c);
            }
            for (size_t i = 0; i < 2; i++) {
                print_message("# %s, %s, %d times the largest size: %.1f%% of %u answered, %.1f%% "
                              "of these hold the truth\n",
                              names[g], is_strong ? "strong" : "weak", i == 0 ? 2 : 4,
                              100.0 * c[i].answered / c[i].tries, c[i].tries,
                              100.0 * c[i].held / c[i].answered);
                assert_true(c[i].held >= 0.97 * c[i].answered);
                assert_true(c[i].answered >= (i == 0 || !is_strong ? 0.95 : 0.8) * c[i].tries);
            }
        }
    }
}

/* From 40% of the computation at the largest size on. 2% cannot be seen there. */
TEST(growth_with_the_square_is_refused)
{
    static const double sizes[] = {0.4, 1, 2};
    random_state = 20261201;
    for (int is_strong = 0; is_strong < 2; is_strong++) {
        struct count c[2] = {0};
        for (size_t i = 0; i < N_ROWS(sizes); i++) {
            count_all(QUADRATIC, is_strong, sizes[i], 0, c);
        }
        print_message("# %u and %u of %u are answered\n", c[0].answered, c[1].answered, c[0].tries);
        assert_true(c[0].answered + c[1].answered < 0.01 * c[0].tries);
    }
}

/* ---- laws without noise ---- */

static struct scaling_law exact_law(const struct truth *t)
{
    struct curve_data d = {0};
    for (double n = 1; n <= t->largest; n *= 2) {
        const double x = batch_of(t, n) / step_of(t, n);
        add(&d, n, batch_of(t, n), (double[]){x, x, x}, 3);
    }
    return scaling_fit(d.sizes, d.n);
}

TEST(exact_data_gives_the_truth_back)
{
    for (enum growth g = CONSTANT; g < QUADRATIC; g++) {
        for (int is_strong = 0; is_strong < 2; is_strong++) {
            const struct truth t = {g, is_strong, 16, 2};
            const struct scaling_law law = exact_law(&t);
            assert_int_equal(law.state, SCALING_FITTED);
            assert_int_equal(law.is_weak, !is_strong);
            for (double n = 1; n <= 32; n *= 2) {
                const double step = scaling_time(&law, n, batch_of(&t, n));
                assert_near("step", step_of(&t, n), step, 0.01);
                double sum = 0;
                for (int i = 0; i < SCALING_TERMS; i++) {
                    const struct scaling_range part =
                        scaling_part(&law, (enum scaling_term)i, n, batch_of(&t, n));
                    assert_true(part.low <= part.value && part.value <= part.high && part.low >= 0);
                    sum += part.value;
                }
                assert_near("sum of the parts", step, sum, 1e-9);
            }
        }
    }
}

/* 16 / N + N / 8 is least with sqrt(128) workers. */
TEST(the_peak)
{
    struct truth t = {LINEAR, true, 16, 2};
    struct scaling_law law = exact_law(&t);
    struct scaling_range peak = scaling_peak(&law);
    assert_near("peak", sqrt(128), peak.value, 0.02);
    assert_true(peak.low > 10 && peak.low <= peak.value && peak.value <= peak.high);
    assert_true(peak.high < 13);
    t.growth = CONSTANT;
    law = exact_law(&t);
    peak = scaling_peak(&law);
    assert_true(peak.low > 16 && isinf(peak.high));
}

TEST(says_why_nothing_is_fitted)
{
    struct curve_data d = {0};
    struct scaling_range x;
    add(&d, 1, 64, (double[]){100, 101, 102}, 3);
    add(&d, 2, 128, (double[]){200, 201, 202}, 3);
    const struct scaling_law law = scaling_fit(d.sizes, 2);
    assert_int_equal(law.state, SCALING_FEW_SIZES);
    assert_int_equal(scaling_predict(&law, 4, 256, &x), SCALING_FEW_SIZES);
    assert_int_equal(scaling_fit(d.sizes, 0).state, SCALING_FEW_SIZES);
    assert_string_equal(scaling_state_names[SCALING_FEW_SIZES], "FewSizes");
    assert_string_equal(scaling_state_names[SCALING_UNSURE], "Unsure");
}

/* Whatever the trials say: no NaN, no negative coefficient, and an interval holds its value. */
TEST(never_nan)
{
    uint64_t random = 20181123;
    for (int i = 0; i < 1000; i++) {
        struct curve_data d = {0};
        double n = 1 + splitmix_below(&random, 100);
        const size_t sizes = 3 + splitmix_below(&random, MAX_SIZES - 2);
        for (size_t s = 0; s < sizes; s++) {
            const double scale = exp(20 * ((double)splitmix_below(&random, 1000) / 1000 - 0.5));
            const double spread = splitmix_below(&random, 4) == 0 ? 0 : 1;
            double x[3];
            for (size_t t = 0; t < 3; t++) {
                x[t] = scale * (1 + spread * splitmix_below(&random, 1000) / 100);
            }
            add(&d, n, 1 + splitmix_below(&random, 1U << (i % 30)), x, 3);
            n += 1 + splitmix_below(&random, 1000);
        }
        const struct scaling_law law = scaling_fit(d.sizes, d.n);
        struct scaling_range x;
        (void)scaling_predict(&law, 2 * n, d.sizes[d.n - 1].batch, &x);
        assert_true(x.low <= x.value && x.value <= x.high);
        const struct scaling_range peak = scaling_peak(&law);
        assert_true(1 <= peak.low && peak.low <= peak.value && peak.value <= peak.high);
        for (size_t k = 0; k < SCALING_TERMS; k++) {
            assert_true(law.c[k] >= 0 && isfinite(law.c[k]));
        }
    }
}
