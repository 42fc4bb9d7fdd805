/* Two costs out of measured sums. */
#include <math.h>

#include "tests/test.h"
#include "predict/fit.h"

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

TEST(costs_are_fitted)
{
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const struct fit got = fit_costs(cases[i].rows, cases[i].n);
        if (!(fabs(got.a - cases[i].want.a) < 1e-12 && fabs(got.b - cases[i].want.b) < 1e-12)) {
            fail_msg("%s: %g and %g, expected %g and %g", cases[i].name, got.a, got.b,
                     cases[i].want.a, cases[i].want.b);
        }
    }
}
