#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/threshold.h"

#include <math.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static void verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct threshold threshold;
        double value;
        enum threshold_verdict verdict;
    } rows[] = {
        {"above min", {.has_min = true, .min = 0.9}, 0.95, THRESHOLD_PASSED},
        {"at min", {.has_min = true, .min = 0.9}, 0.9, THRESHOLD_PASSED},
        {"below min", {.has_min = true, .min = 0.9}, 0.89, THRESHOLD_FAILED},
        {"at max", {.has_max = true, .max = 2}, 2, THRESHOLD_PASSED},
        {"above max", {.has_max = true, .max = 2}, 2.01, THRESHOLD_FAILED},
        {"max alone does not read min", {.has_max = true, .min = 1, .max = 2}, 0, THRESHOLD_PASSED},
        {"between", {.has_min = true, .has_max = true, .min = 1, .max = 2}, 1.5, THRESHOLD_PASSED},
        {"under both", {.has_min = true, .has_max = true, .min = 1, .max = 2}, 0, THRESHOLD_FAILED},
        {"over both", {.has_min = true, .has_max = true, .min = 1, .max = 2}, 3, THRESHOLD_FAILED},
        {"not measured", {.has_min = true, .min = 0.9}, NAN, THRESHOLD_UNKNOWN},
        {"not measured, max", {.has_max = true, .max = 0.9}, NAN, THRESHOLD_UNKNOWN},
        {"zero speedup", {.has_min = true, .min = 0}, 0, THRESHOLD_PASSED},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(threshold_judge(&rows[i].threshold, rows[i].value), rows[i].verdict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts)};
    return cmocka_run_group_tests_name("result/threshold", tests, NULL, NULL);
}
