#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void the_fastest_and_who_is_like_it(void **state)
{
    (void)state;
    static const double x[5] = {90, 170, 350, 352, 100};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.01);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 3);
    assert_int_equal(c.ties.len, 1);
    assert_int_equal(c.ties.items[0]->point->index, 2);
    assert_int_equal(c.n_unsure, 0);
    assert_int_equal(c.n_slower, 2);
    choice_done(&c);
    fixture_done(&f);
}

/* The baseline point is the fastest of all here, but nobody swept it. */
static void a_baseline_is_no_choice(void **state)
{
    (void)state;
    static const double x[5] = {90, 91, 92, 93, 500};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.0001);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 3);
    assert_int_equal(c.ties.len, 0);
    choice_done(&c);
    fixture_done(&f);
}

static void most_trainers_that_still_scale(void **state)
{
    (void)state;
    static const double x[5] = {95, 185, 365, 600, 100};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    choice_init(&c, f.result);
    assert_int_equal(c.widest->point->index, 2); /* 91.3%; eight trainers keep 75% */
    assert_true(c.widest_is_sure);
    assert_null(c.most_efficient);
    choice_done(&c);
    fixture_done(&f);
    make(&f, FOUR, x, 5, 0.05); /* the same values, less sure */
    choice_init(&c, f.result);
    assert_int_equal(c.widest->point->index, 2);
    assert_false(c.widest_is_sure);
    choice_done(&c);
    fixture_done(&f);
}

/* Two points have four trainers and 90%: the faster one stands for both. */
static void of_several_as_wide_the_fastest(void **state)
{
    (void)state;
    static const double x[5] = {190, 365, 192, 372, 100};
    struct fixture f;
    struct choice c;
    make(&f, "{grid: {pservers: [1, 2], trainers: [2, 4]}}", x, 5, 0.001);
    choice_init(&c, f.result);
    assert_int_equal(c.widest->point->index, 3);
    assert_int_equal(c.n_as_wide, 2);
    choice_done(&c);
    fixture_done(&f);
}

/* One trainer is no more than its baseline, however efficient it is. */
static void none_scales(void **state)
{
    (void)state;
    static const double x[5] = {99, 150, 280, 500, 100};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    choice_init(&c, f.result);
    assert_null(c.widest);
    assert_int_equal(c.most_efficient->point->index, 1);
    choice_done(&c);
    fixture_done(&f);
}

static void one_trial_says_nothing_about_the_others(void **state)
{
    (void)state;
    struct fixture f;
    struct choice c;
    fixture_init(&f, FOUR, SINGLE_NODE "  repeats: {min: 1}\n", 64);
    for (uint32_t p = 0; p < 3; p++) { /* the last swept point and the baseline were not measured */
        fixture_throughput(&f, p, 0, 10 * (p + 1));
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    choice_init(&c, f.result);
    assert_int_equal(c.fastest->point->index, 2);
    assert_int_equal(c.ties.len, 0);
    assert_int_equal(c.n_unsure, 2);
    assert_null(c.widest);
    assert_null(c.most_efficient);
    choice_done(&c);
    fixture_done(&f);
}

static void nothing_was_measured(void **state)
{
    (void)state;
    struct fixture f;
    struct choice c;
    fixture_init(&f, FOUR, SINGLE_NODE, 64);
    fixture_build(&f, RUN_FAILED);
    choice_init(&c, f.result);
    assert_null(c.fastest);
    assert_false(c.units_differ);
    choice_done(&c);
    fixture_done(&f);
}

static void units_are_not_compared(void **state)
{
    (void)state;
    static const double x[5] = {95, 185, 365, 600, 100};
    struct fixture f;
    struct choice c;
    make(&f, FOUR, x, 5, 0.001);
    f.result->points[1].throughput.unit = "tokens/s";
    choice_init(&c, f.result);
    assert_true(c.units_differ);
    assert_null(c.fastest);
    assert_int_equal(c.ties.len, 0);
    choice_done(&c);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_and_who_is_like_it),
        cmocka_unit_test(a_baseline_is_no_choice),
        cmocka_unit_test(most_trainers_that_still_scale),
        cmocka_unit_test(of_several_as_wide_the_fastest),
        cmocka_unit_test(none_scales),
        cmocka_unit_test(one_trial_says_nothing_about_the_others),
        cmocka_unit_test(nothing_was_measured),
        cmocka_unit_test(units_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
