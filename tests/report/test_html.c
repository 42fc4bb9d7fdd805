/* The page: golden/pages.txt has a digest of each run's page, so that no byte changes unseen; what
 * a page must say and must not have is checked by hand. The sentences are those of the goldens of
 * test_report.c. */
#include "tests/test.h"

#include <inttypes.h>

#include "../golden.h"
#include "report/charts.h"
#include "report/style.h"
#include "report_runs.h"
#include "sheet_as.h"

static void put_page(const struct result *r, struct buf *out)
{
    const struct run_page page = {
        .result = r,
        .created = "2026-11-20T09:12:51Z",
        .program = "benchctl 0.1.0",
    };
    sheet_as(sheet_page, &page, out, SHEET_HTML);
}

/* A browser takes the hash of what stands between the tags. `name` is opened once. */
static void check_own(const char *page, const char *name, const char *text)
{
    _cleanup_(freep) char *whole = xasprintf("<%s>%s</%s>", name, text, name),
                          *open = xasprintf("<%s", name);
    const char *found = strstr(page, open);
    assert_non_null(found);
    assert_int_equal(strncmp(found, whole, strlen(whole)), 0);
    assert_null(strstr(found + 1, open));
}

/* Nothing that a browser would load, run or send; only its own style and script are allowed. */
static void check_closed(const char *page)
{
    static const char *const forbidden[] = {"<script ", "javascript:", " src=",   "http://",
                                            "https://", " style=",     "@import", "url(",
                                            "<link",    "<iframe"};
    static const char *const not_in_script[] = {"fetch", "XMLHttp",   "Beacon", "Socket",
                                                "eval",  "innerHTML", "import", "http:"};
    _cleanup_(freep) char *text = xstrdup(page);
    char *script = strstr(text, "<script>");
    assert_non_null(script);
    *script = '\0'; /* it is the last of the page */
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        if (strstr(text, forbidden[i]) != NULL) {
            fail_msg("the page has '%s'", forbidden[i]);
        }
    }
    for (size_t i = 0; i < sizeof(not_in_script) / sizeof(not_in_script[0]); i++) {
        if (strstr(page_script, not_in_script[i]) != NULL) {
            fail_msg("the script has '%s'", not_in_script[i]);
        }
    }
    _cleanup_(freep) char *policy =
        xasprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; ",
                  page_style_hash, page_script_hash);
    assert_non_null(strstr(page, policy));
    check_own(page, "style", page_style);
    check_own(page, "script", page_script);
}

/* FNV-1a of a text. */
static uint64_t digest(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

TEST(pages)
{
    _cleanup_(buf_done) struct buf pages = BUF_INIT;
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        print_message("# run '%s'\n", report_runs[i].name);
        _cleanup_(fixture_done) struct fixture f;
        report_runs[i].make(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        put_page(f.result, &out);
        check_closed(buf_cstr(&out));
        *strstr(buf_cstr(&out), "<script>") = '\0'; /* the script is the same in each */
        drop_more_figures(&out);
        buf_printf(&pages, "%s %016" PRIx64 "\n", report_runs[i].name,
                   digest(strstr(buf_cstr(&out), "<body>")));
    }
    golden_check("tests/report/golden/pages.txt", buf_cstr(&pages));
}

static void assert_answer(const struct fixture *f, const char *text)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_page(f->result, &out);
    _cleanup_(freep) char *want = xasprintf("<p class=\"answer\">%s</p>", text);
    if (strstr(buf_cstr(&out), want) == NULL) {
        fail_msg("expected '%s' in %.900s", want, strstr(buf_cstr(&out), "<p class=\"answer\""));
    }
}

/* Who reads the answer alone must not choose a point that its baseline beats. */
TEST(the_answer_says_that_a_baseline_is_faster)
{
    static const struct {
        double baseline[3], points[3]; /* of each trial */
        const char *text;
    } rows[] = {
        {{100, 101, 102},
         {140, 141, 142},
         "141.0 samples/s (95%: 138.5..143.5), 1.396 times the baseline, an efficiency of 69.8% "
         "(95%: 68.4..71.2%)."},
        {{100, 101, 102},
         {70, 71, 72},
         "71.00 samples/s (95%: 68.55..73.52), 0.7030 times the baseline, an efficiency of 35.1% "
         "(95%: 34.1..36.2%); the baseline is faster."},
        {{100, 110, 120},
         {70, 100, 130},
         "100.0 samples/s (95%: 44.79..209.7), 0.9091 times the baseline, an efficiency of "
         "45.5% (95%: 21.9..89.1%); the baseline may be faster."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                     "  baseline: {kind: SingleNode}\n  repeats: {min: 3}\n", 32);
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&f, 0, t, rows[i].points[t]);
            fixture_throughput(&f, 1, t, rows[i].baseline[t]);
        }
        fixture_build(&f, RUN_SUCCEEDED);
        assert_answer(&f, rows[i].text);
    }
}

/* It says whether there is a point to choose, and not only which figure is the highest. */
TEST(the_answer_says_which_point_to_choose)
{
    static const struct {
        double trials[3][3]; /* of each point: trainers 1, 2, 4 */
        uint32_t n;          /* trials of each */
        const char *text;
    } rows[] = {
        {{{100, 101, 102}, {140, 141, 142}, {90, 91, 92}},
         3,
         "The fastest of 3 points is trainers 2: 141.0 samples/s (95%: 138.5..143.5), 1.396 times "
         "the baseline, an efficiency of 69.8% (95%: 68.4..71.2%)."},
        {{{100, 120, 140}, {101, 125, 142}, {99, 119, 139}},
         3,
         "The highest throughput of 3 points is that of trainers 2: 125.0 samples/s (95%: "
         "79.21..186.3), 1.042 times the baseline, an efficiency of 52.1% (95%: 34.7..75.2%); "
         "no clear winner: none of the other 2 points is significantly slower; more repeats "
         "may separate them."},
        {{{100, 101, 102}, {99, 101, 103}, {40, 41, 42}},
         3,
         "The highest throughput of 3 points is that of trainers 2: 101.0 samples/s (95%: "
         "96.14..106.1), 1.000 times the baseline, an efficiency of 50.0% (95%: 48.0..52.1%); "
         "2 of 3 points may be the fastest, the other is slower; more repeats may separate "
         "them."},
        {{{100}, {140}, {90}},
         1,
         "The highest throughput of 3 points is that of trainers 2: 140.0 samples/s, 1.400 "
         "times the baseline, an efficiency of 70.0%; no clear winner: none of the other 2 "
         "points is significantly slower; to decide, each point needs 3 trials or more."},
        {{{140, 141, 142}, {100, 101, 102}, {90, 91, 92}},
         3,
         "The fastest of 3 points is trainers 1: 141.0 samples/s (95%: 138.5..143.5)."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(freep) char *rest = xasprintf(
            "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: %u}\n", rows[i].n);
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}", rest, 32);
        for (uint32_t p = 0; p < 3; p++) {
            for (uint32_t t = 0; t < rows[i].n; t++) {
                fixture_throughput(&f, p, t, rows[i].trials[p][t]);
            }
        }
        fixture_build(&f, RUN_SUCCEEDED);
        assert_answer(&f, rows[i].text);
    }
}

/* The answer, the charts, the table, and then what is folded: the order of a page. */
TEST(the_order_of_a_page)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    report_run_find("trouble")->make(&f);
    put_page(f.result, &out);
    static const char *const want[] = {
        "</header>\n<main>\n<p class=\"answer\">",
        "<div class=\"bad\">Failed: point 1 (trainers 2), trial 1",
        "Threshold missed: efficiency &gt;= 0.95",
        "<a href=\"#notes\">2 warnings</a>, first of all: rehearsal",
        "<figure><figcaption><h2>Throughput by trainers",
        "trainers 4: failed: trainer/1 wrote no summary</title>",
        "<h2>Efficiency by trainers",
        "<h2>Points</h2>",
        "<details class=\"fold\"><summary><h2>Notes</h2>\n</summary>\n<div id=\"notes\">",
        "<h3>More figures</h3>",
        "<summary><h2>Run it again",
    };
    const char *at = buf_cstr(&out);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const char *found = strstr(at, want[i]);
        if (found == NULL) {
            fail_msg("the page does not say '%s', or earlier, after %.400s", want[i], at);
        }
        at = found;
    }
    assert_null(strstr(buf_cstr(&out), "do not rank systems"));
    assert_null(strstr(buf_cstr(&out), "3 are needed")); /* no law of two numbers is no news */
}

/* Words of the definition and of replicas' output are text. */
TEST(what_comes_from_outside_is_escaped)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2], tag: [\"<b>&\\\"'\"]}}",
                 "  description: \"<script>alert(1)</script>\"\n  repeats: {min: 1}\n"
                 "  parameters: [{name: tag, targets: [{roles: [trainer], env: [TAG]}]}]\n",
                 8);
    fixture_end(&f, 0, 0, 0, ATTEMPT_FAILED, "trainer/0: </li><img src=x onerror=alert(1)>");
    fixture_build(&f, RUN_FAILED);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_page(f.result, &out);
    check_own(buf_cstr(&out), "script", page_script);
    assert_null(strstr(buf_cstr(&out), "<img"));
    assert_null(strstr(buf_cstr(&out), "<b>"));
    assert_non_null(strstr(buf_cstr(&out), "&lt;script&gt;alert(1)&lt;/script&gt;"));
}

static enum sheet_chart_answer draw(const struct result *r, const char *chart, struct buf *out)
{
    struct sheet sheet;
    sheet_init(&sheet, SHEET_SVG, NULL);
    const enum sheet_chart_answer answer = sheet_chart(&sheet, r, chart);
    sheet_write(&sheet, out);
    return answer;
}

/* A chart as a file of its own names its namespace and brings its style. */
TEST(charts_as_files)
{
    struct fixture f;
    report_run_find("sweep")->make(&f);
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        struct buf out = BUF_INIT;
        /* for runs without an axis; without evaluations */
        if (strcmp(charts_name(i), "points") == 0 || strstr(charts_name(i), "time") != NULL) {
            assert_int_equal(draw(f.result, charts_name(i), &out), SHEET_CHART_EMPTY);
            continue;
        }
        assert_int_equal(draw(f.result, charts_name(i), &out), SHEET_CHART_MADE);
        assert_int_equal(strncmp(buf_cstr(&out), "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 40),
                         0);
        assert_non_null(strstr(buf_cstr(&out), chart_style));
        buf_done(&out);
    }
    struct buf out = BUF_INIT;
    assert_int_equal(draw(f.result, "pie", &out), SHEET_CHART_UNKNOWN);
    assert_int_equal(out.len, 0);
    fixture_done(&f);
    report_run_find("systems")->make(&f);
    assert_int_equal(draw(f.result, "points", &out), SHEET_CHART_MADE);
    buf_clear(&out);
    assert_int_equal(draw(f.result, "throughput", &out), SHEET_CHART_EMPTY);
    fixture_done(&f);
    report_run_find("diagonal")
        ->make(&f); /* a point a line: the ideal has no line, and the legend none */
    assert_int_equal(draw(f.result, "throughput", &out), SHEET_CHART_MADE);
    assert_null(strstr(buf_cstr(&out), "dashed"));
    buf_clear(&out);
    fixture_done(&f);
    report_run_find("single-node")->make(&f);
    assert_int_equal(draw(f.result, "efficiency", &out), SHEET_CHART_EMPTY);
    assert_int_equal(out.len, 0);
    buf_done(&out);
    fixture_done(&f);
}

/* The page of several systems, read alone: each line answers a question that a reader had. */
TEST(systems_are_explained_and_not_ranked)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("systems")->make(&f);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_page(f.result, &out);
    *strstr(buf_cstr(&out), "<script>") = '\0';
    static const char *const want[] = {
        "; batch_size 16; trainers 2; 3 points and 3 for the baseline",
        "<p class=\"answer\">The fastest of 3 points is own, pservers 1: 103.8 samples/s (95%: "
        "80.66..155.4), ",
        "; the baseline may be as fast.</p>",
        "1 warning</a>: rehearsal: point 0 needs 3 busy threads, but the run had 2 CPUs; compare "
        "its numbers only with each other.</p>",
        "Throughput by point",
        "ideal: baseline times trainers or workers",
        "Baseline SingleNode, point 5: mpi, 1 worker, batch_size 16: ",
        " Each system has its own baseline, so efficiencies do not rank systems",
        "; where processes share CPUs, a phase includes waiting for one",
        "2 of 3 points have no bar, because their programs do not report the parts of a step.",
        "All replicas ran on one machine, with 2 CPUs for them.",
    };
    const char *at = strstr(buf_cstr(&out), "<body>");
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const char *found = strstr(at, want[i]);
        if (found == NULL) {
            fail_msg("the page does not say '%s', or earlier than it should, after '%.300s'",
                     want[i], at);
        }
        at = found;
    }
    static const char *const not_wanted[] = {
        "0 pservers",  "Most workers", "dashed",           "more baselines",
        "by pservers", "EFF/CPU is",   "<dt>Scaling</dt>",
    };
    for (size_t i = 0; i < sizeof(not_wanted) / sizeof(not_wanted[0]); i++) {
        if (strstr(strstr(buf_cstr(&out), "<body>"), not_wanted[i]) != NULL) {
            fail_msg("the page says '%s'", not_wanted[i]);
        }
    }
}

/* In the line about the run, and in the warning. */
TEST(who_is_emulated_has_its_name)
{
    static const char *const names[] = {"trainers", "workers"};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                     "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 1}\n", 64);
        f.def->rehearsal = true;
        f.def->spec->workload.compute = COMPUTE_EMULATED;
        if (i == 1) {
            fixture_make_workers(&f);
        }
        fixture_throughput(&f, 0, 0, 70);
        fixture_throughput(&f, 1, 0, 120);
        fixture_build(&f, RUN_SUCCEEDED);
        _cleanup_(freep) char *run = xasprintf("emulated %s, 0 ms a step", names[i]);
        _cleanup_(freep) char *warning = xasprintf("rehearsal: the %s are emulated, ", names[i]);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        put_page(f.result, &out);
        assert_non_null(strstr(buf_cstr(&out), warning));
        assert_non_null(strstr(buf_cstr(&out), run));
        buf_clear(&out);
        sheet_as(sheet_points, f.result, &out, SHEET_MARKDOWN);
        assert_non_null(strstr(buf_cstr(&out), warning));
    }
}

/* 44 points of 5 trials. */
TEST(a_large_page_is_small)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{grid: {pservers: [1, 2, 4, 8], trainers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 5}\n", 64);
    for (uint32_t p = 0; p < f.def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < 5; t++) {
            fixture_throughput(&f, p, t, 30 * (p + 1) + t);
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_page(f.result, &out);
    print_message("# %zu bytes\n", out.len);
    assert_in_range(out.len, 30000, 250000);
}
