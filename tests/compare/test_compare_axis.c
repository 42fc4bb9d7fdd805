/* One run, compared by an axis of its sweep. */
#include "tests/test.h"
#include "compare/comparison.h"

#include <math.h>

#include "base/splitmix.h"
#include "result_fixture.h"

FREEP(comparison_free, struct comparison)

#define POINT_BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"
/* Points in turn: pservers 1 with trainers 1, 2, then pservers 2 with both. */
#define GRID "{grid: {pservers: [1, 2], trainers: [1, 2]}}"

static const struct compare_axis_params by_pservers = {.axis = "pservers", .threshold_ratio = 0.02};

static void make(struct fixture *f, const char *sweep, size_t repeats, const char *more)
{
    _cleanup_(freep) char *all =
        xasprintf("%s  repeats: {min: %zu}\n%s", POINT_BASELINE, repeats, more);
    fixture_init(f, sweep, all, 16);
}

/* Point p has x[p]; what all trials of a block have in common, and noise of
 * its own for each trial. */
static void fill(struct fixture *f, size_t repeats, const double *x, double block, double noise)
{
    static const double of_block[] = {0, 1, -1, 0.5, -0.7, 0.2, 0.9, -0.4};
    uint64_t state = 7;
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < repeats && x[p] > 0; t++) {
            const double u = (double)(splitmix_next(&state) >> 11) / 9007199254740992.0 - 0.5;
            fixture_throughput(f, p, t, x[p] * exp(block * of_block[t % 8] + noise * u));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

static struct comparison *compare(const struct fixture *f, const struct compare_axis_params *params)
{
    struct comparison *c = NULL;
    const char *fix = NULL;
    struct err err = {0};
    if (comparison_new_axis(f->result, params, &c, &fix, &err) < 0) {
        fail_msg("refused: %s", err.msg);
    }
    return c;
}

/* A fifth slower while others took a fifth of the candidate's trials: no excuse inside one run. */
TEST(a_busy_machine)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f, GRID, 5, "");
    fill(&f, 5, (const double[]){100, 180, 80, 144}, 0.3, 0.01);
    for (size_t k = 0; k < 4 * 5; k++) {
        f.result->points[k / 5].trials[k % 5].others_share = k < 2 * 5 ? 0 : 0.2;
    }
    _cleanup_(comparison_freep) struct comparison *c = compare(&f, &by_pservers);
    assert_int_equal(c->change, CHANGE_SLOWER);
}

/* clang-format off */
static const struct {
    const char *name;
    size_t n;
    double x[4]; /* 0: no trial of the point */
    double block, noise, margin;
    /* S slower, F faster, i inconclusive, - none shown, t too few, x not measured */
    const char *changes;
    enum change whole_change, change;
    enum margin_verdict verdict;
    size_t repeats; /* that would decide, if the verdict is open */
} verdict_rows[] = {
    {"nothing changed", 5, {100, 180, 100, 180}, 0, 0.01, 0, "--", CHANGE_NONE, CHANGE_NONE,
     MARGIN_NOT_ASKED},
    {"blocks differ by far: they cancel", 5, {100, 180, 100, 180}, 0.3, 0.01, 0, "--", CHANGE_NONE,
     CHANGE_NONE, MARGIN_NOT_ASKED},
    {"all slower by 5%, blocks differ by far", 5, {100, 180, 95, 171}, 0.3, 0.01, 0, "SS",
     CHANGE_SLOWER, CHANGE_SLOWER, MARGIN_NOT_ASKED},
    {"one half as fast, three blocks", 3, {100, 180, 100, 90}, 0, 0.01, 0, "-S", CHANGE_SLOWER,
     CHANGE_SLOWER, MARGIN_NOT_ASKED},
    {"faster", 5, {100, 180, 110, 198}, 0, 0.01, 0, "FF", CHANGE_FASTER, CHANGE_FASTER,
     MARGIN_NOT_ASKED},
    {"one slower, one faster", 5, {100, 180, 90, 198}, 0, 0.01, 0, "SF", CHANGE_NONE,
     CHANGE_SLOWER, MARGIN_NOT_ASKED},
    {"1.5% is below the threshold", 8, {100, 180, 98.5, 177.3}, 0, 0.001, 0, "--", CHANGE_NONE,
     CHANGE_NONE, MARGIN_NOT_ASKED},
    {"two blocks", 2, {100, 180, 50, 90}, 0, 0.01, 0, "tt", CHANGE_NONE, CHANGE_INCONCLUSIVE,
     MARGIN_NOT_ASKED, 5},
    {"the candidate did not run", 5, {100, 180, 100, 0}, 0, 0.01, 0, "-x", CHANGE_NONE,
     CHANGE_INCONCLUSIVE, MARGIN_NOT_ASKED},
    {"likely, not shown", 4, {100, 180, 91, 175}, 0, 0.08, 0, "--", CHANGE_INCONCLUSIVE,
     CHANGE_INCONCLUSIVE, MARGIN_NOT_ASKED, 8},
    {"not slower than 2%", 5, {100, 180, 100, 180}, 0.3, 0.01, 0.02, "--", CHANGE_NONE,
     CHANGE_NONE, MARGIN_NOT_SLOWER},
    {"slower than 2%", 5, {100, 180, 90, 180}, 0.3, 0.01, 0.02, "S-", CHANGE_SLOWER, CHANGE_SLOWER,
     MARGIN_SLOWER},
    {"5% slower, but not than 10%", 5, {100, 180, 95, 171}, 0.3, 0.01, 0.1, "SS", CHANGE_SLOWER,
     CHANGE_SLOWER, MARGIN_NOT_SLOWER},
    {"too noisy to say", 5, {100, 180, 100, 180}, 0, 0.2, 0.02, "--", CHANGE_NONE, CHANGE_NONE,
     MARGIN_INCONCLUSIVE, 180},
    {"two blocks show no margin", 2, {100, 180, 100, 180}, 0, 0.001, 0.02, "tt", CHANGE_NONE,
     CHANGE_INCONCLUSIVE, MARGIN_INCONCLUSIVE, 5},
    {"a point that did not run shows none either", 5, {100, 180, 100, 0}, 0, 0.01, 0.02, "-x",
     CHANGE_NONE, CHANGE_INCONCLUSIVE, MARGIN_INCONCLUSIVE},
};
/* clang-format on */

TEST(verdicts)
{
    for (size_t i = 0; i < N_ROWS(verdict_rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        make(&f, GRID, verdict_rows[i].n, "");
        fill(&f, verdict_rows[i].n, verdict_rows[i].x, verdict_rows[i].block,
             verdict_rows[i].noise);
        struct compare_axis_params params = by_pservers;
        params.margin.ratio = verdict_rows[i].margin;
        _cleanup_(comparison_freep) struct comparison *c = compare(&f, &params);
        char changes[3] = "";
        for (size_t p = 0; p < 2; p++) {
            changes[p] = "SFiuU-tx"[c->points.items[p].change];
        }
        print_message("# row '%s': %s, p %.4f %.4f, whole %.4f\n", verdict_rows[i].name, changes,
                      c->points.items[0].p_adjusted, c->points.items[1].p_adjusted,
                      c->whole_p_adjusted);
        assert_string_equal(changes, verdict_rows[i].changes);
        assert_int_equal(c->whole_change, verdict_rows[i].whole_change);
        assert_int_equal(c->change, verdict_rows[i].change);
        assert_int_equal(c->whole_margin, verdict_rows[i].verdict);
        assert_int_equal(c->repeats_to_decide, verdict_rows[i].repeats);
        const double *x = verdict_rows[i].x;
        const double ratio = x[3] > 0 ? sqrt(x[2] / x[0] * x[3] / x[1]) : x[2] / x[0];
        assert_true(fabs(c->geomean_ratio.estimate.value / ratio - 1) <= verdict_rows[i].noise);
        assert_int_equal(c->geomean_ratio.estimate.method,
                         verdict_rows[i].n < 3 ? INTERVAL_NONE : INTERVAL_PAIRED_LOG);
        assert_int_equal(c->geomean_ratio.estimate.has_interval, verdict_rows[i].n >= 3);
    }
}

/* The example of docs/numbers.md, worked by hand there. */
TEST(figures_by_hand)
{
    static const double a[] = {100, 104, 98}, b[] = {97, 101.5, 95.2};
    _cleanup_(fixture_done) struct fixture f;
    make(&f, "{grid: {pservers: [1, 2], trainers: [1]}}", 3, "");
    for (uint32_t t = 0; t < 3; t++) {
        fixture_throughput(&f, 0, t, a[t]);
        fixture_throughput(&f, 1, t, b[t]);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    struct compare_axis_params params = by_pservers;
    params.margin.ratio = 0.05;
    _cleanup_(comparison_freep) struct comparison *c = compare(&f, &params);
    const struct compared_point *p = &c->points.items[0];
    assert_int_equal(p->shown.n, 3);
    assert_true(fabs(p->shown.mean - -0.027926) < 1e-6);
    assert_true(fabs(p->shown.sd - 0.003198) < 1e-6);
    assert_true(fabs(p->ratio.estimate.value - 0.97246) < 1e-5);
    assert_true(fabs(p->ratio.estimate.low - 0.96476) < 1e-5);
    assert_true(fabs(p->ratio.estimate.high - 0.98022) < 1e-5);
    assert_true(fabs(p->shown.p - 0.004344) < 1e-5);
    assert_true(p->shown.p == p->p_adjusted); /* the one point is the whole */
    assert_true(isnan(c->whole_p_adjusted));
    assert_true(fabs(exp(paired_low_95(&p->shown)) - 0.96723) < 1e-5);
    assert_int_equal(c->change, CHANGE_SLOWER);
    assert_int_equal(c->whole_margin, MARGIN_NOT_SLOWER);
    _cleanup_(json_decrefp) json_t *document = comparison_to_json(c);
    double point, whole;
    assert_int_equal(json_unpack(document, "{s:[{s:{s:f}}], s:{s:{s:f}}}", "points", "margin",
                                 "low", &point, "whole", "margin", "low", &whole),
                     0);
    assert_true(fabs(point - 0.96723) < 1e-5);
    assert_true(point == whole);
}

/* Where a stop rule chose how many pairs there are, only the first ones say how pairs vary. And
 * where the two sides ran on different machines, that is said. */
TEST(a_stop_rule_and_two_machines)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(
        &f, "{grid: {pservers: [1, 2], trainers: [1]}}",
        POINT_BASELINE "  repeats: {min: 3, max: 6, stopWhen: {relativeHalfWidth: \"0.5\"}}\n", 16);
    fill(&f, 6, (const double[]){100, 95}, 0, 0.02);
    for (size_t row = 0; row < f.rows.len; row++) {
        fixture_set_environment(&f, row, 1,
                                row < 6 ? "{\"kernel\":\"6.1\"}" : "{\"kernel\":\"6.2\"}");
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(comparison_freep) struct comparison *c = compare(&f, &by_pservers);
    assert_int_equal(c->points.items[0].shown.n, 6);
    assert_true(c->points.items[0].shown.df == 2);
    assert_true(c->whole.n == 6 && c->whole.df == 2);
    assert_true(c->differences.len > 0);
    assert_string_equal(c->differences.items[c->differences.len - 1].what, "kernel");
}

/* A trial without a number takes its pair out, not the block of other points. */
TEST(pairs_are_of_blocks)
{
    static const double x[] = {100, 180, 95, 171};
    _cleanup_(fixture_done) struct fixture f;
    make(&f, GRID, 5, "");
    fill(&f, 5, x, 0.3, 0.01);
    f.rows.items[1].outcome = ATTEMPT_FAILED;     /* point 0, block 1 */
    f.rows.items[5 + 3].outcome = ATTEMPT_FAILED; /* point 1, block 3 */
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(comparison_freep) struct comparison *c = compare(&f, &by_pservers);
    assert_int_equal(c->points.items[0].shown.n, 4);
    assert_int_equal(c->points.items[1].shown.n, 4);
    assert_int_equal(c->whole.n, 3); /* blocks that all points have */
    assert_true(fabs(c->points.items[0].ratio.estimate.value - 0.95) < 0.01); /* not 0.3 off */
    vec_each (struct attempt_row, row, &f.rows) { /* both were measured, never in one block */
        const bool is_measured = (row->id.point < 2) == (row->id.trial < 3);
        row->outcome = is_measured ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(comparison_freep) struct comparison *none = compare(&f, &by_pservers);
    assert_int_equal(none->whole.n, 0);
    assert_false(none->geomean_ratio.estimate.has_interval);
}

TEST(what_is_a_pair)
{
    struct fixture f;
    static const double x[] = {100, 110, 120, 130, 140, 150, 160, 170};
    make(&f,
         "{points: [{pservers: 1, trainers: 1}, {pservers: 2, trainers: 4}, {pservers: 2, "
         "trainers: 1}]}",
         3, "");
    fill(&f, 3, x, 0, 0.01);
    struct comparison *c = compare(&f, &by_pservers);
    assert_string_equal(c->axis_base, "1");
    assert_string_equal(c->axis_candidate, "2");
    assert_int_equal(c->points.len, 1);
    assert_int_equal(c->points.items[0].base->point->index, 0);
    assert_int_equal(c->points.items[0].candidate->point->index, 2);
    assert_int_equal(c->only_base.len, 0);
    assert_int_equal(c->only_candidate.len, 1);
    comparison_free(c);
    fixture_done(&f);

    /* A point of the base without its pair: nobody knows whether it became slower. */
    make(&f,
         "{points: [{pservers: 1, trainers: 1}, {pservers: 1, trainers: 4}, {pservers: 2, "
         "trainers: 1}]}",
         3, "");
    fill(&f, 3, (const double[]){100, 300, 100}, 0, 0.01);
    struct compare_axis_params params = by_pservers;
    params.margin.ratio = 0.1;
    c = compare(&f, &params);
    assert_int_equal(c->only_base.len, 1);
    assert_int_equal(c->change, CHANGE_INCONCLUSIVE);
    assert_int_equal(c->whole_margin, MARGIN_INCONCLUSIVE);
    comparison_free(c);
    fixture_done(&f);
}

TEST(systems_are_an_axis)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f, "{grid: {pservers: [1], trainers: [1, 2]}}", 3,
         "  systems: [{name: old, profile: benchworker}, {name: new, profile: benchworker}]\n");
    fill(&f, 3, (const double[]){100, 180, 50, 90}, 0, 0.01);
    const struct compare_axis_params params = {.axis = "system", .threshold_ratio = 0.02};
    _cleanup_(comparison_freep) struct comparison *c = compare(&f, &params);
    assert_string_equal(c->axis_base, "old");
    assert_string_equal(c->axis_candidate, "new");
    assert_int_equal(c->points.len, 2);
    assert_int_equal(c->change, CHANGE_SLOWER);
}

TEST(refusals)
{
    static const struct {
        const char *sweep, *more, *axis, *message;
        bool simulated, measured;
    } rows[] = {
        {GRID, "", "image", "has no axis 'image'; it has system", false, true},
        {GRID, "", "system",
         "'system' must have two values in run/demo-7k3fq (it has 1: benchworker)", false, true},
        {"{grid: {pservers: [1, 2, 4], trainers: [1]}}", "", "pservers",
         "'pservers' must have two values in run/demo-7k3fq (it has 3: 1, 2, 4)", false, true},
        {"{grid: {pservers: [1, 2, 3, 4, 5, 6, 7, 8], trainers: [1]}}", "", "pservers",
         "(it has 8: 1, 2, 3, 4, 5, 6, 7, 8)", false, true},
        {"{grid: {pservers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], trainers: [1]}}", "", "pservers",
         "(it has 10: 1, 2, 3, 4, 5, 6, 7, 8 and 2 more)", false, true},
        {"{points: [{pservers: 1, trainers: 1}, {pservers: 2, trainers: 2}]}", "", "pservers",
         "no pair: no point with pservers=1 has one with pservers=2", false, true},
        {GRID, "", "pservers", "is simulated", true, true},
        {GRID, "", "pservers", "no point of run/demo-7k3fq has a throughput with both", false,
         false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        make(&f, rows[i].sweep, 3, rows[i].more);
        const double x = rows[i].measured ? 100 : 0;
        fill(&f, 3, (const double[10]){x, x, x, x}, 0, 0.01);
        f.result->simulated = rows[i].simulated;
        const struct compare_axis_params params = {.axis = rows[i].axis, .threshold_ratio = 0.02};
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        assert_int_equal(comparison_new_axis(f.result, &params, &c, &fix, &err),
                         rows[i].measured ? -EINVAL : -ENODATA);
        assert_null(c);
        assert_non_null(fix);
        if (strstr(err.msg, rows[i].message) == NULL) {
            fail_msg("expected '%s', got '%s'", rows[i].message, err.msg);
        }
    }
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3, order: Sequential}\n", 16);
    fill(&f, 3, (const double[]){100, 100, 100, 100}, 0, 0.01);
    struct comparison *c = NULL;
    const char *fix = NULL;
    struct err err = {0};
    assert_int_equal(comparison_new_axis(f.result, &by_pservers, &c, &fix, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "one point after the other"));
}
