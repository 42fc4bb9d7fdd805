#include "tests/test.h"
#include "report/export.h"

#include <math.h>

#include "../golden.h"
#include "report_runs.h"

typedef void report_fn(const struct result *r, struct buf *out);
static const struct form {
    const char *name;
    report_fn *make;
} forms[] = {
    {"gobench", gobench_write},
    {"openmetrics", openmetrics_write},
};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))
/* These have something that the others have not. */
static const char *const runs[] = {"sweep", "trouble", "wide", "mixed", "acceleration"};
#define N_RUNS (sizeof(runs) / sizeof(runs[0]))

/* Attempts one after the other, of four seconds each; the last one first. */
static void date(struct fixture *f)
{
    const size_t n = f->rows.len;
    for (size_t i = 0; i < n; i++) {
        struct attempt_row *row = &f->rows.items[i];
        row->started_unix_ms = f->def->created_unix_ms + (int64_t)(n - i) * 5000;
        row->ended_unix_ms = row->started_unix_ms + 4000;
    }
    fixture_build(f, f->result->phase);
}

TEST(goldens)
{
    for (size_t i = 0; i < N_RUNS * N_FORMS; i++) {
        const char *run = runs[i / N_FORMS];
        const struct form *form = &forms[i % N_FORMS];
        _cleanup_(fixture_done) struct fixture f;
        report_run_find(run)->make(&f);
        date(&f);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        form->make(f.result, &out);
        _cleanup_(freep) char *path = xasprintf("tests/report/golden/%s.%s", run, form->name);
        golden_check(path, buf_cstr(&out));
    }
}

/* Nothing was measured, nothing was tried: each form says so and is whole. */
TEST(nothing)
{
    static const char *const expected[] = {
        ("benchmark: demo\nmode: measured\n# run: demo-7k3fq\n# phase: Running\n"
         "# point 0: 0 of 1 trials succeeded\n"),
        "# EOF\n",
    };
    for (size_t i = 0; i < N_FORMS; i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                     "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 8);
        fixture_build(&f, RUN_RUNNING);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        forms[i].make(f.result, &out);
        assert_non_null(strstr(buf_cstr(&out), expected[i]));
        assert_null(strstr(buf_cstr(&out), "nan"));
        assert_null(strstr(buf_cstr(&out), "Benchmark"));
    }
}

/* Texts that a definition or a machine may have, and that a format gives a meaning of its own. */
TEST(hostile_texts)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{points: [{pservers: 1, trainers: 1, p: \"a b/c=d%-3\"},\n"
                 "          {pservers: 1, trainers: 1, p: 'q\"b\\n'}]}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"
                 "  parameters:\n"
                 "  - {name: p, targets: [{roles: [trainer], paths: [/spec/priorityClassName]}]}\n",
                 0);
    for (uint32_t p = 0; p < 2; p++) {
        struct attempt_row *row = fixture_throughput(&f, p, 0, 40);
        vec_each (struct replica_row, replica, &row->replicas) {
            free(replica->environment_json);
            replica->environment_json =
                xstrdup("{\"cpu_model\":\"one\\nBenchmarkTwo 1 1 samples/s\"}");
        }
    }
    fixture_build(&f, RUN_SUCCEEDED);
    static const char *const expected[] = {
        "\ncpu: one BenchmarkTwo 1 1 samples/s\n",
        "\nBenchmarkDemo/p=a%20b%2Fc%3Dd%25-3/pservers=1/trainers=1-2\t",
        "\nBenchmarkDemo/p=q\"b\\n/pservers=1/trainers=1-2\t",
        ",other=\"p=a b/c=d%-3\"}",
        ",other=\"p=q\\\"b\\\\n\"}",
    };
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    for (size_t i = 0; i < N_FORMS; i++) {
        forms[i].make(f.result, &out);
    }
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        if (strstr(buf_cstr(&out), expected[i]) == NULL) {
            fail_msg("'%s' is not in\n%s", expected[i], buf_cstr(&out));
        }
    }
}

/* What was not simply measured is never taken for it. */
TEST(modes)
{
    static const struct {
        bool is_rehearsal, is_simulated, is_emulated;
        const char *expected[N_FORMS];
    } rows[] = {
        {false, false, false, {"mode: measured\n", "mode=\"measured\"}"}},
        {true, false, false, {"mode: rehearsal\n", "mode=\"rehearsal\"}"}},
        {false, true, false, {"mode: simulated\n", "mode=\"simulated\"}"}},
        {false, false, true, {"mode: emulated\n", "mode=\"emulated\"}"}},
        {true, false, true, {"mode: rehearsal, emulated\n", "mode=\"rehearsal, emulated\"}"}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * N_FORMS; i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_run_find("sweep")->make(&f);
        f.def->rehearsal = rows[i / N_FORMS].is_rehearsal;
        f.result->simulated = rows[i / N_FORMS].is_simulated;
        f.def->spec->workload.compute =
            rows[i / N_FORMS].is_emulated ? COMPUTE_EMULATED : COMPUTE_REAL;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        forms[i % N_FORMS].make(f.result, &out);
        if (strstr(buf_cstr(&out), rows[i / N_FORMS].expected[i % N_FORMS]) == NULL) {
            fail_msg("no '%s'", rows[i / N_FORMS].expected[i % N_FORMS]);
        }
    }
}

/* A step's time is that of the trainer that took longest. */
TEST(longest_trainer_gives_the_step)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 1}\n", 8);
    struct attempt_row *row = fixture_throughput(&f, 0, 0, 64);
    for (size_t i = 1; i < 3; i++) {
        struct summary s = {.samples = 256,
                            .duration_ns = (int64_t)(3 - i) * 1000000000,
                            .steps = (uint32_t)i + 7,
                            .loss_first = NAN,
                            .loss_last = NAN};
        fixture_say(row, i, &s);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    gobench_write(f.result, &out);
    assert_non_null(strstr(buf_cstr(&out), "\t8\t250000000 ns/op\t"));
}
