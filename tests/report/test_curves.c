/* The law of each curve, report/curves_sheet.c, and the sentences about them,
 * report/prose_scaling.c. */
#include "tests/test.h"
#include "report/prose.h"

#include "report_runs.h"
#include "sheet_forms.h"

TEST(three_forms)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("scaling")->make(&f);
    golden_check_forms(sheet_curves, f.result, "curves", 80, 1e-9);
}

/* Sixty columns hold every row of a curve's table, 46 its parts. */
TEST(narrow_tables_are_not_wrapped)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("scaling")->make(&f);
    for (unsigned columns = 46; columns <= 60; columns += 14) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        sheet_as(sheet_curves, f.result, &text, SHEET_TEXT, .columns = columns);
        for (const char *line = buf_cstr(&text); *line != '\0'; line += strcspn(line, "\n") + 1) {
            if (strcspn(line, "\n") > columns) {
                fail_msg("%u columns: %.*s", columns, (int)strcspn(line, "\n"), line);
            }
        }
    }
}

/* ---- sentences ---- */

/* One curve of 1, 2, 4 .. trainers with these throughputs; three trials that differ by `spread`. */
static void make(struct fixture *f, const double *x, uint32_t n, double spread, int64_t repeats)
{
    static const char *const sweeps[] = {"[1, 2]", "[1, 2, 4]", "[1, 2, 4, 8]", "[1, 2, 4, 8, 16]"};
    _cleanup_(freep) char *sweep =
        xasprintf("{grid: {pservers: [1], trainers: %s}}", sweeps[n - 2]);
    _cleanup_(freep) char *more =
        xasprintf("  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: %lld}\n",
                  (long long)repeats);
    fixture_init(f, sweep, more, 64);
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t t = 0; t < repeats; t++) {
            fixture_throughput(f, p, t, x[p] * (1 + spread * ((double)t - 1)));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

static void assert_says(const double *x, uint32_t n, double spread, int64_t repeats, bool all,
                        const char *expected)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    make(&f, x, n, spread, repeats);
    layout_init(&l, f.result);
    assert_int_equal(f.result->curves.list.len, 1);
    prose_curve_say(&l, f.result->curves.list.items, all, &line);
    line.data[line.len - 1] = '\0'; /* the end of the sentence */
    assert_string_equal(buf_cstr(&line), expected);
}

TEST(what_is_said_of_a_curve)
{
    static const double two[] = {100, 150}, peak[] = {100, 171.4, 248.4, 259.7, 177.8};
    static const double linear[] = {100, 200, 400, 800, 1600}, odd[] = {100, 100, 400, 100, 400};
    /* 16 samples take 160 ms, and 8 ms for each trainer */
    static const double growing[] = {95.238, 181.82, 333.33, 571.43, 888.89};
    assert_says(two, 2, 0.01, 3, true,
                "2 trainers: 1.500x (75.0%; 95%: 73.3..76.7%); no law: 2 numbers of trainers, 3 "
                "are needed");
    /* two sizes need no reason why they have no law, but where the laws are asked for */
    assert_says(two, 2, 0.01, 1, false, "2 trainers: 1.500x (75.0%)");
    assert_says(two, 2, 0.01, 1, true,
                "2 trainers: 1.500x (75.0%); no law: 2 numbers of trainers, 3 are needed");
    assert_says(
        peak, 3, 0.01, 2, true,
        "4 trainers: 2.484x (62.1%); no law: 0 of 3 numbers of trainers have 3 trials, 3 are "
        "needed");
    assert_says(peak, 5, 0.004, 3, true,
                "16 trainers: 1.778x (11.1%; 95%: 11.0..11.2%); no law: a step grows faster than "
                "the number of trainers; biggest loss between 8 and 16 trainers: 65.8% of each "
                "one's throughput (95%: 65.5..66.1%)");
    assert_says(linear, 4, 0.004, 3, true,
                "8 trainers: 8.000x (100.0%; 95%: 99.1..100.9%); a step of N trainers takes 160.0 "
                "ms");
    assert_says(odd, 5, 0.004, 3, true,
                "16 trainers: 4.000x (25.0%; 95%: 24.8..25.2%); no law: what twice as many "
                "trainers give is open by a factor of more than 3; biggest loss between 4 and 8 "
                "trainers: 87.5% of each one's throughput (95%: 87.4..87.6%)");
    assert_says(linear, 3, 0.4, 3, true,
                "4 trainers: 4.000x (100.0%; 95%: 38.0..263.0%); no law: what twice as many "
                "trainers give is open by a factor of more than 3");
    assert_says(growing, 5, 0.004, 3, true,
                "16 trainers: 9.333x (58.3%; 95%: 57.8..58.9%); a step of N trainers takes 160.0 "
                "ms + 8.000 ms N; with any number of trainers throughput stays below 2000 "
                "samples/s (95%: 1959..2114); biggest loss between 8 and 16 trainers: 22.2% of "
                "each one's throughput (95%: 21.5..22.9%)");
}

/* All trainers share 64 samples: 16 / N + N / 2 + 1 units of 10 ms are least with 5.7 trainers. */
TEST(the_peak_of_strong_scaling)
{
    static const double units[] = {17.5, 10, 7, 7};
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(layout_done) struct layout l;
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    fixture_init(
        &f,
        "{points: [{pservers: 1, trainers: 1, batch_size: 64}, {pservers: 1, trainers: 2, "
        "batch_size: 32}, {pservers: 1, trainers: 4, batch_size: 16}, {pservers: 1, trainers: 8, "
        "batch_size: 8}]}",
        "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n", 64);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&f, p, t, 64 / (0.01 * units[p]) * (1 + 0.001 * ((double)t - 1)));
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    layout_init(&l, f.result);
    prose_curve_say(&l, f.result->curves.list.items, true, &line);
    assert_string_equal(
        buf_cstr(&line),
        "8 trainers: 914.3 samples/s (95%: 912.0..916.6); a step of N trainers takes 161.1 ms / N "
        "+ 9.075 ms + 0.5574 ms log2 N + 4.889 ms N; most throughput with 6 trainers (95%: 5..6); "
        "biggest loss between 4 and 8 trainers: 50.0% of each one's throughput (95%: "
        "49.9..50.1%).");
}

TEST(the_legend_is_that_of_the_table)
{
    static const double x[] = {100, 190, 340};
    static const struct {
        int64_t repeats;
        bool has_laws;
    } rows[] = {{1, false}, {3, true}};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(fixture_done) struct fixture f;
        make(&f, x, 3, 0.01, rows[i].repeats);
        _cleanup_(buf_done) struct buf text = BUF_INIT, markdown = BUF_INIT;
        sheet_as(sheet_curves, f.result, &text, SHEET_TEXT, .columns = 400);
        sheet_as(sheet_curves, f.result, &markdown, SHEET_MARKDOWN);
        const char *const forms[] = {buf_cstr(&text), buf_cstr(&markdown)};
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(strstr(forms[k], "Law of N trainers") != NULL, rows[i].has_laws);
        }
    }
}

TEST(no_curve)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("single-node")->make(&f);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    sheet_as(sheet_curves, f.result, &text, SHEET_TEXT, .columns = 200);
    assert_non_null(strstr(buf_cstr(&text), "No curve: no system was measured with two numbers"));
    buf_clear(&text);
    sheet_as(sheet_curves, f.result, &text, SHEET_MARKDOWN);
    assert_non_null(strstr(buf_cstr(&text), "No curve: no system was measured with two numbers"));
}
