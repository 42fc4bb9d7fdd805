/* SciPy 1.17.1 computed the rows of scipy_rows in another way: the minimum by least_squares on the
 * logarithms, covariances from its Jacobian, ends of intervals by brentq on the squared t of a
 * ratio. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "base/str.h"
#include "stats/scaling.h"

#include <math.h>

#define MAX_SIZES 8

struct curve_data {
    struct scaling_size sizes[MAX_SIZES];
    size_t n;
};

static void add(struct curve_data *d, double n, const double *x, size_t n_x)
{
    double logs[16];
    for (size_t i = 0; i < n_x; i++) {
        logs[i] = log(x[i]);
    }
    d->sizes[d->n++] = (struct scaling_size){
        .n = n,
        .load = 2 * (n - 1) / n,
        .logs = significance_mean(&(struct sample){logs, n_x}),
    };
}

static void assert_near(const char *what, double expected, double actual, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(fabs(expected), 1e-9))) {
        fail_msg("%s: expected %.12g, got %.12g", what, expected, actual);
    }
}

/* ---- beside SciPy ---- */

static const struct row {
    const char *data;
    enum scaling_model model;
    double deviation, misfit_p; /* deviation NaN: not fitted */
    struct scaling_range parameters[SCALING_MAX_COEFFICIENTS];
    struct scaling_range peak;
} scipy_rows[] = {
    /* clang-format off */
    {"four sizes", SCALING_USL, 0.01314017976, 0.7860490675, {{100.3253619, 98.77878003, 101.8961587}, {0.04107092677, 0.02415015206, 0.05835855512}, {0.006220321023, 0.004168042956, 0.00824021127}}, {12.41614694, 10.87731993, 15.037551}},
    {"four sizes", SCALING_LOAD, 0.1314610542, 6.286015596e-09, {{0}}, {0}},
    {"falls", SCALING_USL, 0.01218471094, NAN, {{84.51653978, 81.71116206, 87.41823413}, {0.03827359882, 0.007699462155, 0.07078483698}, {0.04060823689, 0.03788196022, 0.04322603733}}, {4.866522126, 4.771212679, 4.973499145}},
    {"falls", SCALING_LOAD, NAN, NAN, {{0}}, {0}},
    {"noisy", SCALING_USL, 0.06508560441, 0.9054385231, {{100.2806459, 93.12837089, 107.982217}, {0.02197076035, -0.02999425244, 0.07992166613}, {-0.0007212752687, -0.00410636923, 0.002342404622}}, {0}},
    {"noisy", SCALING_LOAD, 0.06916167475, 0.4005567893, {{0}}, {0}},
    /* clang-format on */
};

static struct curve_data data_of(const char *name)
{
    struct curve_data d = {0};
    if (str_eq(name, "four sizes")) {
        add(&d, 1, (double[]){101.2, 99.1, 100.4}, 3);
        add(&d, 2, (double[]){189.5, 192.8, 190.1}, 3);
        add(&d, 4, (double[]){330.2, 338.9, 335.0}, 3);
        add(&d, 8, (double[]){490.3, 481.2, 500.9}, 3);
    } else if (str_eq(name, "falls")) {
        add(&d, 2, (double[]){150.2, 153.1, 148.8, 151.9}, 4);
        add(&d, 4, (double[]){210.4, 208.0, 214.6, 211.1}, 4);
        add(&d, 8, (double[]){190.7, 193.3, 188.2, 191.4}, 4);
    } else {
        add(&d, 1, (double[]){95, 108, 99}, 3);
        add(&d, 2, (double[]){210, 188, 190}, 3);
        add(&d, 4, (double[]){350, 390, 402}, 3);
        add(&d, 16, (double[]){1500, 1380, 1290}, 3);
    }
    return d;
}

static void assert_range(const char *what, const struct scaling_range *expected,
                         const struct scaling_range *actual)
{
    assert_near(what, expected->value, actual->value, 1e-6);
    assert_near(what, expected->low, actual->low, 1e-6);
    assert_near(what, expected->high, actual->high, 1e-6);
}

TEST(fits_of_scipy)
{
    for (size_t i = 0; i < sizeof(scipy_rows) / sizeof(scipy_rows[0]); i++) {
        const struct row *row = &scipy_rows[i];
        const struct curve_data d = data_of(row->data);
        const struct scaling_fit f = scaling_fit_model(row->model, d.sizes, d.n);
        if (isnan(row->deviation)) {
            assert_int_equal(f.gap, SCALING_NO_MINIMUM);
            continue;
        }
        assert_int_equal(f.gap, SCALING_FITTED);
        assert_near("deviation", row->deviation, f.deviation, 1e-6);
        if (isnan(row->misfit_p)) {
            assert_true(isnan(f.misfit_p));
            assert_true(scaling_fit_holds(&f)); /* nothing is left over that could contradict it */
        } else {
            assert_near("misfit", row->misfit_p, f.misfit_p, 1e-5);
            assert_int_equal(scaling_fit_holds(&f), row->misfit_p > 0.01);
        }
        for (size_t k = 0; k < f.n_coefficients && row->model == SCALING_USL; k++) {
            assert_range(f.parameters[k].name, &row->parameters[k], &f.parameters[k].range);
        }
        if (row->peak.value > 0) {
            const struct scaling_peak peak = scaling_find_peak(&f, d.sizes[d.n - 1].n);
            assert_range("peak", &row->peak, &peak.at);
        }
    }
}

/* "four sizes" does not fit the model, so its interval is wide; "falls" has no fit. */
TEST(predictions_of_scipy)
{
    static const struct {
        const char *data;
        struct scaling_range expected;
    } rows[] = {{"four sizes", {1415.892554, 574.6503503, 3488.646137}},
                {"noisy", {1799.220259, 1448.944296, 2234.173909}}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct curve_data d = data_of(rows[i].data);
        const struct scaling_fit f = scaling_fit_model(SCALING_LOAD, d.sizes, d.n);
        const struct scaling_range x = scaling_predict(&f, 20, 1.9);
        assert_range(rows[i].data, &rows[i].expected, &x);
    }
    struct curve_data d = data_of("falls");
    struct scaling_fit f = scaling_fit_model(SCALING_LOAD, d.sizes, d.n);
    assert_true(isnan(scaling_predict(&f, 20, 1.9).value));
    f = scaling_fit_model(SCALING_USL, d.sizes, d.n); /* as many sizes as coefficients */
    assert_true(isnan(scaling_predict(&f, 20, 0).value));
    d = data_of("noisy");
    f = scaling_fit_model(SCALING_LOAD, d.sizes, d.n);
    f.c[1] = -f.c[0]; /* throughput without an end */
    assert_true(isnan(scaling_predict(&f, 20, 1.9).value));
}

/* ---- curves whose truth is known ---- */

static double usl(double n, double s, double k)
{
    return 100 * n / (1 + s * (n - 1) + k * n * (n - 1));
}

TEST(exact_data_gives_the_truth_back)
{
    static const double n[] = {1, 2, 4, 8, 16};
    struct curve_data d = {0}, of_load = {0};
    for (size_t i = 0; i < 5; i++) {
        const double x = usl(n[i], 0.05, 0.01), y = 100 * n[i] / (1 + 0.3 * 2 * (n[i] - 1) / n[i]);
        add(&d, n[i], (double[]){x, x, x}, 3);
        add(&of_load, n[i], (double[]){y, y, y}, 3);
    }
    const struct scaling_fit f = scaling_fit_model(SCALING_USL, d.sizes, 5);
    static const double truth[] = {100, 0.05, 0.01};
    assert_int_equal(f.gap, SCALING_FITTED);
    for (size_t k = 0; k < 3; k++) {
        assert_near("value", truth[k], f.parameters[k].range.value, 1e-9);
        assert_near("low", truth[k], f.parameters[k].range.low, 1e-6);
        assert_near("high", truth[k], f.parameters[k].range.high, 1e-6);
    }
    assert_true(scaling_fit_holds(&f)); /* rounding is no lack of fit */
    assert_near("predicted", usl(32, 0.05, 0.01), 32 / (f.c[0] + 31 * f.c[1] + 32 * 31 * f.c[2]),
                1e-9);
    assert_near("peak", sqrt(0.95 / 0.01), scaling_find_peak(&f, 16).at.value, 1e-9);
    const struct scaling_fit x = scaling_fit_model(SCALING_LOAD, of_load.sizes, 5);
    assert_near("alone", 0.01, x.c[0], 1e-9);
    assert_near("of load", 0.3 * 0.01, x.c[1], 1e-9);
    assert_true(scaling_fit_holds(&x));
}

/* Throughput that only rises has no peak; one that rises as it should has none
 * within what is believed. */
TEST(no_peak_where_there_is_none)
{
    struct curve_data up = {0}, far = {0};
    for (double n = 1; n <= 16; n *= 2) {
        const double more = usl(n, 0, -0.0005), x = usl(n, 0.01, 0.0004);
        add(&up, n, (double[]){more * 0.999, more, more * 1.001}, 3);
        add(&far, n, (double[]){x * 0.999, x, x * 1.001}, 3);
    }
    struct scaling_fit f = scaling_fit_model(SCALING_USL, up.sizes, up.n);
    struct scaling_peak peak = scaling_find_peak(&f, 16);
    assert_false(peak.is_within);
    assert_true(isinf(peak.at.value) && isinf(peak.at.high));
    f = scaling_fit_model(SCALING_USL, far.sizes, far.n);
    peak = scaling_find_peak(&f, 16);
    assert_false(peak.is_within); /* at 50 */
    assert_true(peak.at.low > 32 && isfinite(peak.at.high));
}

/* Trials that scatter by a third show no coherency: the peak's interval has no upper end. */
TEST(what_is_not_known_has_no_end)
{
    struct curve_data d = {0};
    for (double n = 1; n <= 4; n *= 2) {
        const double x = usl(n, 0.05, 0.01);
        add(&d, n, (double[]){x * 0.7, x, x * 1.4}, 3);
    }
    const struct scaling_fit f = scaling_fit_model(SCALING_USL, d.sizes, d.n);
    const struct scaling_peak peak = scaling_find_peak(&f, 4);
    assert_true(isinf(peak.at.high));
    assert_true(peak.at.low >= 1 && peak.at.low <= peak.at.value);
}

/* docs/numbers.md, "Models of scaling". */
TEST(the_worked_example)
{
    struct curve_data d = {0};
    add(&d, 1, (double[]){99.8, 100, 100.2}, 3);
    add(&d, 2, (double[]){179.64, 180, 180.36}, 3);
    add(&d, 4, (double[]){287.424, 288, 288.576}, 3);
    const struct scaling_fit f = scaling_fit_model(SCALING_USL, d.sizes, d.n);
    assert_near("df", 6, f.df, 0);
    assert_near("deviation", 0.00200, f.deviation, 5e-3);
    assert_near("contention", 0.0926, f.parameters[1].range.value, 5e-4);
    assert_near("coherency", 0.00926, f.parameters[2].range.value, 5e-4);
    assert_near("coherency's error", 0.000794, sqrt(f.covariance[2][2]) / f.c[0], 1e-3);
    assert_near("low", 0.007325, f.parameters[2].range.low, 5e-4);
    assert_near("high", 0.01119, f.parameters[2].range.high, 5e-4);
    const struct scaling_peak peak = scaling_find_peak(&f, 4);
    assert_near("peak", 9.90, peak.at.value, 5e-4);
    assert_near("low", 9.045, peak.at.low, 5e-4);
    assert_near("high", 11.08, peak.at.high, 5e-4);
}

/* ---- what cannot be fitted ---- */

TEST(says_why_nothing_is_fitted)
{
    struct curve_data two = {0}, same = {0};
    for (double n = 1; n <= 4; n *= 2) {
        if (n < 4) {
            add(&two, n, (double[]){100 * n, 101 * n, 102 * n}, 3);
        }
        add(&same, n, (double[]){100 * n, 101 * n, 102 * n}, 3);
        same.sizes[same.n - 1].load = 1;
    }
    const struct scaling_fit f = scaling_fit_model(SCALING_USL, two.sizes, 2);
    assert_int_equal(f.gap, SCALING_FEW_SIZES);
    assert_false(scaling_fit_holds(&f));
    assert_int_equal(scaling_fit_model(SCALING_USL, two.sizes, 0).gap, SCALING_FEW_SIZES);
    assert_int_equal(scaling_fit_model(SCALING_LOAD, same.sizes, 3).gap, SCALING_NO_MINIMUM);
    assert_int_equal(scaling_fit_model(SCALING_USL, same.sizes, 3).gap, SCALING_FITTED);
}

static bool is_range_sound(const struct scaling_range *x)
{
    return isnan(x->value) || (x->low <= x->value && x->value <= x->high);
}

/* Whatever the trials say: no NaN where something is fitted, and an interval holds its value. */
TEST(never_nan)
{
    uint64_t random = 20181123;
    for (int i = 0; i < 2000; i++) {
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
            add(&d, n, x, 3);
            n += 1 + splitmix_below(&random, 1000);
        }
        for (int m = SCALING_USL; m <= SCALING_LOAD; m++) {
            const struct scaling_fit f = scaling_fit_model((enum scaling_model)m, d.sizes, d.n);
            if (f.gap != SCALING_FITTED) {
                continue;
            }
            assert_true(isfinite(f.deviation) && f.df >= 6);
            assert_true(isnan(f.misfit_p) || (f.misfit_p >= 0 && f.misfit_p <= 1));
            for (size_t k = 0; k < f.n_coefficients && m == SCALING_USL; k++) {
                assert_false(isnan(f.parameters[k].range.value));
                assert_true(is_range_sound(&f.parameters[k].range));
            }
            if (m == SCALING_USL) {
                const struct scaling_peak peak = scaling_find_peak(&f, n);
                assert_false(isnan(peak.at.value));
                assert_true(is_range_sound(&peak.at) && peak.at.low >= 1);
            }
        }
    }
}

TEST(names)
{
    assert_string_equal(scaling_gap_names[SCALING_FITTED], "Fitted");
    assert_string_equal(scaling_gap_names[SCALING_NO_MINIMUM], "NoMinimum");
}
