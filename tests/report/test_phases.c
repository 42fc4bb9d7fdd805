/* The tables by phase, report/phases_sheet.c. */
#include "tests/test.h"

#include <math.h>

#include "../result/result_fixture.h"
#include "sheet_forms.h"

#define MS INT64_C(1000000)

/* A trainer's: ms of 10 steps in which it computed, waited for the exchange, and used the CPU. */
static void say_trainer(struct attempt_row *row, size_t i, int64_t step_ms, int64_t exposed_ms,
                        int64_t cpu_ms)
{
    const struct summary s = {
        .samples = 128,
        .duration_ns = 10 * step_ms * MS,
        .steps = 10,
        .phase_ns = {10 * MS, 3 * (step_ms - exposed_ms) * MS, 7 * (step_ms - exposed_ms) * MS,
                     2 * exposed_ms * MS, 3 * exposed_ms * MS, 0, 5 * exposed_ms * MS},
        .bytes_tx = 610000000,
        .bytes_rx = 610000000,
        .cpu_ns = 10 * cpu_ms * MS,
        .loss_first = NAN,
        .loss_last = NAN,
    };
    fixture_say(row, i, &s);
}

static void say_server(struct attempt_row *row, size_t i, int64_t step_ms, int64_t busy_ms,
                       int64_t late_ms)
{
    const struct summary s = {
        .duration_ns = 10 * step_ms * MS,
        .steps = 10,
        .phase_ns = {0, 0, 0, 3 * busy_ms * MS, 10 * (step_ms - busy_ms) * MS, busy_ms * MS,
                     6 * busy_ms * MS},
        .bytes_tx = 1220000000,
        .bytes_rx = 1220000000,
        .cpu_ns = 10 * busy_ms * MS,
        .loss_first = NAN,
        .loss_last = NAN,
        .last = {1, 9, 10 * late_ms * MS},
    };
    fixture_say(row, i, &s);
}

/* One or two servers and two or four trainers: each point is limited by something else. */
static void make(struct fixture *f)
{
    static const struct {
        int64_t exposed_ms, busy_ms, late_ms;
    } points[] = {{10, 100, 0}, {200, 300, 10}, {200, 150, 150}, {200, 100, 0}};
    fixture_init(f, "{grid: {pservers: [1, 2], trainers: [2, 4]}}",
                 "  baseline: {kind: Point, where: {pservers: 1, trainers: 2}}\n", 0);
    for (uint32_t p = 0; p < 4; p++) {
        struct attempt_row *row = fixture_throughput(f, p, 0, 100);
        const uint32_t n_servers = f->def->matrix.points[p].replicas[ROLE_PSERVER];
        for (uint32_t i = 0; i < row->replicas.len; i++) {
            if (i < n_servers) {
                say_server(row, i, 500, points[p].busy_ms + 10 * i, points[p].late_ms);
            } else {
                say_trainer(row, i, 500, points[p].exposed_ms, 480);
            }
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

TEST(three_forms)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f);
    golden_check_forms(sheet_phases, f.result, "phases", 80, 1e-12);
}

/* Where no limit is known, as without a server, the row's point is told all the same. */
TEST(every_point_is_told)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 "  baseline: {kind: SingleNode}\n", 0);
    fixture_throughput(&f, 0, 0, 100);
    fixture_throughput(&f, 2, 0, 60);
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    _cleanup_(buf_done) struct buf text = BUF_INIT, markdown = BUF_INIT;
    sheet_as(sheet_phases, f.result, &text, SHEET_TEXT, .columns = 120);
    sheet_as(sheet_phases, f.result, &markdown, SHEET_MARKDOWN);
    assert_non_null(strstr(buf_cstr(&text), "\nPoint 0 (trainers 2) is limited by "));
    assert_null(strstr(buf_cstr(&text), "\nPoint 1")); /* has no row */
    assert_non_null(strstr(buf_cstr(&text), "\nPoint 2: trainers 1, baseline\n"));
    assert_non_null(strstr(buf_cstr(&markdown), "\n- Point 2: trainers 1, baseline\n"));
}

TEST(a_log_has_phases_and_no_bytes)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    fixture_count(fixture_throughput(&f, 0, 0, 100), UNIT_SAMPLES);
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf text = BUF_INIT, csv = BUF_INIT;
    sheet_as(sheet_phases, f.result, &text, SHEET_TEXT, .columns = 120);
    sheet_as(sheet_phases, f.result, &csv, SHEET_CSV);
    assert_non_null(strstr(buf_cstr(&text), "   -\n"));
    assert_non_null(strstr(buf_cstr(&csv), ",,,,Compute,")); /* cpu_s, too */
}

TEST(a_narrow_terminal_breaks_no_number)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    make(&f);
    sheet_as(sheet_phases, f.result, &text, SHEET_TEXT, .columns = 60);
    size_t n_heads = 0;
    for (const char *line = buf_cstr(&text), *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        assert_true(end - line <= 60);
        n_heads += strncmp(line, "POINT ROLE ", 11) == 0;
    }
    assert_int_equal(n_heads, 2);
}

TEST(no_phases_are_known)
{
    static const char words[] = "No replica of a succeeded trial reports how it spent its time.";
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    fixture_end(&f, 0, 0, 0, ATTEMPT_FAILED, "it failed");
    fixture_build(&f, RUN_FAILED);
    check_no_rows(sheet_phases, f.result, words);
}
