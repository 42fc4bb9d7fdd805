#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"

#include <math.h>
#include <string.h>

#include "../golden_csv.h"
#include "../result/result_fixture.h"
#include "base/parse.h"
#include "report/csv.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

/* ---- runs, each with something to say ---- */

/* Two names vary, three trials: the sweep of the README. */
static void sweep(struct fixture *f)
{
    static const double x[5] = {35.1, 66.3, 36.4, 70.9, 37.9};
    fixture_init(f, "{grid: {pservers: [1, 2], trainers: [1, 2], batch_size: [16]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n"
                             "  thresholds:\n"
                             "  - {metric: efficiency, where: {trainers: 2}, min: 0.9}\n",
                 8);
    for (uint32_t p = 0; p < 5; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, x[p] * (1 + 0.004 * ((double)t - 1)));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* The acceleration table of 2018: one name varies, two systems, one trial. */
static void acceleration(struct fixture *f)
{
    static const double x[10] = {263.29, 518.80, 836.26,  1019.29, 326.85,
                                 534.58, 853.30, 1041.99, 16.74,   17.60};
    fixture_init(f, "{grid: {pservers: [20], trainers: [20, 40, 80, 100], batch_size: [128]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  systems: [{name: fluid, profile: benchworker},\n"
                             "            {name: v2, profile: benchworker}]\n",
                 0);
    assert_int_equal(f->def->matrix.n_points, 10);
    for (uint32_t p = 0; p < 10; p++) {
        fixture_throughput(f, p, 0, x[p]);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* The first table of 2018: one trainer without servers, so each point is its own baseline. */
static void single_node(struct fixture *f)
{
    static const double x[8] = {15.44, 16.32, 16.74, 16.79, 9.09, 9.10, 9.24, 8.66};
    fixture_init(f, "{grid: {batch_size: [32, 64, 128, 256]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}}\n"
                             "  roles: {trainer: {replicas: {value: 1}}}\n"
                             "  systems: [{name: fluid, profile: benchworker},\n"
                             "            {name: tensorflow, profile: benchworker}]\n",
                 0);
    for (uint32_t p = 0; p < 8; p++) {
        fixture_throughput(f, p, 0, x[p]);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Two names vary together: a grid would be a diagonal. */
static void diagonal(struct fixture *f)
{
    fixture_init(f, "{zip: {pservers: [1, 2, 4], trainers: [2, 4, 8]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 16);
    for (uint32_t p = 0; p < 4; p++) {
        fixture_throughput(f, p, 0, 60 * (p + 1));
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Everything that can go wrong: a rehearsal with failures, no metrics, a missed threshold. */
static void trouble(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 2}\n"
                 "  failurePolicy: {onTrialFailure: Skip, maxFailedTrials: 9}\n"
                 "  thresholds: [{metric: efficiency, where: {trainers: 2}, min: 0.95},\n"
                 "               {metric: throughput, where: {trainers: 4}, min: 100}]\n",
                 2);
    fixture_throughput(f, 0, 0, 40);
    fixture_throughput(f, 0, 1, 41);
    fixture_throughput(f, 1, 0, 70);
    fixture_end(f, 1, 1, 0, ATTEMPT_VOID, "trainer/1: killed by signal 9");
    fixture_end(f, 1, 1, 1, ATTEMPT_FAILED,
                "trainer/1: exit 10: /data/train-images-idx3-ubyte.gz: 'magic' is 0x1f8b0803, "
                "expected 0x00000803\nsecond line");
    struct attempt_row *row = fixture_throughput(f, 2, 0, 99);
    free(row->replicas.items[2].summary_json);
    row->replicas.items[2].summary_json = NULL;
    assert_true(f->def->rehearsal);
    fixture_build(f, RUN_PARTIALLY_FAILED);
}

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

/* From six trials: another interval. One swept point, nothing varies. */
static void six_trials(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [2]}}", SINGLE_NODE "  repeats: {min: 6}\n",
                 8);
    for (uint32_t t = 0; t < 6; t++) {
        fixture_throughput(f, 0, t, 70 + t);
        fixture_throughput(f, 1, t, 40 + 0.1 * t);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Five names vary: too much for 80 columns. */
static void wide(struct fixture *f)
{
    fixture_init(f,
                 "{points: [\n"
                 "    {pservers: 1, trainers: 1, batch_size: 16, threads: 1, some_long_name: a},\n"
                 "    {pservers: 2, trainers: 2, batch_size: 32, threads: 2, some_long_name: b}]}",
                 SINGLE_NODE "  repeats: {min: 3}\n"
                             "  parameters:\n"
                             "  - {name: some_long_name, targets: [{roles: [trainer], paths: "
                             "[/spec/priorityClassName]}]}\n",
                 0);
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, 30 * (p + 1) + t);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

static const struct {
    const char *name;
    void (*make)(struct fixture *f);
} runs[] = {
    {"sweep", sweep},       {"acceleration", acceleration},
    {"trouble", trouble},   {"six-trials", six_trials},
    {"wide", wide},         {"single-node", single_node},
    {"diagonal", diagonal},
};

/* ---- the outputs ---- */

static void check_golden(const char *run, const char *kind, const struct buf *out)
{
    _cleanup_(freep) char *path = xasprintf("tests/report/golden/%s.%s", run, kind);
    golden_check(path, buf_cstr(out));
}

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        struct fixture f;
        runs[i].make(&f);
        struct buf out = BUF_INIT;
        report_text(f.result, &(struct report_opts){0}, &out);
        check_golden(runs[i].name, "txt", &out);
        buf_done(&out);
        fixture_done(&f);
    }
}

static void texts_in_ascii_color_and_wide(void **state)
{
    (void)state;
    struct fixture f;
    trouble(&f);
    struct buf out = BUF_INIT;
    report_text(f.result, &(struct report_opts){.ascii = true, .columns = 132}, &out);
    check_golden("trouble-132-ascii", "txt", &out);
    for (size_t i = 0; i < out.len; i++) {
        assert_true((unsigned char)out.data[i] < 0x80);
    }
    buf_clear(&out);
    report_text(f.result, &(struct report_opts){.color = true}, &out);
    assert_non_null(strstr(buf_cstr(&out), "\033[33mREHEARSAL\033[0m"));
    buf_done(&out);
    fixture_done(&f);
}

static void markdown(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        struct fixture f;
        runs[i].make(&f);
        struct buf out = BUF_INIT;
        report_markdown(f.result, &out);
        check_golden(runs[i].name, "md", &out);
        buf_done(&out);
        fixture_done(&f);
    }
}

static void details_are_shown_as_they_are(void **state)
{
    (void)state;
    struct fixture f;
    missed(&f);
    struct buf out = BUF_INIT;
    report_text(f.result, &(struct report_opts){.columns = 40}, &out);
    check_golden("missed", "txt", &out);
    buf_clear(&out);
    report_markdown(f.result, &out);
    check_golden("missed", "md", &out);
    buf_done(&out);
    fixture_done(&f);
}

/* Lines fit the terminal as far as one word does, and never end in a blank. */
static void lines_fit_and_end_clean(void **state)
{
    (void)state;
    static const unsigned widths[] = {60, 80, 100, 200};
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        for (size_t w = 0; w < N_ROWS(widths); w++) {
            struct fixture f;
            runs[i].make(&f);
            struct buf out = BUF_INIT;
            report_text(f.result, &(struct report_opts){.columns = widths[w]}, &out);
            for (const char *line = out.data; *line != '\0';) {
                const char *end = strchr(line, '\n');
                assert_non_null(end);
                size_t width = 0;
                for (const char *c = line; c < end; c++) {
                    width += ((unsigned char)*c & 0xc0) != 0x80;
                }
                if (width > widths[w] || (end > line && end[-1] == ' ')) {
                    fail_msg("%s at %u columns: '%.*s'", runs[i].name, widths[w], (int)(end - line),
                             line);
                }
                line = end + 1;
            }
            buf_done(&out);
            fixture_done(&f);
        }
    }
}

static void csv_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        struct fixture f;
        runs[i].make(&f);
        struct buf out = BUF_INIT;
        report_csv(f.result, &out);
        _cleanup_(freep) char *path = xasprintf("tests/report/golden/%s.csv", runs[i].name);
        golden_check_csv(path, buf_cstr(&out), 1e-12);
        buf_done(&out);
        fixture_done(&f);
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

static void csv_has_the_numbers_of_json(void **state)
{
    (void)state;
    static const struct {
        const char *column, *figure, *part;
    } rows[] = {
        {"throughput_samples_per_s", "throughput", "value"},
        {"throughput_low", "throughput", "low"},
        {"throughput_high", "throughput", "high"},
        {"throughput_min", "throughputMin", "value"},
        {"throughput_max", "throughputMax", "value"},
        {"speedup", "speedup", "value"},
        {"speedup_low", "speedup", "low"},
        {"speedup_high", "speedup", "high"},
        {"efficiency", "efficiency", "value"},
        {"efficiency_low", "efficiency", "low"},
        {"efficiency_high", "efficiency", "high"},
        {"efficiency_per_pod", "efficiencyPerPod", "value"},
        {"efficiency_per_pod_low", "efficiencyPerPod", "low"},
        {"efficiency_per_pod_high", "efficiencyPerPod", "high"},
        {"efficiency_per_cpu", "efficiencyPerCpu", "value"},
        {"efficiency_per_cpu_low", "efficiencyPerCpu", "low"},
        {"efficiency_per_cpu_high", "efficiencyPerCpu", "high"},
    };
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        print_message("# run '%s'\n", runs[i].name);
        struct fixture f;
        runs[i].make(&f);
        struct buf csv = BUF_INIT, json = BUF_INIT;
        report_csv(f.result, &csv);
        report_json(f.result, &json);
        assert_int_equal(json.data[json.len - 1], '\n');
        json_t *o = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(o);
        const char *const lists[] = {"points", "baselines"};
        size_t row = 0;
        for (size_t l = 0; l < N_ROWS(lists); l++) {
            json_t *point;
            size_t at;
            json_array_foreach (json_object_get(o, lists[l]), at, point) {
                for (size_t c = 0; c < N_ROWS(rows); c++) {
                    json_t *figure = json_object_get(point, rows[c].figure);
                    assert_non_null(figure);
                    same_number(csv.data, row, rows[c].column,
                                json_object_get(figure, rows[c].part));
                }
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
        buf_done(&csv);
        buf_done(&json);
        fixture_done(&f);
    }
}

static void csv_quotes_what_it_must(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{points: [{pservers: 1, trainers: 1, phase: 'a,\"b\"'}]}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  parameters:\n"
                             "  - {name: phase, targets: [{roles: [trainer], paths: "
                             "[/spec/priorityClassName]}]}\n",
                 0);
    struct buf out = BUF_INIT;
    report_csv(fixture_build(&f, RUN_PENDING), &out);
    assert_non_null(strstr(buf_cstr(&out), ",param_phase,pservers,trainers,throughput_samples"));
    assert_non_null(strstr(buf_cstr(&out), ",Pending,\"a,\"\"b\"\"\",1,1,,,,,,,"));
    buf_done(&out);
    fixture_done(&f);
}

static void csv_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *csv;
    } rows[] = {
        {"plain text", "plain text"}, {"a,b", "\"a,b\""},   {"a\"b", "\"a\"\"b\""},
        {"a\nb", "\"a\nb\""},         {"a\rb", "\"a\rb\""}, {"", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_INIT;
        csv_text(&out, rows[i].text);
        assert_string_equal(buf_cstr(&out), rows[i].csv);
        buf_done(&out);
    }
}

static void many_failures_are_counted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}", SINGLE_NODE "  repeats: {min: 12}\n",
                 0);
    for (uint32_t n = 10; n <= 12; n++) { /* failed trials: ten are named */
        for (uint32_t t = (uint32_t)f.rows.len; t < n; t++) {
            fixture_end(&f, 0, t, 0, ATTEMPT_FAILED, "trainer/0: exit code 10");
        }
        struct buf out = BUF_INIT;
        report_text(fixture_build(&f, RUN_FAILED), &(struct report_opts){.ascii = true}, &out);
        assert_non_null(strstr(buf_cstr(&out), "FAILED point 0 (all), trial 9, attempt 0: "));
        assert_null(strstr(buf_cstr(&out), "trial 10, attempt 0"));
        _cleanup_(freep) char *more = xasprintf("FAILED %u more: see -o json\n", n - 10);
        if ((strstr(buf_cstr(&out), more) != NULL) != (n > 10)) {
            fail_msg("%u failed trials: expected %s'%s' in\n%s", n, n > 10 ? "" : "no ", more,
                     buf_cstr(&out));
        }
        buf_done(&out);
    }
    fixture_done(&f);
}

/* An excluded combination leaves a hole in the grid; a run that goes on says so. */
static void holes_and_trials_to_come(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "{grid: {pservers: [1, 2], trainers: [1, 2]},\n"
                 "    exclude: [{pservers: 2, trainers: 1}]}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 0);
    fixture_throughput(&f, 0, 0, 40);
    fixture_throughput(&f, 2, 0, 70);
    struct buf out = BUF_INIT;
    report_text(fixture_build(&f, RUN_RUNNING), &(struct report_opts){0}, &out);
    assert_non_null(strstr(buf_cstr(&out), "PSERVERS       1       2\n"
                                           "       1   40.00       -\n"
                                           "       2       -   70.00\n"));
    assert_non_null(strstr(buf_cstr(&out), "2 trials pending; the figures are preliminary"));
    buf_done(&out);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(texts_in_ascii_color_and_wide),
        cmocka_unit_test(markdown),
        cmocka_unit_test(csv_goldens),
        cmocka_unit_test(details_are_shown_as_they_are),
        cmocka_unit_test(lines_fit_and_end_clean),
        cmocka_unit_test(csv_has_the_numbers_of_json),
        cmocka_unit_test(csv_quotes_what_it_must),
        cmocka_unit_test(csv_texts),
        cmocka_unit_test(many_failures_are_counted),
        cmocka_unit_test(holes_and_trials_to_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
