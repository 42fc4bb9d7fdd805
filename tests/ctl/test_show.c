/* The exit code that a result stands for. */
#include "tests/test.h"
#include "ctl/runs/show.h"

TEST(test_exit_codes)
{
    static const struct {
        const char *name;
        enum run_phase phase;
        enum threshold_verdict first, second;
        size_t n_succeeded; /* of the point's two trials */
        enum exit_code code;
    } rows[] = {
        {"all met", RUN_SUCCEEDED, THRESHOLD_PASSED, THRESHOLD_PASSED, 2, EXIT_OK},
        {"the first missed", RUN_SUCCEEDED, THRESHOLD_FAILED, THRESHOLD_PASSED, 2, EXIT_THRESHOLD},
        {"the last missed", RUN_SUCCEEDED, THRESHOLD_PASSED, THRESHOLD_FAILED, 2, EXIT_THRESHOLD},
        {"not measured", RUN_SUCCEEDED, THRESHOLD_UNKNOWN, THRESHOLD_PASSED, 2, EXIT_THRESHOLD},
        {"failed", RUN_FAILED, THRESHOLD_PASSED, THRESHOLD_PASSED, 0, EXIT_RUN_FAILED},
        {"partially failed", RUN_PARTIALLY_FAILED, THRESHOLD_PASSED, THRESHOLD_PASSED, 1,
         EXIT_RUN_FAILED},
        {"failed and missed", RUN_FAILED, THRESHOLD_FAILED, THRESHOLD_PASSED, 0, EXIT_RUN_FAILED},
        {"cancelled", RUN_CANCELLED, THRESHOLD_PASSED, THRESHOLD_PASSED, 1, EXIT_OK},
        {"cancelled and missed", RUN_CANCELLED, THRESHOLD_FAILED, THRESHOLD_PASSED, 1,
         EXIT_THRESHOLD},
        {"succeeded without a number of every trial", RUN_SUCCEEDED, THRESHOLD_PASSED,
         THRESHOLD_PASSED, 1, EXIT_RUN_FAILED},
    };
    struct run_def def = {.matrix = {.n_points = 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct threshold_result thresholds[] = {{.verdict = rows[i].first},
                                                {.verdict = rows[i].second}};
        struct attempt_row attempts[2];
        struct trial_result trials[2];
        for (size_t t = 0; t < 2; t++) {
            const bool is_good = t < rows[i].n_succeeded;
            attempts[t] =
                (struct attempt_row){.outcome = is_good ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED};
            trials[t] = (struct trial_result){.row = &attempts[t]};
        }
        struct point_result point = {
            .trials = trials, .n_trials = 2, .n_required = 2, .n_succeeded = rows[i].n_succeeded};
        const struct result result = {.def = &def,
                                      .phase = rows[i].phase,
                                      .points = &point,
                                      .thresholds = {.items = thresholds, .len = 2}};
        const enum exit_code code = show_exit_code(&result);
        if (code != rows[i].code) {
            fail_msg("%s: expected exit %d, got %d", rows[i].name, (int)rows[i].code, (int)code);
        }
    }
}

/* Who narrows a sweep still gets exit 0: the tables say what was not judged. */
TEST(test_skipped_thresholds)
{
    const struct run_def def = {0};
    const struct threshold skipped = {0}, *skips[] = {&skipped};
    struct threshold_result judged = {.verdict = THRESHOLD_PASSED};
    struct result result = {
        .def = &def, .phase = RUN_SUCCEEDED, .skipped = {.items = skips, .len = 1}};
    assert_int_equal(show_exit_code(&result), EXIT_OK);
    result.thresholds.items = &judged;
    result.thresholds.len = 1;
    assert_int_equal(show_exit_code(&result), EXIT_OK);
    judged.verdict = THRESHOLD_UNKNOWN;
    assert_int_equal(show_exit_code(&result), EXIT_THRESHOLD);
}
