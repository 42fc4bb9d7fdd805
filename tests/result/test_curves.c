#include "tests/test.h"
#include "result/curves.h"
#include "result/phases.h"

#include "result_fixture.h"

#include <math.h>

#define SINGLE_NODE "  baseline: {kind: SingleNode}\n  repeats: {min: 3}\n"

/* Every point makes what this says of its trainers, in three trials that differ by 0.1%. */
static void measure(struct fixture *f, double (*speed)(const struct point *p))
{
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        const double x = speed(&f->def->matrix.points[p]);
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, x * (1 + 0.001 * ((double)t - 1)));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* A step of 16 samples on each trainer takes 160 ms and 4 ms for each trainer. */
static double linear(const struct point *p)
{
    const double n = p->replicas[ROLE_TRAINER];
    return 16 * n / (0.16 + 0.004 * n);
}

TEST(a_curve_for_each_value_of_the_others)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2, 1], trainers: [4, 1, 2], batch_size: [16]}}",
                 SINGLE_NODE, 64);
    measure(&f, linear);
    const struct curves *c = &f.result->curves;
    assert_int_equal(c->names.len, 1);
    assert_string_equal(c->names.items[0], "pservers");
    assert_int_equal(c->list.len, 2);
    for (size_t i = 0; i < 2; i++) { /* in the order of the sweep; each by trainers */
        const struct curve *curve = &c->list.items[i];
        assert_int_equal(curve->points.len, 3);
        assert_int_equal(curve->points.items[0]->point->replicas[ROLE_PSERVER], 2 - i);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(curve->points.items[k]->point->replicas[ROLE_TRAINER], 1 << k);
        }
        assert_null(curve->single); /* it has a point with one trainer */
        assert_int_equal(curve->n_sizes, 3);
        assert_int_equal(curve->sizes.len, 3);
        assert_int_equal(curve->law.state, SCALING_FITTED);
        assert_string_equal(curve_scaling(curve), "Weak");
        assert_true(curve->is_timed);
        assert_true(isnan(curve_peak(curve).value)); /* each trainer has its own batch */
        const double step_s = scaling_time(&curve->law, 4, 64);
        assert_true(fabs(step_s - 0.176) < 1e-3);
        assert_true(fabs(curve_term(curve, SCALING_COMPUTATION).share - 0.16 / 0.176) < 0.01);
        assert_true(fabs(curve_residual(curve, &curve->sizes.items[0])) < 2e-3);
        assert_int_equal(curve_widest(curve)->point->replicas[ROLE_TRAINER], 4);
    }
}

/* What changes with the trainers does not tell curves apart; a curve without a single trainer
 * takes its baseline for one. */
TEST(parameters_that_rise_together_belong_to_the_curve)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{points: [{pservers: 1, trainers: 2}, {pservers: 2, trainers: 4}, {pservers: 4, "
                 "trainers: 8}]}",
                 SINGLE_NODE, 64);
    measure(&f, linear);
    const struct curves *c = &f.result->curves;
    assert_int_equal(c->names.len, 0);
    assert_int_equal(c->list.len, 1);
    assert_int_equal(c->list.items[0].points.len, 3);
    assert_non_null(c->list.items[0].single);
    assert_int_equal(c->list.items[0].n_sizes, 4);
    assert_true(fabs(scaling_time(&c->list.items[0].law, 1, 16) - 0.164) < 1e-3);
}

/* Without another number of trainers nothing scales. */
TEST(no_curve_of_one_size)
{
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1, 2], trainers: [1]}}", SINGLE_NODE, 64);
    measure(&f, linear);
    assert_int_equal(f.result->curves.list.len, 0);
    fixture_done(&f);
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}", SINGLE_NODE, 64);
    fixture_throughput(&f, 1, 0, 100); /* one size was measured, once */
    fixture_build(&f, RUN_RUNNING);
    assert_int_equal(f.result->curves.list.len, 0);
    fixture_done(&f);
}

/* Points of a single trial are no part of a fit, but of the curve. */
TEST(a_size_without_an_interval_is_not_fitted)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}", SINGLE_NODE, 64);
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t t = 0; t < (p == 1 ? 2 : 3); t++) {
            fixture_throughput(&f, p, t, 100 * (p + 1) + t);
        }
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    const struct curve *c = &f.result->curves.list.items[0];
    assert_int_equal(c->n_sizes, 3);
    assert_int_equal(c->sizes.len, 2);
    assert_int_equal(c->law.state, SCALING_FEW_SIZES);
    assert_true(isnan(curve_term(c, SCALING_LINEAR).share));
}

/* From 1 to 2 trainers each keeps 95%, from 2 to 4 80%, from 4 to 8 90%. */
TEST(the_biggest_loss_and_its_phase)
{
    static const double x[] = {100, 190, 304, 547.2, 100};
    static const double forward[] = {50, 51, 52, 53, 50}, wait[] = {1, 3, 20, 22, 0};
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}", SINGLE_NODE, 64);
    for (uint32_t p = 0; p < 5; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_spend(fixture_throughput(&f, p, t, x[p] * (1 + 0.001 * ((double)t - 1))),
                          forward[p], wait[p]);
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    const struct curve_loss *loss = &f.result->curves.list.items[0].loss;
    assert_int_equal(loss->from->point->replicas[ROLE_TRAINER], 2);
    assert_int_equal(loss->to->point->replicas[ROLE_TRAINER], 4);
    assert_true(fabs(loss->kept.value - 0.8) < 1e-9);
    assert_true(loss->kept.has_interval && loss->kept.low > 0.79 && loss->kept.high < 0.81);
    assert_true(loss->has_phases);
    assert_string_equal(loss->phase, "exchange");
    assert_true(fabs(loss->phase_ns - 17e6) < 1e3);
}

/* From 2 to 4 trainers: what the groups of phases grew by, not single ones,
 * which are many or few. */
TEST(the_group_that_grew_most)
{
    static const struct {
        int64_t data_ms, forward_ms, backward_ms, update_ms, send_ms, wait_ms;
        const char *phase;
        double ms;
    } rows[] = {
        {0, 10, 12, 0, 1, 14, "computation", 22},
        {0, 9, 0, 8, 0, 16, "computation", 17},
        {5, 7, 7, 0, 8, 7, "exchange", 15},
        {30, 10, 12, 0, 10, 9, "data", 30},
    };
    static const double x[] = {100, 190, 304};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                     "  baseline: {kind: Point, where: {trainers: 1}}\n", 64);
        for (uint32_t p = 0; p < N_ROWS(x); p++) {
            struct attempt_row *row = fixture_throughput(&f, p, 0, x[p]);
            const int64_t grown = p < 2 ? 0 : 8000000;
            for (size_t k = 1; k < row->replicas.len; k++) {
                const struct summary s = {
                    .samples = 128,
                    .steps = 8,
                    .duration_ns = llrint(128e9 * (double)(row->replicas.len - 1) / x[p]),
                    .phase_ns = {grown * rows[i].data_ms, grown * rows[i].forward_ms,
                                 8000000 + grown * rows[i].backward_ms, grown * rows[i].send_ms,
                                 grown * rows[i].wait_ms, grown * rows[i].update_ms, 0},
                    .loss_first = NAN,
                    .loss_last = NAN,
                };
                fixture_say(row, k, &s);
            }
        }
        fixture_build(&f, RUN_SUCCEEDED);
        const struct curve_loss *loss = &f.result->curves.list.items[0].loss;
        print_message("# %s %g\n", loss->phase, loss->phase_ns);
        assert_int_equal(loss->to->point->replicas[ROLE_TRAINER], 4);
        assert_string_equal(loss->phase, rows[i].phase);
        assert_true(fabs(loss->phase_ns - 1e6 * rows[i].ms) < 1e3);
    }
}

TEST(nothing_is_lost_where_each_keeps_all)
{
    static const double x[] = {100, 200, 400, 800, 100};
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}", SINGLE_NODE, 64);
    for (uint32_t p = 0; p < 5; p++) {
        fixture_throughput(&f, p, 0, x[p] * (1 + 0.001 * p));
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    assert_null(f.result->curves.list.items[0].loss.from);
}
