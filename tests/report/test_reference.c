/* Published figures: whole outputs in golden/, and what may not be compared with a run. */
#include "tests/test.h"

#include "../golden_csv.h"
#include "../golden_json.h"
#include "base/mem.h"
#include "base/str.h"
#include "reference/shipped_sets.h"
#include "report_runs.h"
#include "sheet_as.h"

TEST(the_first_of_the_seeds_on_a_terminal)
{
    struct reference *r = reference_shipped_load("paddle-vgg16-cpu-2018");
    struct buf out = BUF_INIT;
    sheet_as(sheet_reference, r, &out, SHEET_TEXT, .columns = 80);
    golden_check("tests/report/golden/reference.txt", buf_cstr(&out));
    buf_done(&out);
    reference_free(r);
}

/* No line of any set is wider than the terminal: tables turn, and numbers do not break. */
TEST(every_set_fits_a_terminal)
{
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = reference_shipped_load(reference_shipped[i].name);
        struct buf out = BUF_INIT;
        sheet_as(sheet_reference, r, &out, SHEET_TEXT, .columns = 80);
        for (const char *line = buf_cstr(&out); *line != '\0';) {
            const size_t len = strcspn(line, "\n");
            if (len > 80) {
                fail_msg("%s: %zu characters: %.*s", r->name, len, (int)len, line);
            }
            line += len + (line[len] != '\0');
        }
        buf_done(&out);
        reference_free(r);
    }
}

TEST(other_forms)
{
    struct reference *r = reference_shipped_load("mlbench-charts-2019");
    struct buf out = BUF_INIT;
    sheet_as(sheet_reference, r, &out, SHEET_MARKDOWN);
    golden_check("tests/report/golden/reference.md", buf_cstr(&out));
    buf_clear(&out);
    sheet_as(sheet_reference, r, &out, SHEET_CSV);
    golden_check_csv("tests/report/golden/reference.csv", buf_cstr(&out), 1e-9);
    buf_clear(&out);
    reference_free(r);
    r = reference_shipped_load("horovod-2017");
    sheet_as(sheet_reference, r, &out, SHEET_JSON);
    json_t *document = json_loads(buf_cstr(&out), 0, NULL);
    golden_check_json("tests/report/golden/reference.json", document);
    json_decref(document);
    buf_done(&out);
    reference_free(r);
}

static void beside(const char *run, const char *set, const char *golden)
{
    struct fixture f;
    report_run_find(run)->make(&f);
    struct reference *r = reference_shipped_load(set);
    const struct reference_beside b = {
        .reference = r, .asked = r->name, .result = f.result, .year = 2026};
    struct buf out = BUF_INIT;
    if (strstr(golden, ".md") != NULL) {
        sheet_as(sheet_beside, &b, &out, SHEET_MARKDOWN);
    } else {
        sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 80);
    }
    golden_check(golden, buf_cstr(&out));
    buf_done(&out);
    reference_free(r);
    fixture_done(&f);
}

TEST(the_run_of_the_same_points)
{
    beside("acceleration", "paddle-vgg16-cpu-2018", "tests/report/golden/beside.txt");
}

TEST(a_run_of_another_kind)
{
    beside("sweep", "mlbench-charts-2019", "tests/report/golden/beside.md");
}

/* In a page: tables that the keyboard reaches, sentences, and points as the rest of
 * the page names them. */
TEST(beside_a_run_in_its_page)
{
    struct reference *r = reference_shipped_load("paddle-vgg16-cpu-2018");
    struct fixture f;
    report_run_find("acceleration")->make(&f);
    const struct reference_beside b = {
        .reference = r, .asked = "paddle-vgg16-cpu-2018", .result = f.result, .year = 2026};
    const struct run_page page = {
        .result = f.result, .beside = &b, .created = "now", .program = "benchctl 0.1.0"};
    struct buf out = BUF_INIT;
    sheet_as(sheet_page, &page, &out, SHEET_HTML);
    static const char *const want[] = {
        "<h2>Beside ",
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=",
        "<th>POINT</th><th class=\"r\">THIS RUN</th><th class=\"r\">PUBLISHED</th><th>OF</th>",
        "<td>fluid, 20 trainers</td>",
        "<p>Do not compare the throughputs: ",
        "benchctl results --reference paddle-vgg16-cpu-2018</p>\n</section>"};
    const char *at = buf_cstr(&out);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        at = strstr(at, want[i]);
        if (at == NULL) {
            fail_msg("the page does not say '%s', or in another order", want[i]);
        }
    }
    buf_done(&out);
    reference_free(r);
    fixture_done(&f);
}

/* Hardware, model, unit, batch, year: of each that is the same nothing is said. */
TEST(what_is_the_same_is_not_listed)
{
    static const char text[] =
        "name: mine\ntitle: T\nyear: 2026\nmodel: M\n"
        "hardware: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz\n"
        "sources: [{id: s, title: S}]\ntables:\n"
        "- name: one\n  title: T\n  source: s\n  quality: Table\n  unit: samples/s\n"
        "  axis: trainers\n  columns: [1]\n  at: {pservers: 0}\n  rows: [{name: a, values: [16]}]\n"
        "- name: t\n  baseline: {table: one, column: 1}\n  efficiency: Columns\n  title: T\n  "
        "source: s\n  quality: Table\n  unit: samples/s\n"
        "  axis: trainers\n  columns: [1, 20]\n  at: {pservers: 20, batch_size: 128}\n"
        "  rows: [{name: a, workload: vgg16-fluid-fc512, values: [16, 260]}]\n";
    struct diags diags = {0};
    struct reference *r = NULL;
    struct fixture f;
    report_run_find("acceleration")->make(&f);
    assert_int_equal(reference_load(text, strlen(text), &r, &diags), 0);
    struct reference_beside b = {
        .reference = r, .asked = r->name, .result = f.result, .year = 2026};
    struct buf out = BUF_INIT;
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_null(strstr(buf_cstr(&out), "Do not compare the throughputs"));
    assert_non_null(strstr(buf_cstr(&out), "263.3 (78.64%)"));
    assert_non_null(strstr(buf_cstr(&out), "260 (81.25%)"));
    assert_null(strstr(buf_cstr(&out), "baselines differ"));
    b.year = 2027;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(strstr(
        buf_cstr(&out), "Do not compare the throughputs: another year (here 2027, there 2026)."));
    b.year = 2026;
    r->tables.items[1].rows.items[0].workload = NULL;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(
        strstr(buf_cstr(&out), "throughputs: another model (here vgg16-fluid-fc512, there M).\n"));
    r->model = "";
    r->tables.items[0].columns[0] = 2; /* of its baseline */
    b.asked = "./mine.yaml";
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(
        strstr(buf_cstr(&out), "another model (here vgg16-fluid-fc512, there unknown)"));
    assert_non_null(strstr(buf_cstr(&out), "their baselines differ (here 1 trainer; there "));
    assert_non_null(strstr(buf_cstr(&out), ": benchctl results --reference ./mine.yaml\n"));
    r->tables.items[1].at.items[1].value = 64;
    r->tables.items[1].at.items[0].value = 10;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(strstr(buf_cstr(&out), "other pservers (here 20"));
    assert_non_null(strstr(buf_cstr(&out), "other batch_size (here 128"));
    buf_done(&out);
    reference_free(r);
    fixture_done(&f);
}
