#include <math.h>

#include "tests/test.h"
#include "../golden.h"
#include "base/buf.h"
#include "stats/student.h"
#include "stats/change_points.h"
#include "result/choice.h"
#include "result/phases.h"
#include "result/outlier.h"
#include "stats/paired.h"
#include "result/steps.h"
#include "stats/stats.h"
#include "stats/warmup_test.h"

/* docs/numbers.md and worked.txt work examples by hand. Each line is written here anew from what
 * the code computes, and must be in one of them. The example of the USL is in test_scaling.c. */
static void on_the_page(const char *page, char *line_take)
{
    _cleanup_(freep) char *line = line_take;
    if (strstr(page, line) == NULL) {
        fail_msg("docs/numbers.md and tests/result/worked.txt do not have: %s", line);
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

static void time_to_accuracy(const char *page)
{
    static const double seconds[] = {212.4, 220.1, 215.0};
    const struct estimate e = stats_median(seconds, 3);
    const double m = e.logs.value, half = log(e.high) - m;
    on_the_page(page, xasprintf("median, %.1f s, with the interval", e.value));
    on_the_page(page, xasprintf("m = %.5f, s = ", m));
    on_the_page(page,
                xasprintf("= %.5f        exp(m -+ half) = %.1f .. %.1f", half, e.low, e.high));
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
    on_the_page(page, xasprintf("= %.3f        t(0.975, df) = %.4f", s.logs.df, t));
    on_the_page(page, xasprintf("exp(%.5f -+ %.4f x %.6f) = %.4f .. %.4f", s.logs.value, t,
                                sqrt(s.logs.variance), s.low, s.high));
}

static void geometric_mean(const char *page)
{
    const struct estimate ratios[] = {
        {.known = true,
         .value = exp(-0.22566),
         .has_interval = true,
         .logs = {.value = -0.22566, .variance = 0.00004744, .df = 2.869}},
        {.known = true,
         .value = exp(-0.10536),
         .has_interval = true,
         .logs = {.value = -0.10536, .variance = 0.00003, .df = 3.2}},
    };
    const struct estimate e = stats_geomean(ratios, 2);
    const double t = (log(e.high) - e.logs.value) / sqrt(e.logs.variance);
    on_the_page(page, xasprintf("= %.2f        t(0.975, df) = %.4f", e.logs.df, t));
    on_the_page(page, xasprintf("exp(%.5f -+ %.4f x %.4f) = %.4f .. %.4f", e.logs.value, t,
                                sqrt(e.logs.variance), e.low, e.high));
}

static void permutations(const char *page)
{
    static const double a[] = {103, 102, 101, 100}, b[] = {99, 98, 97, 96};
    const struct stratum four = {{a, 4}, {b, 4}}, three[] = {{{a, 3}, {b, 3}}, {{a, 3}, {b, 3}}};
    struct permutation p = significance_permute(&four, 1, 1);
    on_the_page(page, xasprintf("p = 2 / %d = %.3f", (int)p.n_arrangements, p.p));
    p = significance_permute(three, 1, 1);
    on_the_page(page, xasprintf("2 / %d = %.3f at best", (int)p.n_arrangements, p.p));
    p = significance_permute(three, 2, 1);
    on_the_page(page, xasprintf("4 / %d = %.3f", (int)p.n_arrangements, p.p));
}

static void adjusted(const char *page)
{
    static const double all[] = {0.004, 0.03, 0.2}, pairs[] = {0.0012, 0.03};
    double p[3];
    significance_adjust(all, 3, p);
    on_the_page(page, xasprintf("%.3f, %.3f and %.3f.", p[0], p[1], p[2]));
    paired_adjust(pairs, 2, p);
    on_the_page(page, xasprintf("%.4f, which is named, and %.4f.", 2 * p[0], 2 * p[1]));
}

/* Half the interval of a sum, as Student's with this variance and df. */
static double half_of(const char *page, double variance, double df)
{
    const double t = student_quantile(df, 0.05), half = t * sqrt(variance);
    on_the_page(page, xasprintf("%.4f x sqrt(v) = %.4f\n", t, half));
    return half;
}

static void points_that_stop_early(const char *page)
{
    double many[44];
    for (size_t i = 0; i < 44; i++) {
        many[i] = 50;
    }
    const double first[] = {98, 100, 102, 101, 99}, variance = 0.0004001200380571163;
    const struct estimate e = stats_two_stage(first, 5, variance, 3),
                          base = stats_two_stage(many, 44, 0.0036, 3);
    on_the_page(page, xasprintf("%.0f exp(-%.5f) = %.2f        100 exp(%.5f) = %.2f", e.value,
                                log(e.high / e.value), e.low, log(e.high / e.value), e.high));
    const struct estimate ratio = stats_ratio(&e, &base, 1);
    const struct uncertainty wider = significance_uncertainty(&ratio.logs);
    on_the_page(page, xasprintf("v = %.8f        df = %.3f", ratio.logs.variance, ratio.logs.df));
    (void)half_of(page, ratio.logs.variance, ratio.logs.df);
    on_the_page(page, xasprintf("= %.8f        df = 2 + 2", wider.variance));
    const double half = half_of(page, wider.variance, wider.df);
    on_the_page(page, xasprintf("2 exp(-%.4f) = %.3f        2 exp(%.4f) = %.3f", half, ratio.low,
                                half, ratio.high));
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
    on_the_page(page, xasprintf("%.5f        %.4f .. %.4f\n", log(ratio.high) - p.mean, ratio.low,
                                ratio.high));
    on_the_page(page, xasprintf("= %.2f        p = %.4f, at most 0.01: slower by %.1f%%", p.t, p.p,
                                100 * (1 - ratio.value)));
    on_the_page(page, xasprintf("= %.4f, above 0.95: yes", exp(paired_low_95(&p))));
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

/* The ranks of the eight steps, and the verdict: three trials show no change at 0.01, four do. */
static void where_steps_settle(const char *page)
{
    static const double steps[] = {130, 124, 101, 100, 102, 99, 103, 98};
    static const double *const trials[] = {steps, steps, steps, steps};
    struct buf scores = {0};
    for (size_t i = 0; i < 8; i++) {
        double rank = 1;
        for (size_t k = 0; k < 8; k++) {
            rank += steps[k] < steps[i] ? 1 : 0;
        }
        buf_printf(&scores, "  %.3f", warmup_test_normal_quantile(rank / 9));
    }
    on_the_page(page, buf_take(&scores));
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
    const struct run_spread b = run_spread_test(base, 4, 4.55);
    on_the_page(page, xasprintf("= %.2f, df = %.0f        p = %.3f", b.t, b.df, b.p));
    on_the_page(page, xasprintf("%.1f%% slower, but four runs that deviate by %.1f%% ",
                                -100 * expm1(b.difference), 100 * expm1(b.sd)));
}

static void how_many_trials(const char *page)
{
    static const double base[] = {100.0, 104.0, 98.0}, candidate[] = {97.0, 101.5, 95.2};
    static const size_t needed[] = {4, 3, 2};
    double d[3];
    for (size_t i = 0; i < 3; i++) {
        d[i] = log(candidate[i] / base[i]);
        assert_int_equal(significance_values_needed(i + 1, 0.05), needed[i]);
    }
    const struct paired p = paired_test_staged(d, 3, 3);
    on_the_page(
        page, xasprintf("%.5f - %.5f = %.5f of the mean", -log(0.97), -p.mean, p.mean - log(0.97)));
    on_the_page(page, xasprintf("= %.5f: %zu\n", student_quantile(6, 0.1) * p.sd / sqrt(7),
                                paired_n_above(&p, log(0.97))));
}

static void what_would_help(const char *page)
{
    static const struct {
        struct limit_facts facts; /* in ms: only ratios count */
        enum limit_kind kind;
        const char *text;
    } rows[] = {
        {{.n_trainers = 4, .n_servers = 1, .step_s = 500, .exposed_s = 25, .server_busy_s = 100},
         LIMIT_COMPUTE,
         "4 x 0.8 / (100 / 500) = %.0f trainers"},
        {{.n_trainers = 4, .n_servers = 1, .step_s = 500, .exposed_s = 200, .server_busy_s = 300},
         LIMIT_SERVER_CPU,
         "n = 2.4: with %.0f servers"},
        {{.n_trainers = 4, .n_servers = 2, .step_s = 500, .exposed_s = 200, .server_busy_s = 100},
         LIMIT_SERVER_LINK,
         "2 x 2 = %.0f servers"},
        {{.n_trainers = 2, .n_servers = 2, .step_s = 500, .exposed_s = 200, .server_busy_s = 100},
         LIMIT_TRAINER_LINK,
         "200 x 0.9 / 0.1 / 300 = %.0f times the batch"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct limit limit = limit_find(&rows[i].facts);
        assert_int_equal(limit.kind, rows[i].kind);
        _cleanup_(freep) char *number = xasprintf("%.0f", limit.advice);
        const char *at = strstr(rows[i].text, "%.0f");
        on_the_page(page, xasprintf("%.*s%s%s", (int)(at - rows[i].text), rows[i].text, number,
                                    at + strlen("%.0f")));
    }
    const struct limit late = limit_find(&(struct limit_facts){
        .n_trainers = 4, .n_servers = 1, .step_s = 500, .exposed_s = 200, .late_s = 120});
    assert_int_equal(late.kind, LIMIT_STRAGGLER);
    on_the_page(page, xasprintf("120 / 500 = %.0f%% of the step at most", 100 * late.advice));
}

static void trials_that_stand_out(const char *page)
{
    static const double values[] = {100, 101, 99, 80};
    struct trial_result trials[4] = {{0}};
    for (size_t i = 0; i < 4; i++) {
        trials[i] = (struct trial_result){
            .trial = (uint32_t)i,
            .phase = TRIAL_SUCCEEDED,
            .throughput = values[i],
        };
    }
    const struct outlier far =
        outlier_find(&(struct point_result){.trials = trials, .n_trials = 4, .n_succeeded = 4});
    assert_true(far.found && far.trial == 3);
    on_the_page(page, xasprintf("80 is %.1f%% below 100", -100 * far.change));
    assert_false(/* 101, 99 and 80 */
                 outlier_find(
                     &(struct point_result){.trials = trials + 1, .n_trials = 3, .n_succeeded = 3})
                     .found);
}

/* Means of three logs beside 0: halves of steps, and a node's points. */
static void slower_beyond_chance(const char *page)
{
    static const double halves[] = {0.06, 0.07, 0.08};
    const double points[] = {log(1.12), log(1.14), log(1.13)};
    struct contrast c = significance_mean(&(struct sample){halves, 3});
    double t = c.value / sqrt(c.variance), p = student_two_sided(t, c.df);
    on_the_page(page, xasprintf("= %.2f, df = %.0f        p = %.4f, at most 0.05", t, c.df, p));
    on_the_page(page, xasprintf("p counts eight times: %.4f, and", 8 * p));
    c = significance_mean(&(struct sample){points, 3});
    t = c.value / sqrt(c.variance);
    p = student_two_sided(t, c.df);
    on_the_page(page, xasprintf("= %.5f        s = %.5f        exp(m) - 1 = %.1f%%\n", c.value,
                                sqrt(3 * c.variance), 100 * expm1(c.value)));
    on_the_page(page, xasprintf("= %.2f, df = %.0f        p = %.4f\n", t, c.df, p));
    on_the_page(page, xasprintf("p counts three times: %.4f, at most 0.05", 3 * p));
}

static void contradicted(const char *page)
{
    const double f = 0.0030 / (0.0010 / 6);
    on_the_page(page,
                xasprintf("= %.4f        F = 0.0030 / (0.0010 / 6) = %.1f\n", sqrt(0.0040 / 7), f));
    const double p = student_incomplete_beta(6.0 / 2, 1.0 / 2, 6 / (6 + f)); /* as misfit_of() */
    assert_true(fabs(student_two_sided(sqrt(f), 6) - p) < 1e-12);
    on_the_page(page, xasprintf("sqrt(%.1f) = %.3f with 6: p = %.4f, at most 0.01", f, sqrt(f), p));
}

TEST(the_page_is_worked_right)
{
    _cleanup_(freep) char *numbers = golden_read("docs/numbers.md");
    _cleanup_(freep) char *more = golden_read("tests/result/worked.txt");
    _cleanup_(freep) char *page = xasprintf("%s%s", numbers, more);
    throughput(page);
    time_to_accuracy(page);
    ratios(page);
    geometric_mean(page);
    permutations(page);
    adjusted(page);
    points_that_stop_early(page);
    two_values_in_one_run(page);
    two_runs(page);
    a_history(page);
    where_steps_settle(page);
    how_many_trials(page);
    what_would_help(page);
    trials_that_stand_out(page);
    slower_beyond_chance(page);
    contradicted(page);
}

TEST(a_series_keeps_means)
{
    double us[600];
    for (size_t i = 0; i < 600; i++) {
        us[i] = (double)i;
    }
    struct summary s = {.series_us = us, .n_series = 600, .series_k = 4};
    struct step_series m = step_series_of(&s);
    assert_int_equal(m.n, 200);
    assert_int_equal(m.k, 12);
    assert_true(m.us[0] == 1 && m.us[199] == 598);
    step_series_done(&m);
    s.n_series = 256;
    m = step_series_of(&s);
    assert_true(m.n == 256 && m.k == 4 && m.us[255] == 255);
    step_series_done(&m);
    s.n_series = 0;
    m = step_series_of(&s);
    assert_int_equal(m.n, 0);
    assert_null(m.us);
}
