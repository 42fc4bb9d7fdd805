/* A benchmark over time, compare/run_history.h. */
#include "tests/test.h"
#include "compare/run_history.h"

#include <math.h>

#include "result_fixture.h"

/* Points of 60 and 90 samples/s, times a factor: of one point its figure, of both sqrt(60 * 90). */
TEST(figures_of_runs)
{
    static const double factors[FIXTURE_HISTORY] = {1, 1.1, 0.9, 2, 0.5};
    static const uint32_t second = 1;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n", 0);
    fixture_throughput(&f, 0, 0, 60);
    fixture_throughput(&f, 1, 0, 90);
    fixture_build(&f, RUN_SUCCEEDED);
    struct fixture_history history;
    fixture_history_init(&history, f.result, factors);
    for (size_t k = 0; k < FIXTURE_HISTORY; k++) {
        history.results[k].points[0].throughput.estimate.value *= factors[k];
        history.results[k].points[1].throughput.estimate.value *= factors[k];
    }
    for (int i = 0; i < 2; i++) {
        const double figure = i == 0 ? sqrt(60 * 90) : 90;
        struct run_history h;
        run_history_init(&h, history.list, FIXTURE_HISTORY, i == 0 ? NULL : &second);
        assert_int_equal(h.entries.len, FIXTURE_HISTORY);
        for (size_t k = 0; k < h.entries.len; k++) {
            print_message("# %s, run %zu: %g\n", i == 0 ? "all" : "one", k,
                          h.entries.items[k].value);
            assert_true(fabs(h.entries.items[k].value / (figure * factors[k]) - 1) < 1e-6);
        }
        run_history_done(&h);
    }
    fixture_history_done(&history);
    fixture_done(&f);
}
