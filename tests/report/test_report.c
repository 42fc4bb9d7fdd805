#include "tests/test.h"
#include "base/str.h"
#include "compare/run_history.h"

#include <math.h>

#include "../golden_csv.h"
#include "report_runs.h"
#include "result/pivot.h"
#include "result/catalogue.h"
#include "base/parse.h"
#include "result/result_json.h"
#include "sheet_as.h"

/* A log without a figure: what it says is shown as it is, once for a system. */
static void missed(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [1]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 2}\n", 2);
    fixture_throughput(f, 0, 0, 40);
    struct attempt_row *row = fixture_throughput(f, 0, 1, 99);
    row->outcome = ATTEMPT_METRICS_UNAVAILABLE;
    row->error = xstrdup("trainer/0: no line of 2 matched the log rule mine");
    row->replicas.items[1].failure = xstrdup(
        "no line of 2 matched the log rule mine\nthe last 2 lines:\n  1: <a> **b**  \n"
        "  2: \x1b[1mnull\nnearest miss: line 2, for lines[0] (Step) of the rule; it lacks ' "
        "img/s':\n  2: null\n  pattern: (?<rate>) img/s\n");
    fixture_build(f, RUN_PARTIALLY_FAILED);
}

/* ---- the outputs ---- */

static void check_golden(const char *run, const char *kind, struct buf *out)
{
    drop_more_figures(out);
    _cleanup_(freep) char *path = xasprintf("tests/report/golden/%s.%s", run, kind);
    golden_check(path, buf_cstr(out));
}

TEST(texts)
{
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_runs[i].make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, f.result, &out, SHEET_TEXT);
        check_golden(report_runs[i].name, "txt", &out);
    }
}

/* MFU of CPUs is by a peak that a probe measured, of devices by their data sheet. */
TEST(utilization)
{
#define SAYS "\"flops_per_sample\":1e9,\"threads\":2"
    /* clang-format off */
    static const struct {
        const char *name, *environment;
        uint32_t devices;
        enum precision precision;
        const char *has[3], *lacks;
    } rows[] = {
        {"a CPU", "{" SAYS "}", 0, PRECISION_FP32,
         {" 0.4000 ", "10.0%"}, "above 100%:"},
        {"a CPU with fast kernels", "{\"flops_per_sample\":2e10,\"threads\":2}", 0, PRECISION_FP32,
         {"200.0%"}, "above 100%:"},
        {"emulated", "{" SAYS ",\"compute\":\"Emulated\"}", 0, PRECISION_FP32, {NULL}, "TFLOPS"},
        {"a GPU that is not counted", "{" SAYS ",\"accelerator\":\"NVIDIA H200\"}", 0,
         PRECISION_FP32, {NULL}, "TFLOPS"},
        {"another precision", "{" SAYS "}", 0, PRECISION_BF16, {NULL}, "TFLOPS"},
        {"unknown threads", "{\"flops_per_sample\":1e9}", 0, PRECISION_FP32, {NULL}, "TFLOPS"},
        {"a GPU", "{\"accelerator\":\"NVIDIA H200\"}", 1, PRECISION_FP32,
         {"MFU: TFLOPS / 67,", "MFU is above 100%:"}, "CPU_PEAK"},
        {"no peak", "{\"accelerator\":\"a\"}", 1, PRECISION_FP32, {"No MFU: "}, "MFU: TFLOPS"},
        {"tokens", "{\"accelerator\":\"NVIDIA H200\"}", 1, PRECISION_FP32,
         {"0.2400"}, "a sequence"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                     "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 2);
        f.def->spec->workload.precision = rows[i].precision;
        f.def->spec->workload.flops.per_sample = rows[i].devices > 0 ? 1e13 : 0;
        f.def->matrix.points[0].devices = rows[i].devices;
        const struct summary s = {
            .samples = 80,
            .duration_ns = 2000000000,
            .steps = 8,
            .noise = {.before = {1, 1, 200000000000}, .after = {1, 1, 100000000000}}};
        struct attempt_row *row = fixture_throughput(&f, 0, 0, 1);
        fixture_say(row, 1, &s);
        if (str_eq(rows[i].name, "tokens")) {
            f.def->spec->workload.flops = (struct flops){.parameters = 1e9, .sequence = 8192};
            fixture_count(row, UNIT_TOKENS);
        }
        fixture_set_environment(&f, 0, 1, rows[i].environment);
        fixture_build(&f, RUN_SUCCEEDED);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, f.result, &out, SHEET_TEXT);
        for (size_t k = 0; k < N_ROWS(rows[i].has) && rows[i].has[k] != NULL; k++) {
            if (strstr(buf_cstr(&out), rows[i].has[k]) == NULL) {
                fail_msg("'%s' is missing in:\n%s", rows[i].has[k], buf_cstr(&out));
            }
        }
        if (strstr(buf_cstr(&out), rows[i].lacks) != NULL) {
            fail_msg("'%s' is in:\n%s", rows[i].lacks, buf_cstr(&out));
        }
    }
}

/* As a terminal of 80 columns shows it unless --explain is asked for. */
TEST(brief_texts)
{
    static const char *const names[] = {"trouble", "wide", "six-trials"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_run_find(names[i])->make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = 80, .brief = true);
        check_golden(names[i], "brief.txt", &out);
    }
}

TEST(texts_in_ascii_and_color)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("trouble")->make(&f);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .ascii = true);
    for (size_t i = 0; i < out.len; i++) {
        assert_true((unsigned char)out.data[i] < 0x80);
    }
    buf_clear(&out);
    sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .color = true);
    assert_non_null(strstr(buf_cstr(&out), "\033[33mREHEARSAL\033[0m"));
}

TEST(markdown)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("trouble")->make(&f);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_points, f.result, &out, SHEET_MARKDOWN);
    check_golden("trouble", "md", &out);
}

TEST(details_are_shown_as_they_are)
{
    _cleanup_(fixture_done) struct fixture f;
    missed(&f);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = 40);
    check_golden("missed", "txt", &out);
    buf_clear(&out);
    sheet_as(sheet_points, f.result, &out, SHEET_MARKDOWN);
    check_golden("missed", "md", &out);
}

/* Lines fit the terminal as far as one word does, and never end in a blank. */
TEST(lines_fit_and_end_clean)
{
    static const unsigned widths[] = {60, 80, 100, 200};
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        for (size_t w = 0; w < N_ROWS(widths); w++) {
            _cleanup_(fixture_done) struct fixture f;
            report_runs[i].make(&f);
            _cleanup_(buf_done) struct buf out = BUF_INIT;
            sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = widths[w]);
            for (const char *line = out.data; *line != '\0';) {
                const char *end = strchr(line, '\n');
                assert_non_null(end);
                size_t width = 0;
                for (const char *c = line; c < end; c++) {
                    width += ((unsigned char)*c & 0xc0) != 0x80;
                }
                if (width > widths[w] || (end > line && end[-1] == ' ')) {
                    fail_msg("%s at %u columns: '%.*s'", report_runs[i].name, widths[w],
                             (int)(end - line), line);
                }
                line = end + 1;
            }
        }
    }
}

/* A line of the table of points that does not fit would be broken by the terminal,
 * perhaps inside a number. */
TEST(a_narrow_terminal_breaks_no_number)
{
    size_t rows = 0;
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_runs[i].make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = 40);
        bool is_table = false;
        for (char *line = out.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            const char *head = strstr(line, "THROUGHPUT");
            is_table = end > line && (is_table || strncmp(line, "POINT ", 6) == 0 ||
                                      (head != NULL && head < end));
            if (is_table && end - line > 40) {
                fail_msg("%s: '%.*s'", report_runs[i].name, (int)(end - line), line);
            }
            rows += is_table;
        }
    }
    assert_true(rows > REPORT_RUNS);
}

/* The one column that says which point a row is heads each part, in place of an index. */
TEST(a_narrow_table_of_one_axis)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n", 64);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&f, p, t, 1000 * (p + 1) + 100 * t);
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = 50, .brief = true);
    assert_null(strstr(buf_cstr(&out), "POINT"));
    assert_null(strstr(buf_cstr(&out), "Point 0"));
    assert_non_null(strstr(buf_cstr(&out), "\nTRAINERS  SAMPLES/S  95% INTERVAL"));
    assert_non_null(strstr(buf_cstr(&out), "\n\nTRAINERS  95% INTERVAL\n"));
}

/* Is a cell of the header that of a figure which the golden does not have? */
static bool is_news(const char *golden, const char *cell, size_t len)
{
    figure_each_kind (k) {
        const size_t n = k->column == NULL ? 0 : strlen(k->column);
        if (n > 0 && n <= len && strncmp(k->column, cell, n) == 0) {
            _cleanup_(freep) char *whole = xasprintf(",%.*s,", (int)len, cell);
            return strncmp(golden, "kind,", 5) == 0 && strstr(golden, whole) == NULL;
        }
    }
    return false;
}

/* A CSV without the columns of such figures, so that a new figure changes no golden. Owned. */
static char *without_news(const char *golden, const char *csv)
{
    struct buf out = BUF_INIT;
    const char *head = csv;
    for (const char *cell = csv; *cell != '\0';) {
        const size_t n_head = strcspn(head, ",\n"), n = strcspn(cell, ",\n");
        if (!is_news(golden, head, n_head)) {
            buf_append(&out, cell, n + 1);
        }
        head = head[n_head] == '\n' ? csv : head + n_head + 1;
        cell += n + 1;
    }
    return buf_take(&out);
}

TEST(csv_goldens)
{
    static const char *const names[] = {"sweep", "trouble", "mixed", "accuracy", "systems"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_run_find(names[i])->make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, f.result, &out, SHEET_CSV);
        _cleanup_(freep) char *path = xasprintf("tests/report/golden/%s.csv", names[i]);
        _cleanup_(freep) char *golden = golden_read(path), *known = without_news(golden, out.data);
        golden_check_csv(path, known, 1e-12);
    }
}

/* ---- CSV and JSON hold the same numbers ---- */

/* The cell of a column by name, owned; cells of these runs need no quotes. */
static char *csv_cell(const char *csv, size_t row, const char *column)
{
    const char *header = csv;
    size_t at = 0;
    for (;; at++) {
        size_t len = strcspn(header, ",\n");
        if (strlen(column) == len && strncmp(header, column, len) == 0) {
            break;
        }
        if (header[len] == '\n') {
            fail_msg("no column '%s'", column);
        }
        header += len + 1;
    }
    for (size_t i = 0; i <= row; i++) {
        csv = strchr(csv, '\n') + 1;
    }
    for (; at > 0; at--) {
        csv += strcspn(csv, ",\n") + 1;
    }
    return xstrndup(csv, strcspn(csv, ",\n"));
}

static void same_number(const char *csv, size_t row, const char *column, const json_t *number)
{
    _cleanup_(freep) char *cell = csv_cell(csv, row, column);
    if (json_is_null(number)) {
        assert_string_equal(cell, "");
        return;
    }
    double value = NAN;
    if (parse_f64(cell, &value) < 0 || value != json_number_value(number)) {
        fail_msg("row %zu, %s: JSON has %.17g, CSV '%s'", row, column, json_number_value(number),
                 cell);
    }
}

static void same_figure(const char *csv, size_t row, const struct figure_kind *k,
                        const json_t *figure)
{
    static const char *const parts[][2] = {{"value", ""}, {"low", "_low"}, {"high", "_high"}};
    for (size_t i = 0; i < (k->has_interval ? N_ROWS(parts) : 1); i++) {
        _cleanup_(freep) char *column = xasprintf("%s%s", k->column, parts[i][1]);
        const json_t *number = json_object_get(figure, parts[i][0]);
        assert_non_null(number);
        same_number(csv, row, column, number);
    }
}

TEST(csv_has_the_numbers_of_json)
{
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        print_message("# run '%s'\n", report_runs[i].name);
        _cleanup_(fixture_done) struct fixture f;
        report_runs[i].make(&f);
        _cleanup_(buf_done) struct buf csv = BUF_INIT, json = BUF_INIT;
        sheet_as(sheet_points, f.result, &csv, SHEET_CSV);
        result_json_put(f.result, &json);
        assert_int_equal(json.data[json.len - 1], '\n');
        json_t *o = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(o);
        const char *const lists[] = {"points", "baselines"};
        size_t row = 0;
        for (size_t l = 0; l < N_ROWS(lists); l++) {
            json_t *point;
            size_t at;
            json_array_foreach (json_object_get(o, lists[l]), at, point) {
                figure_each_kind (k) {
                    if (k->json != NULL && figure_is_asked(k, f.def->spec)) {
                        same_figure(csv.data, row, k, json_object_get(point, k->json));
                    }
                }
                same_number(csv.data, row, "throughput_min",
                            json_object_get(json_object_get(point, "throughputMin"), "value"));
                same_number(csv.data, row, "throughput_max",
                            json_object_get(json_object_get(point, "throughputMax"), "value"));
                same_number(csv.data, row, "point", json_object_get(point, "point"));
                same_number(csv.data, row, "pods", json_object_get(point, "pods"));
                same_number(csv.data, row, "cpus", json_object_get(point, "cpus"));
                _cleanup_(freep) char *kind = csv_cell(csv.data, row, "kind");
                assert_string_equal(kind, l == 0 ? "point" : "baseline");
                row++;
            }
        }
        assert_int_equal(row, f.def->matrix.n_points);
        json_decref(o);
    }
}

TEST(csv_quotes_what_it_must)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{points: [{pservers: 1, trainers: 1, phase: 'a,\"b\"'}]}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  parameters:\n"
                             "  - {name: phase, targets: [{roles: [trainer], paths: "
                             "[/spec/priorityClassName]}]}\n",
                 0);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_points, fixture_build(&f, RUN_PENDING), &out, SHEET_CSV);
    assert_non_null(
        strstr(buf_cstr(&out), ",param_phase,pservers,trainers,throughput,throughput_unit"));
    assert_non_null(strstr(buf_cstr(&out), ",Pending,\"a,\"\"b\"\"\",1,1,,,,,,,"));
}

TEST(csv_texts)
{
    static const struct {
        const char *text, *csv;
    } rows[] = {
        {"plain text", "plain text"},
        {"a,b", "\"a,b\""},
        {"a\"b", "\"a\"\"b\""},
        {"a\nb", "\"a\nb\""},
        {"a\rb", "\"a\rb\""},
        {"", ""},
        {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
        {"@SUM(1,2)", "\"'@SUM(1,2)\""},
        {"+x", "'+x"},
        {"-x", "'-x"},
        {"\tx", "'\tx"},
        {"\rx", "\"'\rx\""},
        {"-1.5", "-1.5"},
        {"a=b", "a=b"},
        {"-", "'-"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        struct sheet sheet;
        sheet_init(&sheet, SHEET_CSV, NULL);
        row_text(&sheet, NULL, "word", rows[i].text);
        row_end(&sheet);
        sheet_write(&sheet, &out);
        _cleanup_(freep) char *want = xasprintf("word\n%s\n", rows[i].csv);
        assert_string_equal(buf_cstr(&out), want);
    }
}

/* Of a run without a throughput: what has no rows has its columns, or nothing. */
TEST(a_history_without_runs)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(run_history_done) struct run_history h;
    _cleanup_(buf_done) struct buf text = BUF_INIT, csv = BUF_INIT;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}", SINGLE_NODE, 0);
    run_history_begin(&h, fixture_build(&f, RUN_SUCCEEDED), NULL);
    run_history_end(&h);
    sheet_as(sheet_history, &h, &text, SHEET_TEXT);
    sheet_as(sheet_history, &h, &csv, SHEET_CSV);
    assert_non_null(strstr(buf_cstr(&text), "No change is shown in 0 runs"));
    assert_string_equal(buf_cstr(&csv), "benchmark,created,run,point,unit,throughput,level,"
                                        "change_ratio,change_p,rehearsal,imported\n");
}

TEST(many_failures_are_counted)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}", SINGLE_NODE "  repeats: {min: 12}\n",
                 0);
    for (uint32_t n = 10; n <= 12; n++) { /* failed trials: ten are named */
        for (uint32_t t = (uint32_t)f.rows.len; t < n; t++) {
            _cleanup_(freep) char *error = xasprintf("trainer/0: exit code %u", t);
            fixture_end(&f, 0, t, 0, ATTEMPT_FAILED, error);
        }
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, fixture_build(&f, RUN_FAILED), &out, SHEET_TEXT, .ascii = true);
        assert_non_null(strstr(buf_cstr(&out), "FAILED point 0, trial 9, attempt 0: "));
        assert_null(strstr(buf_cstr(&out), "trial 10, attempt 0"));
        _cleanup_(freep) char *more = xasprintf("FAILED %u more: see -o json\n", n - 10);
        if ((strstr(buf_cstr(&out), more) != NULL) != (n > 10)) {
            fail_msg("%u failed trials: expected %s'%s' in\n%s", n, n > 10 ? "" : "no ", more,
                     buf_cstr(&out));
        }
    }
}

/* Of throughputs. */
static void put_grid(const struct result *r, const char *rows, struct buf *out)
{
    struct pivot *p;
    const char *fix;
    const struct pivot_params params = {.rows = rows, .columns = "trainers"};
    assert_int_equal(pivot_new(r, &params, &p, &fix, NULL), 0);
    sheet_as(sheet_pivot, p, out, SHEET_TEXT, .columns = 100);
    pivot_free(p);
}

/* An excluded combination leaves a hole in the grid; a run that goes on says so. */
TEST(holes_and_trials_to_come)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{grid: {pservers: [1, 2], trainers: [1, 2]},\n"
                 "    exclude: [{pservers: 2, trainers: 1}]}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 0);
    fixture_throughput(&f, 0, 0, 40);
    fixture_throughput(&f, 2, 0, 70);
    _cleanup_(buf_done) struct buf out = BUF_INIT, grid = BUF_INIT;
    sheet_as(sheet_points, fixture_build(&f, RUN_RUNNING), &out, SHEET_TEXT);
    put_grid(f.result, "pservers", &grid);
    assert_non_null(strstr(buf_cstr(&grid), "PSERVERS      1      2\n"
                                            "       1  40.00      -\n"
                                            "       2      -  70.00\n"));
    assert_non_null(strstr(buf_cstr(&out), "2 trials pending; the figures are preliminary"));
}

/* A point whose baseline is excluded has a throughput and no speedup, and the reason is said. */
TEST(points_without_a_baseline)
{
    static const struct {
        enum sheet_form format;
        const char *expected;
    } rows[] = {
        {SHEET_TEXT, "12.00     1/1        -           -\n"},
        {SHEET_TEXT,
         "\nPoint 2 has no speedup and no efficiency: the sweep leaves out its baseline."},
        {SHEET_CSV, ",,,,,,,,,,,,,0."}, /* speedup to efficiency_per_cpu_high */
        {SHEET_CSV, ",Point,,,1,1,"},
        {SHEET_HTML, "Point 2 has no speedup and no efficiency"},
        {SHEET_MARKDOWN, "Point 2 has no speedup and no efficiency"},
    };
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{grid: {batch_size: [16, 64], pservers: [1], trainers: [1, 2]},\n"
                 "    exclude: [{batch_size: 64, trainers: 1}]}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    for (uint32_t i = 0; i < 3; i++) {
        fixture_throughput(&f, i, 0, 10 + i);
    }
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, fixture_build(&f, RUN_SUCCEEDED), &out, rows[i].format);
        if (strstr(buf_cstr(&out), rows[i].expected) == NULL) {
            fail_msg("row %zu: '%s' is not in\n%s", i, rows[i].expected, buf_cstr(&out));
        }
    }
}

/* Rows of a mode that is not the others' say so in every table; a warning says what it means. */
TEST(modes_that_differ)
{
    static const struct {
        const char *second; /* system */
        bool is_marked;
    } systems[] = {
        {"profile: own, exchange: {kind: PServer, mode: Async}", true},
        {"profile: own", false},
    };
    static const struct {
        enum sheet_form form;
        const char *expected;
    } rows[] = {
        {SHEET_TEXT, "b (Async)          1        80.00"},
        {SHEET_MARKDOWN, "| b (Async) |"},
        {SHEET_HTML, "b (Async)"},
        {SHEET_CSV, ",Async\n"},
    };
    for (size_t k = 0; k < N_ROWS(systems); k++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(freep) char *more =
            xasprintf(SINGLE_NODE "  repeats: {min: 1}\n"
                                  "  systems: [{name: a, profile: benchworker}, {name: b, %s}]\n",
                      systems[k].second);
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}", more, 0);
        for (uint32_t i = 0; i < f.def->matrix.n_points; i++) {
            fixture_throughput(&f, i, 0, 100 - 10 * i);
        }
        _cleanup_(buf_done) struct buf json = BUF_INIT;
        result_json_put(fixture_build(&f, RUN_SUCCEEDED), &json);
        assert_int_equal(strstr(buf_cstr(&json), "\"mode\": \"Async\"") != NULL,
                         systems[k].is_marked);
        _cleanup_(buf_done) struct buf grid = BUF_INIT;
        put_grid(f.result, "system", &grid);
        assert_int_equal(strstr(buf_cstr(&grid), "b (Async)  80.00  70.00\n") != NULL,
                         systems[k].is_marked);
        for (size_t i = 0; i < N_ROWS(rows); i++) {
            _cleanup_(buf_done) struct buf out = BUF_INIT;
            sheet_as(sheet_points, f.result, &out, rows[i].form, .columns = 100);
            if ((strstr(buf_cstr(&out), rows[i].expected) != NULL) != systems[k].is_marked) {
                fail_msg("%s, row %zu: '%s' is %sin\n%s", systems[k].second, i, rows[i].expected,
                         systems[k].is_marked ? "not " : "", buf_cstr(&out));
            }
        }
    }
}

/* A definition that counts mini-batches, with a batch that differs between a point and its
 * baseline: the rate is of the point's own batches, and speedup divides samples/s. */
TEST(batches_as_the_unit)
{
    static const struct {
        enum sheet_form form;
        const char *expected;
    } rows[] = {
        {SHEET_TEXT, "2 trainers: 1.500x (75.0%; 95%: 70.9..79.4%)"},
        {SHEET_TEXT,
         "        16          1        5.000   4.698..5.319   4.875   5.125      3/3     1.000"},
        {SHEET_TEXT,
         "         8          2        15.00   14.09..15.96   14.63   15.38      3/3     1.500     "
         "   75.0%"},
        {SHEET_TEXT, "Throughput: batches/s of the whole job"},
        {SHEET_TEXT,
         "1 trainer, 1 pserver, batch_size 16: 5.000 batches/s (4.698..5.319, 3/3 trials)"},
        {SHEET_MARKDOWN, "| 15.00 | 14.09..15.96 | 14.63 | 15.38 |"},
        {SHEET_CSV, ",batches/s,14.0936"},
        {SHEET_CSV, ",StudentTLog,14.62500"},
        {SHEET_HTML, "batches/s"},
    };
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(
        &f,
        "{points: [{trainers: 1, batch_size: 16, pservers: 1}, {trainers: 2, batch_size: 8, "
        "pservers: 1}]}",
        "  baseline: {kind: Point, where: {trainers: 1, batch_size: 16}}\n  repeats: {min: 3}\n"
        "  measure: {warmupSteps: 2, steps: 8, unit: Batches}\n",
        0);
    for (uint32_t i = 0; i < 3; i++) {
        fixture_throughput(&f, 0, i, 78 + 2 * i);
        fixture_throughput(&f, 1, i, 117 + 3 * i);
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf json = BUF_INIT;
    result_json_put(r, &json);
    assert_non_null(strstr(buf_cstr(&json), "\"unit\": \"batches/s\""));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_points, r, &out, rows[i].form, .columns = 200);
        if (strstr(buf_cstr(&out), rows[i].expected) == NULL ||
            strstr(buf_cstr(&out), "80.00") != NULL) {
            fail_msg("row %zu: '%s' is not in\n%s", i, rows[i].expected, buf_cstr(&out));
        }
    }
}

TEST(trials_of_given_up_points)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1, 2], trainers: [1]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n", 0);
    (void)fixture_end(&f, 0, 0, 0, ATTEMPT_FAILED, "trainer/0: exit code 1");
    fixture_throughput(&f, 1, 0, 70);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_points, fixture_build(&f, RUN_RUNNING), &out, SHEET_TEXT);
    assert_non_null(strstr(buf_cstr(&out), "2 trials not run, because 1 point failed"));
    assert_non_null(strstr(buf_cstr(&out), "5 trials pending; the figures are preliminary"));
}
