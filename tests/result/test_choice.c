#include "tests/test.h"
#include "result/choice.h"

#include "result_fixture.h"

#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

/* Points 0..n-1 have these throughputs, each in three trials that differ by `spread`. */
static void make(struct fixture *f, const char *sweep, const double *x, uint32_t n, double spread)
{
    fixture_init(f, sweep, SINGLE_NODE "  repeats: {min: 3}\n", 64);
    assert_int_equal(f->def->matrix.n_points, n);
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, x[p] * (1 + spread * ((double)t - 1)));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

#define FOUR "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}"

TEST(the_fastest_and_who_is_like_it)
{
    static const double x[5] = {90, 170, 350, 352, 100};
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.01);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 3);
    assert_int_equal(c.n_ties, 1);
    assert_int_equal(c.n_unsure, 0);
    assert_int_equal(c.n_slower, 2);
}

/* The baseline point is the fastest of all here, but nobody swept it. */
TEST(a_baseline_is_no_choice)
{
    static const double x[5] = {90, 91, 92, 93, 500};
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.0001);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 3);
    assert_int_equal(c.n_ties, 0);
}

TEST(one_trial_says_nothing_about_the_others)
{
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    fixture_init(&f, FOUR, SINGLE_NODE "  repeats: {min: 1}\n", 64);
    for (uint32_t p = 0; p < 3; p++) { /* the last swept point and the baseline were not measured */
        fixture_throughput(&f, p, 0, 10 * (p + 1));
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 2);
    assert_int_equal(c.n_ties, 0);
    assert_int_equal(c.n_unsure, 2);
}

TEST(nothing_was_measured)
{
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    fixture_init(&f, FOUR, SINGLE_NODE, 64);
    fixture_build(&f, RUN_FAILED);
    choice_init(&c, f.result);
    assert_null(c.fastest);
    assert_false(c.units_differ);
}

TEST(units_are_not_compared)
{
    static const double x[5] = {95, 185, 365, 600, 100};
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    f.result->points[1].throughput.unit = "tokens/s";
    choice_init(&c, f.result);
    assert_true(c.units_differ);
    assert_null(c.fastest);
    assert_int_equal(c.n_ties, 0);
}
