/* What a gate prints, report/gate_sheet.c. */
#include "tests/test.h"
#include "compare/gate.h"

#include "../result/result_fixture.h"
#include "sheet_as.h"

/* Two points failed: each says why, and a reader sees where one ends. */
TEST(reasons_stand_apart)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(gate_done) struct gate g;
    _cleanup_(buf_done) struct buf text = BUF_INIT, markdown = BUF_INIT;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    fixture_throughput(&f, 0, 0, 100);
    fixture_end(&f, 1, 0, 0, ATTEMPT_FAILED, "exit code 1");
    fixture_end(&f, 2, 0, 0, ATTEMPT_FAILED, "exit code 2");
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    gate_judge(f.result, NULL, NULL, &g);
    sheet_as(sheet_gate, &g, &text, SHEET_TEXT, .columns = 200);
    sheet_as(sheet_gate, &g, &markdown, SHEET_MARKDOWN);
    assert_non_null(strstr(buf_cstr(&text), "exit code 1; point 2"));
    _cleanup_(buf_done) struct buf narrow = BUF_INIT;
    sheet_as(sheet_gate, &g, &narrow, SHEET_TEXT, .columns = 24);
    assert_non_null(strstr(buf_cstr(&narrow),
                           "OUTCOME  CHECK\nFailed   every trial has a result\n    point 1 "));
    assert_non_null(strstr(buf_cstr(&markdown), "exit code 1; point 2"));
}

static void judge_forms(struct fixture *f, struct buf forms[4])
{
    _cleanup_(gate_done) struct gate g;
    gate_judge(f->result, NULL, NULL, &g);
    sheet_as(sheet_gate, &g, &forms[0], SHEET_TEXT, .columns = 200);
    sheet_as(sheet_gate, &g, &forms[1], SHEET_MARKDOWN);
    sheet_as(sheet_gate, &g, &forms[2], SHEET_JUNIT);
    sheet_as(sheet_gate, &g, &forms[3], SHEET_JSON);
}

static void assert_has(const struct buf *text, const char *part)
{
    if (strstr(buf_cstr(text), part) == NULL) {
        fail_msg("expected:\n%s\nin:\n%s", part, buf_cstr(text));
    }
}

/* What was not judged stands in every form, and the verdict says how much of it there is. */
TEST(skipped_thresholds_are_named)
{
    static const char *const skipped = "throughput >= 1: no such point: pservers=2, trainers=9";
    static const struct {
        const char *thresholds, *verdict, *sentence, *counts;
    } rows[] = {
        {"[{metric: throughput, where: {trainers: 9, pservers: 2}, min: 1},\n"
         "   {metric: throughput, min: 2}]",
         "Passed",
         "passes: every applicable check passed; 1 of 2 thresholds skipped, because the run has no "
         "such point",
         "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"1\""},
        {"[{metric: throughput, where: {trainers: 9, pservers: 2}, min: 1}]", "Threshold",
         "is refused: nothing was checked except whether it finished; 1 of 1 thresholds skipped, "
         "because the run has no such point",
         "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture f;
        struct buf forms[4] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
        char more[512], verdict[64];
        (void)snprintf(more, sizeof(more), "  repeats: {min: 1}\n  thresholds: %s\n",
                       rows[i].thresholds);
        (void)snprintf(verdict, sizeof(verdict), "\"verdict\": \"%s\"", rows[i].verdict);
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}", more, 16);
        fixture_throughput(&f, 0, 0, 100);
        fixture_throughput(&f, 1, 0, 110);
        fixture_build(&f, RUN_SUCCEEDED);
        judge_forms(&f, forms);
        assert_has(&forms[0], "Skipped");
        for (size_t form = 0; form < 2; form++) {
            assert_has(&forms[form], rows[i].sentence);
        }
        assert_has(&forms[0], skipped);
        assert_has(&forms[1], "| Skipped |");
        assert_has(&forms[2], rows[i].counts);
        assert_has(&forms[2], "      <skipped message=\"no such point: pservers=2, trainers=9\"/>\n"
                              "    </testcase>\n");
        assert_has(&forms[3], verdict);
        assert_has(&forms[3], "\"outcome\": \"Skipped\",\n      \"message\": \"no such point: "
                              "pservers=2, trainers=9\"");
        for (size_t form = 0; form < 4; form++) {
            buf_done(&forms[form]);
        }
    }
}

/* The tables of a run have a line for it in each form. */
TEST(tables_name_what_was_skipped)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(buf_done) struct buf text = BUF_INIT, markdown = BUF_INIT, html = BUF_INIT;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                 "  repeats: {min: 1}\n"
                 "  thresholds: [{metric: efficiency, where: {trainers: 9}, min: \"0.9\"}]\n",
                 16);
    fixture_throughput(&f, 0, 0, 100);
    fixture_throughput(&f, 1, 0, 110);
    fixture_build(&f, RUN_SUCCEEDED);
    sheet_as(sheet_points, f.result, &text, SHEET_TEXT, .columns = 100);
    sheet_as(sheet_points, f.result, &markdown, SHEET_MARKDOWN);
    sheet_as(sheet_run, f.result, &html, SHEET_HTML);
    assert_has(&text, "\nThresholds\n  ? efficiency >= 0.9: no such point: trainers=9\n");
    assert_has(&markdown, "threshold skipped: efficiency ");
    assert_has(&html,
               "<li>Threshold skipped: efficiency &gt;= 0.9: no such point: trainers=9</li>");
}
