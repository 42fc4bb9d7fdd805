#include "tests/test.h"
#include "base/str.h"
#include "compare/comparison.h"

#include <math.h>

#include "../golden_csv.h"
#include "../result/result_fixture.h"
#include "sheet_as.h"

#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

/* ---- the pairs, made by hand ---- */

struct pair {
    struct fixture base, candidate;
    struct comparison *comparison;
};

static const double spread[] = {1, 1.004, 0.997, 1.002, 0.999, 1.003, 0.996, 1.001};

static void fill(struct fixture *f, uint32_t n_trials, const double *x, size_t shift)
{
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < n_trials && x[p] > 0; t++) {
            fixture_throughput(f, p, t, x[p] * spread[(t + p + shift) % N_ROWS(spread)]);
        }
    }
}

static void set_kernel(struct fixture *f, const char *json)
{
    vec_each (struct attempt_row, row, &f->rows) {
        vec_each (struct replica_row, r, &row->replicas) {
            replica_set_environment(r, json);
        }
    }
}

static void compare(struct pair *p)
{
    free(p->candidate.def->name);
    free(p->candidate.def->uid);
    p->candidate.def->name = xstrdup("demo-q2v8n");
    p->candidate.def->uid = xstrdup("1c6d9a1f-4a6f-4d1b-8e7c-3b2a4d5e6f70");
    fixture_build(&p->base, RUN_SUCCEEDED);
    fixture_build(&p->candidate, RUN_SUCCEEDED);
    static const double usual[FIXTURE_HISTORY] = {1.004, 0.997, 1.002, 0.999, 1.003};
    struct fixture_history history;
    fixture_history_init(&history, p->base.result, usual);
    const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                          .history = history.list,
                                          .n_history = FIXTURE_HISTORY};
    const char *fix = NULL;
    struct err err = {0};
    const int r =
        comparison_new(p->base.result, p->candidate.result, &params, &p->comparison, &fix, &err);
    fixture_history_done(&history);
    if (r < 0) {
        fail_msg("refused: %s", err.msg);
    }
}

static void init(struct fixture *f, const char *sweep, int repeats, int64_t cpus)
{
    _cleanup_(freep) char *more = xasprintf("%s  repeats: {min: %d}\n", SINGLE_NODE, repeats);
    fixture_init(f, sweep, more, cpus);
}

#define GRID "{grid: {pservers: [1, 2], trainers: [1, 2]}}"

/* Slower, faster and neither; another kernel on some machines. */
static void changes(struct pair *p)
{
    static const double base[] = {35.1, 66.3, 36.4, 70.9, 37.9};
    static const double candidate[] = {35.1, 59.7, 38.2, 70.9, 37.9};
    init(&p->base, GRID, 4, 8);
    init(&p->candidate, GRID, 4, 8);
    fill(&p->base, 4, base, 0);
    fill(&p->candidate, 4, candidate, 3);
    set_kernel(&p->candidate, "{\"blas_core\":\"HASWELL\",\"cpu_model\":\"Intel(R) Xeon(R) CPU "
                              "E5-2620 v4 @ 2.10GHz\",\"kernel\":\"6.1.0-35-amd64\"}");
    compare(p);
}

/* Rehearsals of one trial, some of them missing, points of one side only. */
static void few(struct pair *p)
{
    static const double base[] = {35.1, 66.3, 36.4, 70.9, 37.9};
    static const double candidate[] = {34.1, 0, 36.4, 70.9};
    init(&p->base, GRID, 1, 2);
    init(&p->candidate, "{grid: {pservers: [1], trainers: [1, 2, 4]}}", 1, 2);
    fill(&p->base, 1, base, 0);
    fill(&p->candidate, 1, candidate, 3);
    compare(p);
}

/* Many arrangements, so some are drawn; one name varies, in two systems. */
static void drawn(struct pair *p)
{
    static const double base[] = {263.29, 518.80, 836.26, 326.85, 534.58, 853.30, 16.74, 17.60};
    static const double candidate[] = {281.0, 551.2, 836.26, 326.85, 571.1, 913.3, 16.74, 17.60};
    static const char more[] = SINGLE_NODE "  repeats: {min: 6}\n"
                                           "  systems: [{name: fluid, profile: benchworker},\n"
                                           "            {name: v2, profile: benchworker}]\n";
    static const char sweep[] =
        "{grid: {pservers: [20], trainers: [20, 40, 80], batch_size: [128]}}";
    fixture_init(&p->base, sweep, more, 0);
    fixture_init(&p->candidate, sweep, more, 0);
    fill(&p->base, 6, base, 0);
    fill(&p->candidate, 6, candidate, 3);
    compare(p);
}

/* One point, and names too long for a terminal. */
static void wide(struct pair *p)
{
    static const double base[] = {60, 120, 20, 30}, candidate[] = {57, 113, 20, 30};
    static const char more[] =
        SINGLE_NODE "  repeats: {min: 5}\n"
                    "  parameters:\n"
                    "  - {name: some_long_name, targets: [{roles: [trainer], paths: "
                    "[/spec/priorityClassName]}]}\n";
    static const char sweep[] =
        "{points: [\n"
        "    {pservers: 1, trainers: 1, batch_size: 16, threads: 1, some_long_name: a},\n"
        "    {pservers: 2, trainers: 2, batch_size: 32, threads: 2, some_long_name: b}]}";
    fixture_init(&p->base, sweep, more, 0);
    fixture_init(&p->candidate, sweep, more, 0);
    fill(&p->base, 5, base, 0);
    fill(&p->candidate, 5, candidate, 3);
    compare(p);
}

/* 1.5% slower everywhere: the gate sees it, and it is too little to name a point. */
static void small(struct pair *p)
{
    static const double base[] = {35.1, 66.3, 36.4, 70.9, 37.9};
    double candidate[5];
    for (size_t i = 0; i < N_ROWS(base); i++) {
        candidate[i] = 0.985 * base[i];
    }
    init(&p->base, GRID, 5, 8);
    init(&p->candidate, GRID, 5, 8);
    fill(&p->base, 5, base, 0);
    fill(&p->candidate, 5, candidate, 3);
    compare(p);
}

/* One of five points is slower by far, but three trials are too few for the gate: its interval
 * excludes 1, and no change is named. */
static void alone(struct pair *p)
{
    static const double base[] = {35.1, 66.3, 36.4, 70.9, 37.9};
    static const double candidate[] = {35.1, 66.3, 36.4, 67.9, 37.9};
    init(&p->base, GRID, 3, 8);
    init(&p->candidate, GRID, 3, 8);
    fill(&p->base, 3, base, 0);
    fill(&p->candidate, 3, candidate, 1);
    compare(p);
}

/* One point, ten trials: the exact p is too small to print. A batch size that only one side has. */
static void exact(struct pair *p)
{
    static const double base[] = {60, 70}, candidate[] = {66};
    static const char more[] = "  baseline: {kind: Point, where: {trainers: 1}}\n"
                               "  repeats: {min: 10}\n";
    fixture_init(&p->base, "{grid: {pservers: [1], trainers: [1], batch_size: [16, 32]}}", more, 0);
    fixture_init(&p->candidate, "{grid: {pservers: [1], trainers: [1], batch_size: [16]}}", more,
                 0);
    fill(&p->base, 10, base, 0);
    fill(&p->candidate, 10, candidate, 3);
    compare(p);
}

static const struct {
    const char *name;
    void (*make)(struct pair *p);
} pairs[] = {
    {"changes", changes}, {"few", few},     {"drawn", drawn}, {"wide", wide},
    {"exact", exact},     {"small", small}, {"alone", alone},
};

static void make(struct pair *p, size_t i)
{
    print_message("# pair '%s'\n", pairs[i].name);
    *p = (struct pair){0};
    pairs[i].make(p);
}

static void done(struct pair *p)
{
    comparison_free(p->comparison);
    fixture_done(&p->base);
    fixture_done(&p->candidate);
}

/* ---- the outputs ---- */

TEST(goldens)
{
    for (size_t i = 0; i < N_ROWS(pairs); i++) {
        _cleanup_(done) struct pair p;
        make(&p, i);
        _cleanup_(freep) char *stem = xasprintf("tests/report/golden/compare-%s", pairs[i].name);
        _cleanup_(freep) char *txt = xasprintf("%s.txt", stem);
        _cleanup_(freep) char *csv = xasprintf("%s.csv", stem);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_comparison, p.comparison, &out, SHEET_TEXT);
        golden_check(txt, buf_cstr(&out));
        if (str_eq(pairs[i].name, "changes")) {
            buf_clear(&out);
            sheet_as(sheet_comparison, p.comparison, &out, SHEET_MARKDOWN);
            golden_check("tests/report/golden/compare-changes.md", buf_cstr(&out));
        }
        if (str_eq(pairs[i].name, "few") || str_eq(pairs[i].name, "drawn")) {
            buf_clear(&out);
            sheet_as(sheet_comparison, p.comparison, &out, SHEET_CSV);
            golden_check_csv(csv, buf_cstr(&out), 1e-9);
        }
    }
}

TEST(colors)
{
    static const struct {
        size_t pair;
        const char *text;
    } rows[] = {
        {0, "\033[31mSLOWER\033[0m demo-q2v8n compared with demo-7k3fq: of 5 points 1 Slower"},
        {0, "\033[33mDiffers:\033[0m kernel"},
        {1, "\033[33mREHEARSAL\033[0m"},
        {2, "\033[32mFaster\033[0m demo-q2v8n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(done) struct pair p;
        make(&p, rows[i].pair);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_comparison, p.comparison, &out, SHEET_TEXT, .color = true);
        if (strstr(buf_cstr(&out), rows[i].text) == NULL) {
            fail_msg("expected '%s' in\n%s", rows[i].text, buf_cstr(&out));
        }
    }
}

TEST(who_is_emulated_has_its_name)
{
    static const char *const says[] = {"rehearsal: trainers slept instead of computing",
                                       "rehearsal: workers slept instead of computing"};
    for (size_t i = 0; i < N_ROWS(says); i++) {
        static const double x[] = {35.1, 66.3, 36.4, 70.9, 37.9};
        _cleanup_(done) struct pair p = {0};
        init(&p.base, GRID, 3, 8);
        init(&p.candidate, GRID, 3, 8);
        struct fixture *const sides[] = {&p.base, &p.candidate};
        for (size_t side = 0; side < N_ROWS(sides); side++) {
            sides[side]->def->rehearsal = true;
            sides[side]->def->spec->workload.compute = COMPUTE_EMULATED;
            if (i == 1) {
                fixture_make_workers(sides[side]);
            }
            fill(sides[side], 3, x, 0);
        }
        compare(&p);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_comparison, p.comparison, &out, SHEET_MARKDOWN);
        assert_non_null(strstr(buf_cstr(&out), says[i]));
    }
}

/* Lines fit the terminal as far as the numbered table does, and never end in a blank. */
TEST(lines_fit_and_end_clean)
{
    static const unsigned widths[] = {40, 50, 60, 80, 100, 200};
    for (size_t i = 0; i < N_ROWS(pairs); i++) {
        for (size_t w = 0; w < N_ROWS(widths); w++) {
            _cleanup_(done) struct pair p;
            make(&p, i);
            _cleanup_(buf_done) struct buf out = BUF_INIT;
            sheet_as(sheet_comparison, p.comparison, &out, SHEET_TEXT, .columns = widths[w]);
            for (const char *line = out.data; *line != '\0';) {
                const char *end = strchr(line, '\n');
                assert_non_null(end);
                if ((size_t)(end - line) > widths[w] || (end > line && end[-1] == ' ')) {
                    fail_msg("%s at %u columns: '%.*s'", pairs[i].name, widths[w],
                             (int)(end - line), line);
                }
                line = end + 1;
            }
        }
    }
}

/* The names above the table take 32 characters; they are broken before the candidate's, and only
 * where they must be. */
TEST(names_fit)
{
    static const struct {
        unsigned columns;
        const char *text;
    } rows[] = {
        {32, "demo-7k3fq (base) and demo-q2v8n\n"},
        {31, "demo-7k3fq (base) and\n  demo-q2v8n\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(done) struct pair p;
        make(&p, 0);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_comparison, p.comparison, &out, SHEET_TEXT, .columns = rows[i].columns);
        if (strncmp(buf_cstr(&out), rows[i].text, strlen(rows[i].text)) != 0) {
            fail_msg("%u columns: %.60s", rows[i].columns, buf_cstr(&out));
        }
    }
}
