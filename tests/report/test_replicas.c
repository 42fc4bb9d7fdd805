/* The tables by replica, result/replicas.c and report/replicas_sheet.c. */
#include "tests/test.h"
#include "result/replicas.h"

#include <math.h>

#include "report_runs.h"
#include "sheet_forms.h"

#define TRIALS 3

/* Four trainers work 100, 101, 102 and 120 ms in a step, and wait until the slowest is done; the
 * last one moves to another node in the third trial. The second point has one trainer. */
static void make(struct fixture *f)
{
    static const double work_ms[] = {100, 101, 102, 120};
    fixture_init(f, "{grid: {pservers: [1], trainers: [4, 1]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n", 64);
    for (uint32_t t = 0; t < TRIALS; t++) {
        struct attempt_row *row = fixture_throughput(f, 0, t, 100);
        for (size_t i = 0; i < 4; i++) {
            fixture_place(row, 1 + i,
                          i == 3 && t == 2 ? "node-c"
                          : i < 2          ? "node-a"
                                           : "node-b",
                          work_ms[i] + (double)t);
        }
        struct attempt_row *single = fixture_throughput(f, 1, t, 30);
        if (t == 2) { /* what a failed trial left counts for nothing */
            single->outcome = ATTEMPT_FAILED;
        }
    }
    fixture_build(f, RUN_PARTIALLY_FAILED);
}

static const struct replica_line *find(const struct replica_lines *lines, uint32_t point,
                                       enum role role, uint32_t index)
{
    vec_each (const struct replica_line, line, &lines->list) {
        if (line->point == point && line->role == role && line->index == index) {
            return line;
        }
    }
    fail_msg("no line of point %u, %s/%u", point, role_to_string(role), index);
    return NULL;
}

static void near(double expected, double actual)
{
    if (!(fabs(expected - actual) < 1e-6)) {
        fail_msg("expected %.9g, got %.9g", expected, actual);
    }
}

TEST(each_replica_by_hand)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f);
    const struct replica_lines lines = f.result->lines;
    assert_int_equal(lines.list.len, 5 + 2);
    const struct replica_line *slow = find(&lines, 0, ROLE_TRAINER, 3);
    assert_int_equal(slow->n_trials, TRIALS);
    assert_int_equal(slow->n_steps, 8 * TRIALS);
    near(121e6, slow->work_ns);          /* 120, 121, 122: the median */
    near(121.0 / 102 - 1, slow->excess); /* of 120/101, 121/102, 122/103 */
    near(0.1, slow->throttled);          /* 330 ms of 3.3 s */
    near(0, slow->exchange);
    assert_int_equal(slow->n_slowest, 3);
    assert_int_equal(slow->n_compared, 3);
    assert_int_equal(slow->n_nodes, 2);
    assert_string_equal(slow->node, "node-c");
    const struct replica_line *first = find(&lines, 0, ROLE_TRAINER, 0);
    near(101.0 / 103 - 1, first->excess);
    assert_int_equal(first->n_slowest, 0);
    assert_int_equal(first->n_nodes, 1);
    const struct replica_line *alone = find(&lines, 1, ROLE_TRAINER, 0);
    assert_true(isnan(alone->excess));
    assert_int_equal(alone->n_compared, 0);
    assert_int_equal(alone->n_trials, TRIALS - 1);
    /* Phases of 1 to 7 ms: send, wait and receive are 4 + 5 + 7 of 8 steps, in 128 / 30 s. */
    near(16e-3 / (128.0 / 30), alone->exchange);
}

TEST(forms)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f);
    golden_check_forms(sheet_replicas, f.result, "replicas", 100, 1e-9);
    _cleanup_(buf_done) struct buf narrow = BUF_INIT;
    for (unsigned columns = 40; columns <= 64; columns += 24) { /* in parts */
        buf_clear(&narrow);
        sheet_as(sheet_replicas, f.result, &narrow, SHEET_TEXT, .columns = columns);
        assert_non_null(strstr(buf_cstr(&narrow), "  NODE\n"));
        assert_non_null(strstr(buf_cstr(&narrow), "SLOWEST"));
        for (const char *line = buf_cstr(&narrow); *line != '\0'; line += strcspn(line, "\n") + 1) {
            assert_true(strcspn(line, "\n") <= columns);
        }
    }
}

TEST(nothing_has_succeeded)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    fixture_end(&f, 0, 0, 0, ATTEMPT_FAILED, "trainer/0: exit code 1");
    fixture_build(&f, RUN_FAILED);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_replicas, f.result, &out, SHEET_TEXT);
    assert_non_null(strstr(buf_cstr(&out), "No trial has succeeded.\n"));
    buf_clear(&out);
    sheet_as(sheet_replicas, f.result, &out, SHEET_MARKDOWN);
    assert_non_null(strstr(buf_cstr(&out), "No trial has succeeded.\n"));
}
