#include "tests/test.h"
#include "compare/comparison.h"

#include <math.h>

#include "base/splitmix.h"
#include "compare_fixture.h"

static enum change mirrored(enum change change)
{
    return change == CHANGE_SLOWER   ? CHANGE_FASTER
           : change == CHANGE_FASTER ? CHANGE_SLOWER
                                     : change;
}

/* Exchanging base and candidate turns ratios over and verdicts round; p-values stay. */
TEST(exchanging_mirrors)
{
    uint64_t seed = 99;
    size_t flagged = 0;
    for (int round = 0; round < 60; round++) {
        double x[4], y[4];
        for (size_t p = 0; p < 4; p++) { /* up to 5% apart, about a threshold of 2% */
            x[p] = 40 * (double)(p + 1);
            y[p] = x[p] * (0.95 + 0.001 * splitmix_below(&seed, 101));
        }
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 2 + splitmix_below(&seed, 5), x, 0);
        make_run(&b, "demo-q2v8n", 2 + splitmix_below(&seed, 5), y, 3);
        struct comparison *c = compare_alone(&a, &b), *d = compare_alone(&b, &a);
        for (size_t p = 0; p < 4; p++) {
            const struct compared_point *k = &c->points.items[p], *l = &d->points.items[p];
            assert_near("ratio", 1 / k->ratio.estimate.value, l->ratio.estimate.value, 1e-9);
            assert_int_equal(k->ratio.estimate.has_interval, l->ratio.estimate.has_interval);
            if (k->ratio.estimate.has_interval) {
                assert_near("low", 1 / k->ratio.estimate.high, l->ratio.estimate.low, 1e-9);
                assert_near("high", 1 / k->ratio.estimate.low, l->ratio.estimate.high, 1e-9);
            }
            assert_true(k->welch_p_adjusted == l->welch_p_adjusted);
            assert_int_equal(mirrored(k->change), l->change);
            flagged += k->change == CHANGE_SPREAD_UNKNOWN;
        }
        assert_near("geomean", 1 / c->geomean_ratio.estimate.value, d->geomean_ratio.estimate.value,
                    1e-9);
        comparison_free(c);
        comparison_free(d);
    }
    assert_in_range(flagged, 60, 200); /* of 240: the rounds hold both kinds */
}

/* The interval of a ratio is the one of the test that names changes: where p of a point is at most
 * 5%, the interval lies on one side of 1, and nowhere else. */
TEST(verdicts_and_intervals_agree)
{
    uint64_t seed = 20181120;
    size_t n_named = 0, n_near = 0;
    for (size_t run = 0; run < 60; run++) {
        const size_t n = 3 + run % 6;
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            _cleanup_(freep) char *more = xasprintf("%s  repeats: {min: %zu}\n", POINT_BASELINE, n);
            fixture_init(&runs[side], GRID, more, 16);
            rename_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n");
            for (uint32_t i = 0; i < 4 * n; i++) {
                const double u = (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0;
                const double v = (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0;
                const double change = side == 1 ? 0.94 : 1;
                fixture_throughput(&runs[side], i % 4, i / 4,
                                   100 * change * (1 + 0.06 * (u + v - 1)));
            }
            fixture_build(&runs[side], RUN_SUCCEEDED);
        }
        struct comparison *c = compare_alone(&runs[0], &runs[1]);
        vec_each (const struct compared_point, p, &c->points) {
            const struct estimate *e = &p->ratio.estimate;
            const bool is_apart = e->low > 1 || e->high < 1;
            const bool is_signed_alike = (p->welch.t > 0) == (e->value > 1);
            if ((is_apart && p->welch.p > 0.05) ||
                (!is_apart && p->welch.p <= 0.05 && is_signed_alike)) {
                fail_msg("n %zu: p %.6f, but the interval is %.6f..%.6f", n, p->welch.p, e->low,
                         e->high);
            }
            assert_true(e->low <= e->value && e->value <= e->high);
            const bool is_named = p->change == CHANGE_SPREAD_UNKNOWN;
            assert_true(!is_named || is_apart);
            n_named += is_named;
            n_near += fabs(p->welch.p - 0.05) < 0.02;
        }
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
    print_message("# %zu named, %zu with p near 5%%\n", n_named, n_near);
    assert_true(n_named > 100 && n_near > 10);
}

TEST(figures_by_hand)
{
    static const double x[] = {40, 70, 120, 200}, y[] = {50, 70, 60, 200};
    struct fixture a, b;
    make_run(&a, "demo-7k3fq", 1, x, 0);
    make_run(&b, "demo-q2v8n", 1, y, 0);
    struct comparison *c = compare_alone(&a, &b);
    const double ratios[] = {1.25, 1, 0.5, 1};
    for (size_t p = 0; p < 4; p++) {
        const struct figure *ratio = &c->points.items[p].ratio;
        assert_near("ratio", ratios[p], ratio->estimate.value, 1e-9);
        assert_false(ratio->estimate.has_interval);
        assert_string_equal(ratio->unit, "ratio");
        assert_string_equal(ratio->scope, "job");
    }
    assert_near("geomean of ratios", pow(1.25 * 0.5, 0.25), c->geomean_ratio.estimate.value, 1e-9);
    assert_near("their quotient",
                c->geomean_candidate.estimate.value / c->geomean_base.estimate.value,
                c->geomean_ratio.estimate.value, 1e-9);
    assert_string_equal(c->geomean_base.unit, "samples/s");
    assert_int_equal(c->n_measured, 4);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
    make_run(&a, "demo-7k3fq", 3, x, 0);
    make_run(&b, "demo-q2v8n", 4, y, 0);
    c = compare_alone(&a, &b);
    assert_true(c->points.items[0].ratio.estimate.has_interval);
    assert_true(c->geomean_ratio.estimate.has_interval);
    assert_false(c->geomean_base.estimate.has_interval);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
}

/* A point stops when its own trials say so: three here, six there. The p of a point and its
 * interval have one method, which knows the rule. */
TEST(unequal_numbers_of_trials)
{
    static const char repeats[] =
        POINT_BASELINE "  repeats: {min: 3, max: 6, stopWhen: {relativeHalfWidth: \"0.02\"}}\n";
    static const double calm[] = {1, 1.004, 0.997}, wild[] = {1, 1.03, 0.97, 1.01, 0.99, 1};
    for (int is_slower = 0; is_slower < 2; is_slower++) {
        struct fixture f[2];
        for (int side = 0; side < 2; side++) {
            fixture_init(&f[side], GRID, repeats, 16);
            rename_run(&f[side], side == 0 ? "base" : "candidate");
            const double *factors = side == 0 ? calm : wild;
            for (uint32_t p = 0; p < 4; p++) {
                for (uint32_t t = 0; t < (side == 0 ? 3U : 6U); t++) {
                    const double loss = side == 1 && is_slower != 0 ? 0.5 : 1;
                    fixture_throughput(&f[side], p, t, 100 * (p + 1) * factors[t] * loss);
                }
            }
            fixture_build(&f[side], RUN_SUCCEEDED);
            assert_int_equal(f[side].result->points[0].n_trials, side == 0 ? 3 : 6);
        }
        struct comparison *c = compare_alone(&f[0], &f[1]);
        assert_int_equal(c->change, is_slower != 0 ? CHANGE_INCONCLUSIVE : CHANGE_NONE);
        vec_each (const struct compared_point, p, &c->points) {
            const struct estimate *e = &p->ratio.estimate;
            assert_true(e->has_interval && p->welch.df <= 4 + 1e-9); /* of three trials a side */
            assert_int_equal(p->welch.p <= 0.05, e->low > 1 || e->high < 1);
        }
        comparison_free(c);
        fixture_done(&f[0]);
        fixture_done(&f[1]);
    }
}
