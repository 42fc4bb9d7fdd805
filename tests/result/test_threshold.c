#include "tests/test.h"
#include "result/threshold.h"

#include <math.h>

TEST(verdicts)
{
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
        const struct estimate e = {.known = !isnan(rows[i].value), .value = rows[i].value};
        assert_int_equal(threshold_judge(&rows[i].threshold, &e), rows[i].verdict);
    }
}

/* With a confidence the whole interval counts, and without an interval nothing is known. */
TEST(intervals)
{
    static const struct {
        const char *name;
        double min, max; /* NaN: not given */
        bool has_interval;
        double low, high; /* about 0.95 */
        enum threshold_verdict alone, whole;
    } rows[] = {
        {"inside", 0.9, NAN, true, 0.91, 0.99, THRESHOLD_PASSED, THRESHOLD_PASSED},
        {"to the bound", 0.9, NAN, true, 0.9, 0.99, THRESHOLD_PASSED, THRESHOLD_PASSED},
        {"reaching below", 0.9, NAN, true, 0.89, 0.99, THRESHOLD_PASSED, THRESHOLD_FAILED},
        {"reaching above", NAN, 1, true, 0.93, 1.01, THRESHOLD_PASSED, THRESHOLD_FAILED},
        {"high does not matter to min", 0.9, NAN, true, 0.91, 5, THRESHOLD_PASSED,
         THRESHOLD_PASSED},
        {"low does not matter to max", NAN, 1, true, 0.1, 0.99, THRESHOLD_PASSED, THRESHOLD_PASSED},
        {"none", 0.9, NAN, false, 0, 0, THRESHOLD_PASSED, THRESHOLD_UNKNOWN},
        {"none, and far below", 2, NAN, false, 0, 0, THRESHOLD_FAILED, THRESHOLD_UNKNOWN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct threshold t = {.has_min = !isnan(rows[i].min),
                              .min = rows[i].min,
                              .has_max = !isnan(rows[i].max),
                              .max = rows[i].max};
        const struct estimate e = {.known = true,
                                   .value = 0.95,
                                   .has_interval = rows[i].has_interval,
                                   .low = rows[i].low,
                                   .high = rows[i].high};
        assert_int_equal(threshold_judge(&t, &e), rows[i].alone);
        t.judges_interval = true;
        assert_int_equal(threshold_judge(&t, &e), rows[i].whole);
    }
}

TEST(all_together)
{
    static const struct {
        enum threshold_verdict verdicts[3];
        size_t n, n_skipped;
        enum threshold_verdict whole;
    } rows[] = {
        {{0}, 0, 0, THRESHOLD_PASSED},
        {{THRESHOLD_PASSED, THRESHOLD_PASSED}, 2, 0, THRESHOLD_PASSED},
        {{THRESHOLD_PASSED, THRESHOLD_UNKNOWN, THRESHOLD_PASSED}, 3, 0, THRESHOLD_UNKNOWN},
        {{THRESHOLD_UNKNOWN, THRESHOLD_FAILED, THRESHOLD_UNKNOWN}, 3, 0, THRESHOLD_FAILED},
        {{0}, 0, 1, THRESHOLD_UNKNOWN},               /* nothing was judged */
        {{THRESHOLD_PASSED}, 1, 1, THRESHOLD_PASSED}, /* what has a point was */
        {{THRESHOLD_FAILED}, 1, 1, THRESHOLD_FAILED},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct result r = {0};
        for (size_t j = 0; j < rows[i].n; j++) {
            *vec_push(&r.thresholds) = (struct threshold_result){.verdict = rows[i].verdicts[j]};
        }
        for (size_t j = 0; j < rows[i].n_skipped; j++) {
            *vec_push(&r.skipped) = NULL;
        }
        assert_int_equal(threshold_judge_all(&r), rows[i].whole);
        assert_int_equal(threshold_skips_all(&r), rows[i].n == 0 && rows[i].n_skipped > 0);
        vec_done(&r.thresholds);
        vec_done(&r.skipped);
    }
}

TEST(in_words)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct threshold t = {.metric = FIGURE_EFFICIENCY, .has_min = true, .min = 0.9};
    const struct value n = {.is_int = true, .i = 100}, net = {.s = (char *)"slow"};
    threshold_format(&t, &text);
    assert_string_equal(buf_cstr(&text), "efficiency >= 0.9");
    t.has_max = t.judges_interval = true;
    t.max = 1.1;
    buf_clear(&text);
    threshold_format(&t, &text);
    assert_string_equal(buf_cstr(&text), "efficiency >= 0.9 and <= 1.1 with 95% confidence");
    t.has_min = t.judges_interval = false;
    buf_clear(&text);
    threshold_format(&t, &text);
    assert_string_equal(buf_cstr(&text), "efficiency <= 1.1");
    params_set(&t.where, "trainers", &n);
    params_set(&t.where, "net", &net);
    buf_clear(&text);
    threshold_format_skip(&t, &text);
    assert_string_equal(buf_cstr(&text), "no such point: net=slow, trainers=100");
    params_done(&t.where);
}
