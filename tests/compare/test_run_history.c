/* A benchmark over time, compare/run_history.h. */
#include "tests/test.h"
#include "compare/run_history.h"

#include <math.h>

#include "compare_fixture.h"

/* Of runs whose results are there, the oldest first, as cmd_history.c makes it. */
static void history_of(struct run_history *h, const struct result *const *runs, size_t n,
                       const uint32_t *point)
{
    _cleanup_(freep) const struct result **taken = xnew_array(const struct result *, n);
    run_history_begin(h, runs[n - 1], point);
    for (size_t i = 0; i < n; i++) {
        const struct run_def *def = runs[i]->def;
        taken[h->entries.len] = runs[i]; /* the next one's place, if it is left out */
        run_history_add(
            h, &(struct run_history_run){def->name, def->uid, def->created_unix_ms, runs[i]});
    }
    run_history_end(h);
    vec_each (struct run_history_change, change, &h->changes) {
        run_history_explain(change, taken[change->at - 1], taken[change->at]);
    }
}

/* Points of 60 and 90 samples/s in batches of 10, times a factor: of one point its figure, of both
 * the geometric mean. */
static void check_figures(const char *measure, const char *unit, double one, double both)
{
    static const double factors[FIXTURE_HISTORY] = {1, 1.1, 0.9, 2, 0.5};
    static const uint32_t second = 1;
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2], batch_size: [10]}}", measure, 0);
    fixture_throughput(&f, 0, 0, 60);
    fixture_throughput(&f, 1, 0, 90);
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(fixture_history_done) struct fixture_history history;
    fixture_history_init(&history, f.result, factors);
    for (int i = 0; i < 2; i++) {
        const double figure = i == 0 ? both : one;
        _cleanup_(run_history_done) struct run_history h;
        history_of(&h, history.list, FIXTURE_HISTORY, i == 0 ? NULL : &second);
        assert_string_equal(h.unit, unit);
        assert_int_equal(h.entries.len, FIXTURE_HISTORY);
        for (size_t k = 0; k < h.entries.len; k++) {
            print_message("# %s, run %zu: %g\n", i == 0 ? "all" : "one", k,
                          h.entries.items[k].value);
            assert_true(fabs(h.entries.items[k].value / (figure * factors[k]) - 1) < 1e-6);
        }
    }
}

#define BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"
TEST(figures_of_runs)
{
    check_figures(BASELINE, "samples/s", 90, sqrt(60 * 90));
    check_figures(BASELINE "  measure: {warmupSteps: 2, steps: 8, unit: Batches}\n", "batches/s", 9,
                  sqrt(6 * 9));
}

/* Ten runs, ten slower ones on another kernel, and one between them without a figure. */
TEST(a_change_is_found_and_explained)
{
    static const char *const kernels[] = {"{\"kernel\":\"6.1.0\"}", "{\"kernel\":\"6.2.0\"}"};
    static const double x[][4] = {{40, 70, 120, 200}, {36, 63, 108, 180}};
    struct fixture runs[2];
    struct fixture_history parts[4];
    const struct result *list[4 * FIXTURE_HISTORY + 1];
    for (size_t i = 0; i < 4; i++) {
        struct fixture *f = &runs[i / 2];
        if (i % 2 == 0) {
            make_run(f, i == 0 ? "before" : "after", 3, x[i / 2], 0);
            for (size_t row = 0; row < f->rows.len; row++) {
                for (size_t k = 0; k < f->rows.items[row].replicas.len; k++) {
                    fixture_set_environment(f, row, k, kernels[i / 2]);
                }
            }
            fixture_build(f, RUN_SUCCEEDED);
        }
        fixture_history_init(&parts[i], f->result, usual);
        for (size_t k = 0; k < FIXTURE_HISTORY; k++) {
            struct result *r = &parts[i].results[k];
            list[i * FIXTURE_HISTORY + k + (i >= 2)] = r;
        }
    }
    _cleanup_(fixture_done) struct fixture empty;
    make_run(&empty, "empty", 3, (const double[]){40, 70, 120, 0}, 0);
    list[2 * FIXTURE_HISTORY] = empty.result;
    struct run_history h;
    history_of(&h, list, N_ROWS(list), NULL);
    assert_int_equal(h.entries.len, 20);
    assert_int_equal(h.skipped.len, 1);
    assert_string_equal(h.skipped.items[0], "empty");
    assert_int_equal(h.changes.len, 1);
    const struct run_history_change *change = &h.changes.items[0];
    assert_int_equal(change->at, 10);
    assert_true(fabs(change->ratio - 0.9) < 1e-3);
    assert_true(change->p <= 0.01);
    assert_int_equal(h.entries.items[9].level, 0);
    assert_int_equal(h.entries.items[10].level, 1);
    assert_int_equal(change->differences.len, 1);
    assert_string_equal(change->differences.items[0].what, "kernel");
    assert_string_equal(change->differences.items[0].base, "6.1.0");
    assert_string_equal(change->differences.items[0].candidate, "6.2.0");
    run_history_done(&h);
    for (size_t i = 0; i < 4; i++) {
        fixture_history_done(&parts[i]);
    }
    fixture_done(&runs[0]);
    fixture_done(&runs[1]);
}
