#include <math.h>

#include "tests/test.h"
#include "../golden.h"
#include "base/buf.h"
#include "stats/change_points.h"
#include "result/choice.h"
#include "result/phases.h"
#include "result/noise.h"
#include "stats/paired.h"
#include "result/replicas.h"
#include "stats/stats.h"
#include "stats/warmup_test.h"

/* docs/numbers.md works examples by hand. Each figure is written here anew from what the code
 * computes, and must be on the page. That of a law is in tests/report/test_curves.c. */
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
    on_the_page(page, xasprintf("74 and 75 give %.2f to %.2f.", ranks.low, ranks.high));
}

static void time_to_accuracy(const char *page)
{
    static const double seconds[] = {212.4, 220.1, 215.0};
    const struct estimate e = stats_median(seconds, 3);
    on_the_page(page, xasprintf("median, %.1f s, with the interval", e.value));
    static const double two_trainers[] = {118.9, 121.5, 120.0};
    const struct estimate two = stats_median(two_trainers, 3), s = stats_ratio(&e, &two, 1);
    on_the_page(page, xasprintf("%.1f / %.1f = %.4f; efficiency %.4f / 2 = %.1f%%.", e.value,
                                two.value, s.value, s.value, 100 * s.value / 2));
    const double t = (log(s.high) - s.logs.value) / sqrt(s.logs.variance);
    on_the_page(page, xasprintf("exp(%.5f -+ %.4f x %.6f) = %.4f .. %.4f", s.logs.value, t,
                                sqrt(s.logs.variance), s.low, s.high));
    on_the_page(page, xasprintf("0.2 x 4 / 3600 x %.1f = %.5f", e.value, 0.2 * 4 / 3600 * e.value));
}

static void ratios(const char *page)
{
    const struct estimate x = stats_median(point, 3), one = stats_median(baseline, 3);
    const struct estimate s = stats_ratio(&x, &one, 1);
    on_the_page(page, xasprintf("%.2f / %.1f = %.4f; efficiency is speedup / trainers: %.1f%%.",
                                x.value, one.value, s.value, 100 * s.value));
    const double t = (log(s.high) - s.logs.value) / sqrt(s.logs.variance);
    on_the_page(page, xasprintf("exp(%.5f -+ %.4f x %.6f) = %.4f .. %.4f", s.logs.value, t,
                                sqrt(s.logs.variance), s.low, s.high));
}

static void adjusted(const char *page)
{
    static const double all[] = {0.004, 0.03, 0.2};
    double p[3];
    significance_adjust(all, 3, p);
    on_the_page(page, xasprintf("%.3f, %.3f and %.3f.", p[0], p[1], p[2]));
}

static void points_that_stop_early(const char *page)
{
    const double first[] = {98, 100, 102, 101, 99};
    const struct estimate e = stats_two_stage(first, 5, 0.0004001200380571163, 3);
    on_the_page(page, xasprintf("%.0f exp(-%.5f) = %.2f        100 exp(%.5f) = %.2f", e.value,
                                log(e.high / e.value), e.low, log(e.high / e.value), e.high));
}

static void two_values_in_one_run(const char *page)
{
    static const double base[] = {100.0, 104.0, 98.0}, candidate[] = {97.0, 101.5, 95.2};
    double d[3];
    for (size_t i = 0; i < 3; i++) {
        d[i] = log(candidate[i] / base[i]);
        on_the_page(page,
                    xasprintf("| %zu | %.1f | %.1f | %.5f |\n", i, base[i], candidate[i], d[i]));
    }
    const struct paired p = paired_test_staged(d, 3, 3);
    const struct estimate ratio = paired_ratio(&p);
    on_the_page(page, xasprintf("mean d = %.5f, s = %.5f        ratio = exp(%.5f) = %.4f\n", p.mean,
                                p.sd, p.mean, ratio.value));
    on_the_page(page, xasprintf("= %.2f        p = %.4f, at most 0.02: slower by %.1f%%", p.t, p.p,
                                100 * (1 - ratio.value)));
}

/* Eight runs are too few to name a change, twelve are not. */
static void a_history(const char *page)
{
    static const double eight[] = {4.60, 4.61, 4.59, 4.62, 4.50, 4.51, 4.49, 4.52},
                        twelve[] = {4.60, 4.61, 4.59, 4.62, 4.60, 4.61,
                                    4.50, 4.51, 4.49, 4.52, 4.50, 4.51};
    struct change_points found;
    change_points_find(eight, 8, 0.02, &found);
    assert_int_equal(found.list.len, 0); /* p is 2.9% or more */
    change_points_done(&found);
    change_points_find(twelve, 12, CHANGE_POINTS_ALPHA, &found);
    assert_int_equal(found.list.len, 1);
    assert_int_equal(found.list.items[0].at, 6);
    change_points_done(&found);
    on_the_page(page, xasprintf("exp(4.505 - 4.605) - 1 = %.1f%%.", 100 * expm1(4.505 - 4.605)));
}

/* Three trials show no change at 0.01, four do. */
static void where_steps_settle(const char *page)
{
    static const double steps[] = {130, 124, 101, 100, 102, 99, 103, 98};
    static const double *const trials[] = {steps, steps, steps, steps};
    assert_false(warmup_test_find(trials, 3, 8, 0.0126, 0.02).has_change); /* p is 0.0127 */
    assert_true(warmup_test_find(trials, 3, 8, 0.0128, 0.02).has_change);
    assert_false(warmup_test_find(trials, 4, 8, 0.0019, 0.02).has_change); /* 0.0020 */
    const struct warmup_change s = warmup_test_find(trials, 4, 8, 0.0021, 0.02);
    assert_true(s.has_change);
    assert_int_equal(s.at, 2);
    on_the_page(page, xasprintf("ln(127 / 100.5) = %.3f, more than 2%%", s.change));
}

static void two_runs(const char *page)
{
    static const double base[] = {4.60, 4.62, 4.59, 4.61};
    const struct paired b = run_spread_test(base, 4, 4.55);
    on_the_page(page, xasprintf("p = %.3f. %.1f%% slower, but four runs that deviate by %.1f%% ",
                                b.p, -100 * expm1(b.mean), 100 * expm1(b.sd)));
}

static void what_would_help(const char *page)
{
    const struct limit limit = limit_find(&(struct limit_facts){
        .n_trainers = 4, .n_servers = 1, .step_s = 500, .exposed_s = 200, .server_busy_s = 300});
    assert_int_equal(limit.kind, LIMIT_SERVER_CPU);
    on_the_page(page, xasprintf("n = 2.4: with %.0f servers", limit.advice));
}

/* A node's excess at three points, as a mean of logs. */
static void slower_beyond_chance(const char *page)
{
    const double points[] = {log(1.12), log(1.14), log(1.13)};
    const struct contrast c = significance_mean(&(struct sample){points, 3});
    const double p = student_two_sided(c.value / sqrt(c.variance), c.df);
    on_the_page(page, xasprintf("p = %.4f, of\nthree nodes %.4f: slow", p, 3 * p));
}

TEST(the_page_is_worked_right)
{
    _cleanup_(freep) char *page = golden_read("docs/numbers.md");
    throughput(page);
    time_to_accuracy(page);
    ratios(page);
    adjusted(page);
    points_that_stop_early(page);
    two_values_in_one_run(page);
    two_runs(page);
    a_history(page);
    where_steps_settle(page);
    what_would_help(page);
    slower_beyond_chance(page);
}

TEST(a_series_keeps_means)
{
    int64_t ns[600];
    for (int64_t i = 0; i < 600; i++) {
        ns[i] = (1000 + i) * 1000;
    }
    _cleanup_(summary_drop_series) struct summary s = {0};
    summary_set_series(&s, ns, 600);
    s.series.k = 4;
    struct step_series m = step_series_of(&s);
    assert_int_equal(m.n, 200);
    assert_int_equal(m.k, 12);
    assert_true(fabs(m.us[0] / 1001 - 1) < 2e-4 && fabs(m.us[199] / 1598 - 1) < 2e-4);
    step_series_done(&m);
    s.series.n = 256;
    m = step_series_of(&s);
    assert_true(m.n == 256 && m.k == 4 && fabs(m.us[255] / 1255 - 1) < 2e-4);
    step_series_done(&m);
    s.series.n = 0;
    m = step_series_of(&s);
    assert_int_equal(m.n, 0);
    assert_null(m.us);
}
