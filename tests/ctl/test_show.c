/* The exit code that a result stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/show.h"

static void test_exit_codes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum run_phase phase;
        enum threshold_verdict first, second;
        enum exit_code code;
    } rows[] = {
        {"all met", RUN_SUCCEEDED, THRESHOLD_PASSED, THRESHOLD_PASSED, EXIT_OK},
        {"the first missed", RUN_SUCCEEDED, THRESHOLD_FAILED, THRESHOLD_PASSED, EXIT_THRESHOLD},
        {"the last missed", RUN_SUCCEEDED, THRESHOLD_PASSED, THRESHOLD_FAILED, EXIT_THRESHOLD},
        {"not measured is not passed", RUN_SUCCEEDED, THRESHOLD_UNKNOWN, THRESHOLD_PASSED,
         EXIT_THRESHOLD},
        {"failed", RUN_FAILED, THRESHOLD_PASSED, THRESHOLD_PASSED, EXIT_RUN_FAILED},
        {"partially failed", RUN_PARTIALLY_FAILED, THRESHOLD_PASSED, THRESHOLD_PASSED,
         EXIT_RUN_FAILED},
        {"failed and missed", RUN_FAILED, THRESHOLD_FAILED, THRESHOLD_PASSED, EXIT_RUN_FAILED},
        {"cancelled and missed", RUN_CANCELLED, THRESHOLD_FAILED, THRESHOLD_PASSED, EXIT_THRESHOLD},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct threshold_result thresholds[] = {{.verdict = rows[i].first},
                                                {.verdict = rows[i].second}};
        struct point_result point = {.n_succeeded = 3, .n_trials = 3};
        const struct run_def def = {.matrix = {.n_points = 1}};
        const struct result result = {.def = &def,
                                      .phase = rows[i].phase,
                                      .points = &point,
                                      .thresholds = {.items = thresholds, .len = 2}};
        const enum exit_code code = show_exit_code(&result);
        if (code != rows[i].code) {
            fail_msg("%s: expected exit %d, got %d", rows[i].name, (int)rows[i].code, (int)code);
        }
        point.n_succeeded = 2; /* as an older benchd may have stored it */
        if (rows[i].phase == RUN_SUCCEEDED) {
            assert_int_equal(show_exit_code(&result), EXIT_RUN_FAILED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exit_codes)};
    return cmocka_run_group_tests_name("show", tests, NULL, NULL);
}
