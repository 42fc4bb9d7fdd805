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

TEST(most_trainers_that_still_scale)
{
    static const double x[5] = {95, 185, 365, 600, 100};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    choice_init(&c, f.result);
    assert_int_equal(c.widest->point->index, 2); /* 91.3%; eight trainers keep 75% */
    assert_true(c.widest_is_sure);
    fixture_done(&f);
    make(&f, FOUR, x, 5, 0.05); /* the same values, less sure */
    choice_init(&c, f.result);
    assert_int_equal(c.widest->point->index, 2);
    assert_false(c.widest_is_sure);
    fixture_done(&f);
}

/* Two points have four trainers and 90%: the faster one stands for both. */
TEST(of_several_as_wide_the_fastest)
{
    static const double rows[][5] = {{190, 365, 192, 372, 100}, {190, 372, 192, 365, 100}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        struct choice c;
        make(&f, "{grid: {pservers: [1, 2], trainers: [2, 4]}}", rows[i], 5, 0.001);
        choice_init(&c, f.result);
        assert_int_equal(c.widest->point->index, i == 0 ? 3 : 1);
    }
}

/* One trainer is no more than its baseline, however efficient it is. */
TEST(none_scales)
{
    static const double x[5] = {99, 150, 280, 500, 100};
    _cleanup_(fixture_done) struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    choice_init(&c, f.result);
    assert_null(c.widest);
}

/* Systems divide by baselines of their own, and one number of trainers is no choice of them. */
TEST(efficiencies_rank_numbers_of_trainers_alone)
{
    static const struct {
        const char *name, *sweep, *systems;
        bool ranks;
    } rows[] = {
        {"numbers", "{grid: {pservers: [1], trainers: [2, 4]}}", "", true},
        {"one number", "{grid: {pservers: [1, 2], trainers: [2]}}", "", false},
        {"systems", "{grid: {pservers: [1], trainers: [2, 4]}}",
         "  systems: [{name: a, profile: benchworker}, {name: b, profile: benchworker}]\n", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        struct choice c;
        _cleanup_(freep) char *more =
            xasprintf(SINGLE_NODE "  repeats: {min: 1}\n%s", rows[i].systems);
        fixture_init(&f, rows[i].sweep, more, 64);
        for (uint32_t p = 0; p < f.def->matrix.n_points; p++) {
            fixture_throughput(&f, p, 0, 100.0 * point_size(&f.def->matrix.points[p]));
        }
        fixture_build(&f, RUN_SUCCEEDED);
        choice_init(&c, f.result);
        assert_int_equal(c.widest != NULL, rows[i].ranks);
    }
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
    assert_null(c.widest);
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
