/* What readers of a page alone asked of it, each with a run of its own. */
#include "tests/test.h"
#include "base/str.h"
#include "core/environment.h"
#include "report/prose.h"
#include "report/table.h"

#include <math.h>

#include "report_runs.h"
#include "sheet_as.h"

/* The body, with a NUL in place of the script. */
static const char *page_of(const struct fixture *f, struct buf *out)
{
    const struct run_page page = {
        .result = f->result,
        .created = "2026-11-20T09:12:51Z",
        .program = "benchctl 0.1.0",
    };
    sheet_as(sheet_page, &page, out, SHEET_HTML);
    *strstr(buf_cstr(out), "<script>") = '\0';
    return strstr(buf_cstr(out), "<body>");
}

static void expect(const char *page, const char *text)
{
    if (strstr(page, text) == NULL) {
        fail_msg("the page does not say '%s': %.3000s", text, page);
    }
}

static struct attempt_row *make_trial(struct fixture *f, uint32_t point, uint32_t trial, double x,
                                      const char *environment)
{
    struct attempt_row *row = fixture_throughput(f, point, trial, x);
    for (size_t k = 0; k < row->replicas.len; k++) {
        replica_set_environment(&row->replicas.items[k], environment);
    }
    return row;
}

#define BOTH "\"cpu_model\":\"X\",\"kernel\":\"6.1\""

/* A row for each kind of machine and build. */
TEST(environments_once)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {trainers: [2]}}",
                 SINGLE_NODE
                 "  repeats: {min: 1}\n"
                 "  systems: [{name: a, profile: pytorch}, {name: b, profile: tensorflow}]\n"
                 "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}, "
                 "batchSize: 16}\n"
                 "  roles: {trainer: {replicas: {from: trainers},\n"
                 "                    template: {spec: {containers: [{name: main}]}}}}\n",
                 8);
    assert_int_equal(f.def->matrix.n_points, 4);
    for (uint32_t p = 0; p < 4; p++) {
        const bool is_a = f.def->matrix.points[p].system == 0;
        struct attempt_row *row = make_trial(
            &f, p, 0, 40 + p,
            is_a ? "{\"build\":\"PyTorch 2\"," BOTH ",\"precision\":\"bf16\"}" : "{" BOTH "}");
        for (size_t k = 0; k < row->replicas.len; k++) {
            replica_place(&row->replicas.items[k], "vm-1", NULL);
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const char *page = page_of(&f, &out);
    expect(page, "<th>SYSTEM</th><th class=\"r\">REPLICAS</th><th>CPU</th><th>KERNEL</th>"
                 "<th>BUILD</th></tr>");
    expect(page, "<td>a</td><td class=\"r\">3</td><td>X</td><td>6.1</td><td>PyTorch 2</td></tr>");
    expect(page, "<td>b</td><td class=\"r\">3</td><td>X</td><td>6.1</td><td>-</td></tr>");
    expect(page, "<h2>Nodes</h2>");
}

/* A legend has what can be seen. */
TEST(a_legend_has_what_is_there)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("scaling")->make(&f); /* forward and wait */
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const char *page = page_of(&f, &out);
    const char *bars = strstr(page, "id=\"phases-title\"");
    assert_non_null(bars);
    *strstr(bars, "</svg>") = '\0';
    expect(bars, ">forward</text>");
    expect(bars, ">wait</text>");
    assert_null(strstr(bars, ">send</text>"));
    assert_null(strstr(bars, ">data</text>"));
}

/* A rule that stands in the definition has no name, and trials are counted. */
TEST(notes_say_what_is_so)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(
        &f, "{grid: {pservers: [1], trainers: [1, 2]}}",
        "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 4}\n"
        "  systems: [{name: mine, profile: of-mine, command: [train], log: {lines: [{kind: "
        "Step, pattern: '(?<rate>) x'}]}}]\n",
        8);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < 4 - p; t++) {
            struct attempt_row *row = fixture_throughput(&f, p, t, 40 * (p + 1) + t);
            fixture_count_by(row, UNIT_SAMPLES, "inline");
        }
    }
    fixture_end(&f, 1, 3, 0, ATTEMPT_FAILED, "exit code 1");
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    struct buf out = BUF_INIT;
    const char *page = page_of(&f, &out);
    expect(page, "of its log, by a rule in the definition: mean of 8 step lines");
    expect(page, "median over trials; intervals: StudentTLog.");
    buf_done(&out);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

/* The notes have each warning once; the first one stands at the top of the page, too. */
TEST(a_warning_is_said_once)
{
    size_t n = 0;
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_runs[i].make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT, want = BUF_INIT;
        const char *page = page_of(&f, &out);
        vec_each (const struct warning, w, &f.result->warnings) {
            html_escape(w->message, &want);
            assert_int_equal(count(page, buf_cstr(&want)), 1 + (w == f.result->warnings.items));
            buf_clear(&want);
            n++;
        }
    }
    assert_true(n > REPORT_RUNS / 2);
}
