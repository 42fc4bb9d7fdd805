/* Two costs out of measured sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict/fit.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *name;
    struct fit_row rows[3];
    size_t n;
    struct fit want;
} cases[] = {
    {"none", {{0}}, 0, {0, 0}},
    {"two unknowns", {{0, 8, 24}, {16, 4, 44}}, 2, {2, 3}},
    {"more rows than unknowns", {{0, 8, 24}, {16, 4, 44}, {24, 2, 54}}, 3, {2, 3}},
    {"the mean of what differs", {{1, 0, 1}, {1, 0, 3}, {0, 2, 2}}, 3, {2, 1}},
    {"one row", {{4, 2, 12}}, 1, {3, 0}},
    {"rows that say the same", {{4, 2, 12}, {8, 4, 24}}, 2, {3, 0}},
    {"no bytes", {{0, 5, 10}}, 1, {0, 2}},
    {"no cost is negative", {{1, 0, 2}, {1, 1, 1}}, 2, {1.5, 0}},
    {"nor the other one", {{0, 1, 2}, {1, 1, 1}}, 2, {0, 1.5}},
    {"nothing was needed", {{1, 1, 0}, {2, 1, 0}}, 2, {0, 0}},
};

static void costs_are_fitted(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const struct fit got = fit_costs(cases[i].rows, cases[i].n);
        if (!(fabs(got.a - cases[i].want.a) < 1e-12 && fabs(got.b - cases[i].want.b) < 1e-12)) {
            fail_msg("%s: %g and %g, expected %g and %g", cases[i].name, got.a, got.b,
                     cases[i].want.a, cases[i].want.b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_are_fitted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
