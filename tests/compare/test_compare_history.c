#include "tests/test.h"
#include "compare/compare_parts.h"

#include "compare_fixture.h"

static const double wide[FIXTURE_HISTORY] = {1.12, 0.9, 1.07, 0.94, 1.1};

/* What the trials show is asked of the history. */
TEST(a_change_is_beyond_the_usual_spread)
{
    static const double x[] = {40, 70, 120, 200};
    /* clang-format off */
    static const struct {
        const char *name;
        double b[4];
        const double *factors;
        size_t n_history;
        const char *changes; /* S slower, F faster, u spread unknown, U usual, - none shown */
        enum change whole_change, change;
    } rows[] = {
        {"10% slower, no other run", {36, 63, 108, 180}, usual, 0, "uuuu", CHANGE_SPREAD_UNKNOWN,
         CHANGE_INCONCLUSIVE},
        {"half as fast, one other run", {20, 35, 60, 100}, usual, 1, "uuuu", CHANGE_SPREAD_UNKNOWN,
         CHANGE_INCONCLUSIVE},
        {"10% slower, runs differ by 0.3%", {36, 63, 108, 180}, usual, 5, "SSSS", CHANGE_SLOWER,
         CHANGE_SLOWER},
        {"one point 10% faster", {40, 70, 132, 200}, usual, 5, "--F-", CHANGE_FASTER,
         CHANGE_FASTER},
        {"10% slower, runs differ by 10%", {36, 63, 108, 180}, wide, 5, "UUUU", CHANGE_NONE,
         CHANGE_NONE},
        {"half as fast, runs differ by 10%", {20, 35, 60, 100}, wide, 5, "SSSS", CHANGE_SLOWER,
         CHANGE_SLOWER},
        {"nothing changed, no other run", {40, 70, 120, 200}, usual, 0, "----", CHANGE_NONE,
         CHANGE_NONE},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 5, x, 0);
        make_run(&b, "demo-q2v8n", 5, rows[i].b, 3);
        _cleanup_(fixture_history_done) struct fixture_history h;
        fixture_history_init(&h, a.result, rows[i].factors);
        const struct compare_params params = {
            .threshold_ratio = 0.02, .history = h.list, .n_history = rows[i].n_history};
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, NULL), 0);
        char changes[5] = "";
        for (size_t p = 0; p < 4; p++) {
            changes[p] = "SFiuU-tx"[c->points.items[p].change];
        }
        print_message("# row '%s': %s\n", rows[i].name, changes);
        assert_string_equal(changes, rows[i].changes);
        assert_int_equal(c->n_base_runs, rows[i].n_history + 1);
        assert_int_equal(c->whole.known, rows[i].n_history >= 2);
        if (c->whole.known) {
            assert_int_equal(c->whole_change, rows[i].whole_change);
        }
        assert_int_equal(c->change, rows[i].change);
    }
}

/* The history of the base: its definition, machine and build, and neither of the two runs. */
TEST(which_runs_are_the_base_s)
{
    static const double x[] = {40, 70, 120, 200};
    _cleanup_(fixture_done) struct fixture a, b, other;
    make_run(&a, "demo-7k3fq", 3, x, 0);
    make_run(&b, "demo-q2v8n", 3, x, 3);
    free(b.def->uid);
    b.def->uid = xstrdup("1c6d9a1f-4a6f-4d1b-8e7c-3b2a4d5e6f70");
    make_run(&other, "demo-other", 4, x, 1); /* four repeats: another definition */
    free(other.def->uid);
    other.def->uid = xstrdup("70de7c3e-0c52-4f0e-9a57-0f5b6f3f8a11");
    _cleanup_(fixture_history_done) struct fixture_history h;
    fixture_history_init(&h, a.result, usual);
    struct result twins[3];
    for (size_t i = 0; i < 3; i++) {
        twins[i] = h.results[0];
    }
    struct run_def defs[2] = {h.defs[0], h.defs[0]};
    defs[0].cpus = 3; /* another machine */
    defs[1].uid = b.def->uid;
    twins[0].def = &defs[0];
    twins[1].def = &defs[1];
    twins[2].phase = RUN_CANCELLED;
    const struct result *const list[] = {a.result,  b.result,  other.result, &twins[0],
                                         &twins[1], &twins[2], h.list[0],    h.list[1]};
    const struct compare_params params = {
        .threshold_ratio = 0.02, .history = list, .n_history = N_ROWS(list)};
    _cleanup_(comparison_freep) struct comparison *c = NULL;
    const char *fix = NULL;
    assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, NULL), 0);
    assert_int_equal(c->n_base_runs, 3);
}

/* Builds of the same identity that were slower are in the store: they are another level, and excuse
 * nothing. */
TEST(slow_siblings_are_another_level)
{
    static const double x[] = {40, 70, 120, 200}, slow[] = {36, 63, 108, 180};
    static const double siblings[FIXTURE_HISTORY] = {1.002, 0.997, 0.97, 0.9, 0.9};
    _cleanup_(fixture_done) struct fixture a, b;
    make_run(&a, "demo-7k3fq", 5, x, 0);
    make_run(&b, "demo-q2v8n", 5, slow, 3);
    _cleanup_(fixture_history_done) struct fixture_history h;
    fixture_history_init(&h, a.result, siblings);
    const struct compare_params params = {
        .threshold_ratio = 0.02, .history = h.list, .n_history = FIXTURE_HISTORY};
    _cleanup_(comparison_freep) struct comparison *c = NULL;
    const char *fix = NULL;
    assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, NULL), 0);
    assert_int_equal(c->n_base_runs, 3);
    assert_int_equal(c->change, CHANGE_SLOWER);
    const struct result *level[FIXTURE_HISTORY + 1];
    const struct result *const others[] = {a.result, h.list[0], h.list[1], h.list[2], h.list[3]};
    assert_int_equal(compare_level_of(h.list[4], others, 5, level), 3); /* of the slow ones */
    assert_ptr_equal(level[0], h.list[2]);
    assert_false(compare_leaves_level(level, 3, b.result));
    assert_int_equal(compare_level_of(a.result, h.list, FIXTURE_HISTORY, level), 3);
    assert_true(compare_leaves_level(level, 3, b.result));
}
