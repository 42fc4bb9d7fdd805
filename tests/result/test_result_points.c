#include "tests/test.h"
#include "result/result.h"

#include <math.h>

#include "core/summary.h"
#include "result/result_json.h"
#include "result_fixture.h"

#define ONE_POINT "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

TEST(phases_of_a_point)
{
    static const struct {
        const char *name;
        int succeeded, failed, unavailable;
        enum run_phase run_phase;
        enum trial_phase phase;
    } rows[] = {
        {"nothing", 0, 0, 0, RUN_RUNNING, TRIAL_PENDING},
        {"begun", 1, 0, 0, RUN_RUNNING, TRIAL_RUNNING},
        {"begun and cancelled", 1, 0, 0, RUN_CANCELLED, TRIAL_PENDING},
        {"all", 3, 0, 0, RUN_SUCCEEDED, TRIAL_SUCCEEDED},
        {"one failed", 1, 1, 1, RUN_PARTIALLY_FAILED, TRIAL_FAILED},
        {"one without metrics", 2, 0, 1, RUN_PARTIALLY_FAILED, TRIAL_METRICS_UNAVAILABLE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 3}\n", 8);
        uint32_t trial = 0;
        for (int j = 0; j < rows[i].succeeded; j++) {
            fixture_throughput(&f, 0, trial++, 80);
        }
        for (int j = 0; j < rows[i].failed; j++) {
            fixture_end(&f, 0, trial++, 0, ATTEMPT_FAILED, "x");
        }
        for (int j = 0; j < rows[i].unavailable; j++) {
            fixture_end(&f, 0, trial++, 0, ATTEMPT_METRICS_UNAVAILABLE, "x");
        }
        const struct point_result *p = &fixture_build(&f, rows[i].run_phase)->points[0];
        assert_string_equal(trial_phase_to_string(p->phase), trial_phase_to_string(rows[i].phase));
        assert_int_equal(p->n_succeeded, rows[i].succeeded);
    }
}

/* Of at most ten trials as many as the first three ask for; a cancellation may end the
 * run before. */
TEST(points_that_stop_early)
{
    /* clang-format off */
    static const struct {
        const char *name;
        double x[6]; /* of the trials; 0: it failed */
        size_t n, n_trials, n_required;
        bool is_complete, is_given_up;
        enum interval_method method;
    } rows[] = {
        {"enough", {100, 100.5, 101}, 3, 3, 3, true, false, INTERVAL_TWO_STAGE_LOG},
        {"five are needed", {98, 100, 102, 101, 99}, 5, 5, 3, true, false, INTERVAL_TWO_STAGE_LOG},
        {"cut short, with those that the definition asks for", {98, 100, 102}, 3, 5, 3, true, false,
         INTERVAL_TWO_STAGE_LOG},
        {"cut short before", {98, 100}, 2, 10, 3, false, false, INTERVAL_NONE},
        {"a failed one is made up for", {98, 0, 100, 102, 101, 99}, 6, 6, 3, false, false,
         INTERVAL_TWO_STAGE_LOG},
        {"nothing", {0}, 0, 10, 3, false, false, INTERVAL_NONE},
        {"all failed", {0, 0}, 2, 10, 3, false, true, INTERVAL_NONE},
        {"one is a success", {0, 98, 0, 0}, 4, 10, 3, false, false, INTERVAL_NONE},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT,
                     SINGLE_NODE
                     "  repeats: {min: 3, max: 10, stopWhen: {relativeHalfWidth: \"0.05\"}}\n",
                     8);
        for (uint32_t t = 0; t < rows[i].n; t++) {
            if (rows[i].x[t] > 0) {
                const struct attempt_row *row = fixture_throughput(&f, 0, t, rows[i].x[t]);
                /* Decisions and tables have the same figure. */
                const double x = throughput_of_attempt(row, f.def->matrix.points[0].replicas);
                assert_true(fabs(x - rows[i].x[t]) < 1e-6);
            } else {
                fixture_end(&f, 0, t, 0, ATTEMPT_FAILED, "x");
            }
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *p = &r->points[0];
        assert_int_equal(p->n_trials, rows[i].n_trials);
        assert_int_equal(p->n_required, rows[i].n_required);
        assert_int_equal(point_result_is_complete(p), rows[i].is_complete);
        assert_int_equal(point_result_is_given_up(p), rows[i].is_given_up);
        assert_int_equal(p->throughput.estimate.method, rows[i].method);
        _cleanup_(json_decrefp) json_t *o = result_to_json(r);
        const json_t *measure = json_object_get(o, "measure");
        assert_int_equal(json_integer_value(json_object_get(measure, "repeats")), 3);
        assert_int_equal(json_integer_value(json_object_get(measure, "maxRepeats")), 10);
    }
}
