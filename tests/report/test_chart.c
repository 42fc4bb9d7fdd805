/* Charts as data, and their axes. How they look is in test_html.c. */
#include "tests/test.h"
#include "report/charts.h"

#include <errno.h>
#include <math.h>

#include "report_runs.h"
#include "result/pivot.h"

TEST(ticks_are_round_and_hold_the_values)
{
    static const struct {
        double low, high;
        unsigned n;
        double want_low, want_high, want_step;
    } rows[] = {
        {0, 131.6, 5, 0, 150, 50},
        {0, 100, 5, 0, 100, 20},
        {0, 1.005, 5, 0, 1.25, 0.25},
        {0, 0.07, 5, 0, 0.08, 0.02},
        {0.93, 1.04, 4, 0.9, 1.05, 0.05},
        {-3, 3, 3, -4, 4, 2},
        {0, 0, 5, -1, 1, 0.5},
        {40, 40, 5, 20, 60, 10},
        {0, 0.3, 3, 0, 0.3, 0.1},
        {0, 1234567, 4, 0, 1500000, 500000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct chart_axis a = chart_axis_nice(rows[i].low, rows[i].high, rows[i].n, 10, 110);
        print_message("# %g..%g: %g..%g by %g\n", rows[i].low, rows[i].high, a.low, a.high, a.step);
        assert_true(fabs(a.low - rows[i].want_low) < 1e-9);
        assert_true(fabs(a.high - rows[i].want_high) < 1e-9);
        assert_true(fabs(a.step - rows[i].want_step) < 1e-9);
        assert_true(fabs(chart_axis_px(&a, a.low) - 10) < 1e-9);
        assert_true(fabs(chart_axis_px(&a, a.high) - 110) < 1e-9);
        assert_true(fabs(chart_axis_tick(&a, chart_axis_n_ticks(&a) - 1) - a.high) < 1e-9);
    }
}

/* A line for each number of servers, over the number of trainers, each with its ideal. */
TEST(lines_of_a_sweep)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    report_run_find("sweep")->make(&f);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "throughput", &c));
    assert_string_equal(c.x_title, "trainers");
    assert_int_equal(c.series.len, 2);
    assert_string_equal(c.series.items[1].name, "pservers 2");
    const struct chart_series *s = &c.series.items[1];
    assert_int_equal(s->marks.len, 2);
    assert_true(s->marks.items[1].x == 2 && fabs(s->marks.items[1].value - 70.9) < 1e-6);
    assert_true(s->marks.items[1].low < 70.9 && s->marks.items[1].high > 70.9);
    assert_string_equal(s->marks.items[1].text,
                        "pservers 2, trainers 2: 70.90 samples/s (95%: 70.20..71.61)");
    assert_true(fabs(s->marks.items[0].ideal - 37.9) < 1e-6 &&
                fabs(s->marks.items[1].ideal - 75.8) < 1e-6);
}

/* A name varies that is no number: a line between two names would mean nothing. */
TEST(names_have_bars)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    struct chart none;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2], node: [old, new]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 1}\n"
                 "  parameters: [{name: node, targets: [{roles: [trainer], paths: "
                 "[/spec/priorityClassName]}]}]\n",
                 8);
    for (uint32_t p = 0; p < f.def->matrix.n_points; p++) {
        fixture_throughput(&f, p, 0, 10 + p);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "throughput", &none));
    assert_true(charts_make(&l, "points", &c));
    assert_int_equal(c.series.len, 2);
    assert_string_equal(c.series.items[1].name, "node new");
    assert_string_equal(c.series.items[1].marks.items[0].text, "node new: 11.00 samples/s");
}

/* The ideal belongs to its own point, also where the baseline of another was not measured. */
TEST(ideals_stand_at_their_points)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2], node: [a, b, c]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  parameters: [{name: node, targets: [{roles: [trainer], paths: "
                             "[/spec/priorityClassName]}]}]\n",
                 8);
    for (uint32_t p = 0; p < f.def->matrix.n_points; p++) {
        if (p != f.def->matrix.points[0].baseline_index) {
            fixture_throughput(&f, p, 0, 10 + p);
        }
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "points", &c));
    assert_int_equal(c.series.len, 3);
    assert_true(isnan(c.series.items[0].whole));
    for (uint32_t i = 1; i < 3; i++) {
        const double x_1 = 10 + f.def->matrix.points[i].baseline_index;
        assert_true(fabs(c.series.items[i].whole - 2 * x_1) < 1e-6);
    }
}

/* The first point has no figure: the unit is that of those that have one. */
TEST(the_unit_is_that_of_a_measured_point)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 8);
    for (uint32_t p = 1; p < f.def->matrix.n_points; p++) {
        fixture_count(fixture_throughput(&f, p, 0, 10 + p), UNIT_TOKENS);
    }
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "throughput", &c));
    assert_string_equal(c.subtitle, "tokens/s");
}

TEST(lines_that_are_too_many_are_counted)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    fixture_init(&f, "{grid: {pservers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], trainers: [1, 2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 1}\n", 64);
    for (uint32_t p = 0; p < f.def->matrix.n_points; p++) {
        fixture_throughput(&f, p, 0, 10 + p);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "throughput", &c));
    assert_int_equal(c.series.len, CHART_MAX_SERIES);
    assert_string_equal(c.missing, "2 more lines are in the table only.");
}

/* Each point is its own baseline, or nothing varies: there is nothing to draw. */
TEST(no_chart_without_something_to_show)
{
    struct fixture f;
    struct layout l;
    struct chart c;
    report_run_find("single-node")->make(&f);
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "efficiency", &c));
    layout_done(&l);
    fixture_done(&f);
    report_run_find("six-trials")->make(&f);
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "throughput", &c));
    layout_done(&l);
    fixture_done(&f);
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}", "  repeats: {min: 1}\n", 8);
    fixture_throughput(&f, 1, 0, 10);
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "throughput", &c)); /* of one point */
    layout_done(&l);
    fixture_done(&f);
}

/* The system says the number of servers, so there is no axis: a bar a point, with its own ideal. */
TEST(systems_have_rows)
{
    struct fixture f;
    struct layout l;
    struct chart c;
    struct chart d;
    struct chart b;
    report_run_find("systems")->make(&f);
    layout_init(&l, f.result);
    assert_true(layout_follows_system(&l, "pservers"));
    assert_false(charts_make(&l, "throughput", &c));
    assert_false(charts_make(&l, "efficiency", &c));
    assert_true(charts_make(&l, "points", &d));
    assert_int_equal(d.series.len, 3);
    assert_string_equal(d.series.items[0].name, "own, pservers 1");
    assert_string_equal(d.series.items[1].name, "ddp, pservers 0");
    assert_int_equal(d.series.items[1].marks.len, 1);
    assert_true(fabs(d.series.items[1].marks.items[0].value - 37.84) < 1e-6);
    assert_true(fabs(d.series.items[1].whole - 2 * 23.7) < 1e-6);
    assert_string_equal(d.whole, "ideal: baseline times trainers or workers");
    chart_done(&d);
    assert_true(charts_make(&l, "phases", &b));
    assert_int_equal(b.series.len, 1);
    assert_non_null(b.missing);
    chart_done(&b);
    layout_done(&l);
    fixture_done(&f);
    report_run_find("sweep")->make(&f);
    layout_init(&l, f.result);
    assert_false(layout_follows_system(&l, "pservers"));
    assert_false(charts_make(&l, "points", &d));
    assert_true(charts_make(&l, "phases", &b));
    assert_null(b.missing);
    chart_done(&b);
    layout_done(&l);
    fixture_done(&f);
}

/* Times of 215 and 61.7 s; two trainers did not reach it. Each curve is that of one trial. */
TEST(times_and_curves)
{
    struct fixture f;
    struct layout l;
    struct chart c;
    report_run_find("accuracy")->make(&f);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "time-to-accuracy-speedup", &c));
    assert_string_equal(c.title, "Speedup of the time to accuracy by trainers");
    assert_int_equal(c.series.len, 1);
    assert_int_equal(c.series.items[0].marks.len, 2);
    const struct chart_mark *four = &c.series.items[0].marks.items[1];
    assert_true(four->x == 4 && fabs(four->value - 215 / 61.7) < 1e-9);
    assert_true(fabs(four->ideal - 4) < 1e-9 && four->low < four->value &&
                four->value < four->high);
    assert_string_equal(four->text, "trainers 4: 3.485 times as fast (95%: 3.267..3.719)");
    chart_done(&c);
    assert_false(charts_make(&l, "time-to-accuracy-cost", &c)); /* without a price */
    assert_int_equal(pivot_set_price(f.result, "0.2/hour"), -EINVAL);
    assert_int_equal(pivot_set_price(f.result, "0.2/pod-hour"), 0);
    assert_true(charts_make(&l, "time-to-accuracy-cost", &c));
    assert_string_equal(c.subtitle, "of a trial, at 0.2/pod-hour");
    const struct chart_mark *cost = &c.series.items[0].marks.items[1];
    assert_true(fabs(cost->value - 0.2 * 4 / 3600 * 61.7) < 1e-12 && cost->low < cost->high);
    chart_done(&c);
    for (int is_loss = 0; is_loss < 2; is_loss++) {
        assert_true(charts_make(&l, is_loss ? "loss-over-time" : "accuracy-over-time", &c));
        assert_int_equal(c.series.len, 3);
        assert_true(is_loss ? isnan(c.reference) : c.reference == 0.8);
        const struct chart_series *s = &c.series.items[0]; /* of its third trial, 41 samples/s */
        assert_int_equal(s->marks.len, is_loss ? 1 : 2);
        assert_true(s->marks.items[0].x == 90);
        assert_true(fabs(s->marks.items[0].value - (is_loss ? 1 - 0.705 : 0.705)) < 1e-9);
        assert_string_equal(s->marks.items[0].text, is_loss ? "trainers 1: loss 0.295 after 90 s"
                                                            : "trainers 1: 70.50% after 90 s");
        _cleanup_(buf_done) struct buf svg = BUF_INIT;
        chart_svg(&c, true, &svg);
        assert_non_null(strstr(buf_cstr(&svg), ">100</text>")); /* ticks of time, not the times */
        assert_null(strstr(buf_cstr(&svg), ">220.1</text>"));
        chart_done(&c);
    }
    layout_done(&l);
    fixture_done(&f);
    report_run_find("sweep")->make(&f);
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "time-to-accuracy-speedup", &c));
    assert_false(charts_make(&l, "accuracy-over-time", &c));
    layout_done(&l);
    fixture_done(&f);
}

/* Throughputs of different units share no axis. */
TEST(units_share_no_axis)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    struct chart c;
    report_run_find("acceleration")->make(&f);
    f.result->points[0].throughput.unit = "tokens/s";
    layout_init(&l, f.result);
    assert_false(charts_make(&l, "throughput", &c));
}

/* Each figure of the catalogue has a chart; what it says is its row. */
TEST(a_figure_without_a_maker)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c, empty;
    report_run_find("sweep")->make(&f);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "efficiency-per-pod", &c));
    assert_string_equal(c.title, "Efficiency per pod by trainers");
    assert_string_equal(c.subtitle, "Speedup divided by the number of pods, servers among them.");
    assert_true(c.unit == CHART_PERCENT && isnan(c.reference));
    assert_non_null(strstr(c.series.items[0].marks.items[1].text, "%"));
    assert_false(charts_make(&l, "cost", &empty)); /* without a price */
    assert_false(charts_make(&l, "no-figure", &empty));
}

/* The fixture's phases are 1 to 7 ms over 8 steps. */
TEST(phases_are_those_of_one_step)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(chart_done) struct chart c;
    report_run_find("sweep")->make(&f);
    layout_init(&l, f.result);
    assert_true(charts_make(&l, "phases", &c));
    assert_int_equal(c.series.len, 4);
    assert_int_equal(c.names.len, PHASE_COUNT);
    assert_string_equal(c.names.items[1], "forward");
    assert_true(fabs(c.series.items[0].marks.items[1].value - 2.0 / 8) < 1e-9);
    assert_true(fabs(c.series.items[0].whole - 1e3 * 128 / 35.1 / 8) < 5);
}
