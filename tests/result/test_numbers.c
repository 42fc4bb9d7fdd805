#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../golden.h"
#include "base/mem.h"
#include "result/between.h"
#include "result/stats.h"

/* The page works examples by hand; each line is written here anew from what the code computes, and must be on it. The
 * examples of one run and of models are in test_compare_axis.c and test_scaling.c. */
static void on_the_page(const char *page, char *line_take)
{
    _cleanup_(freep) char *line = line_take;
    if (strstr(page, line) == NULL) {
        fail_msg("docs/numbers.md does not have: %s", line);
    }
}

static const double point[] = {96.32, 96.91, 97.31}, baseline[] = {120.0, 121.5, 122.6};

static void throughput(const char *page)
{
    static const double six[] = {70, 71, 72, 73, 74, 75};
    const struct estimate e = stats_median(point, 3);
    const double m = e.logs.value, half = log(e.high) - m;
    on_the_page(page, xasprintf("**median** of the trials: %.2f.", e.value));
    on_the_page(page, xasprintf("exp(%.5f - %.5f) = %.2f        exp(%.5f + %.5f) = %.2f", m, half,
                                e.low, m, half, e.high));
    const struct estimate ranks = stats_median(six, 6);
    const double weight = stats_median_rank(6).weight;
    on_the_page(page,
                xasprintf("low = 70 + %.3f (71 - 70) = %.2f        high = 75 - %.3f (75 - 74) "
                          "= %.2f",
                          weight, ranks.low, weight, ranks.high));
}

static void ratios(const char *page)
{
    const struct estimate x = stats_median(point, 3), one = stats_median(baseline, 3);
    const struct estimate s = stats_ratio(&x, &one, 1);
    on_the_page(page, xasprintf("%.2f / %.1f = %.4f; efficiency is speedup / trainers: %.1f%%.",
                                x.value, one.value, s.value, 100 * s.value));
    const double t = (log(s.high) - s.logs.value) / sqrt(s.logs.variance);
    on_the_page(page, xasprintf("= %.3f        t(0.975, df) = %.4f", s.logs.df, t));
    on_the_page(page, xasprintf("exp(%.5f -+ %.4f x %.6f) = %.4f .. %.4f", s.logs.value, t,
                                sqrt(s.logs.variance), s.low, s.high));
}

static void two_runs(const char *page)
{
    static const double base[] = {4.60, 4.62, 4.59, 4.61};
    const struct between b = between_test(base, 4, 4.55);
    on_the_page(page, xasprintf("= %.2f, df = %.0f        p = %.3f", b.t, b.df, b.p));
    on_the_page(page, xasprintf("%.1f%% slower, but four runs that deviate by %.1f%% ",
                                -100 * expm1(b.difference), 100 * expm1(b.sd)));
}

static void the_page_is_worked_right(void **state)
{
    (void)state;
    _cleanup_(freep) char *page = golden_read("docs/numbers.md");
    throughput(page);
    ratios(page);
    two_runs(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_worked_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
