#include "tests/test.h"
#include "report/export.h"

#include "../golden.h"
#include "base/str.h"
#include "report_runs.h"

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

static void put_dated(const char *run, struct buf *out)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find(run)->make(&f);
    date(&f);
    openmetrics_write(f.result, out);
}

TEST(golden)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_dated("trouble", &out);
    golden_check("tests/report/golden/trouble.openmetrics", buf_cstr(&out));
}

/* The golden has one trial a point and one unit. Which family has which figure: each in the unit
 * of its point, with its limits. */
TEST(families_of_figures)
{
#define OURS                                                                                       \
    "{run=\"demo-7k3fq\",benchmark=\"demo\",system=\"ours\",point=\"0\",pservers=\"1\",trainers="  \
    "\"1\","
#define THEIRS                                                                                     \
    "{run=\"demo-7k3fq\",benchmark=\"demo\",system=\"theirs\",point=\"3\",pservers=\"1\","         \
    "trainers=\"2\","
    static const char rest[] = "batch_size=\"16\",threads=\"1\",other=\"\"} ";
    static const struct {
        const char *family, *labels, *value;
    } rows[] = {
        {"throughput_samples_per_second", OURS, "40.99999999"},
        {"throughput_low_samples_per_second", OURS, "38.581445"},
        {"throughput_high_samples_per_second", OURS, "43.552885"},
        {"throughput_tokens_per_second", THEIRS, "16001.00006"},
        {"throughput_low_tokens_per_second", THEIRS, "15998.5158"},
        {"throughput_high_tokens_per_second", THEIRS, "16003.4847"},
        {"speedup_ratio", THEIRS, "0.66668054"},
        {"speedup_low_ratio", THEIRS, "0.66659536"},
        {"speedup_high_ratio", THEIRS, "0.66676573"},
        {"efficiency_ratio", THEIRS, "0.33334027"},
        {"efficiency_low_ratio", THEIRS, "0.33329768"},
        {"efficiency_high_ratio", THEIRS, "0.33338286"},
        {"baseline_throughput_samples_per_second", OURS, "201.000000"},
        {"baseline_throughput_tokens_per_second", THEIRS, "24001.0005"},
        {"trials_succeeded", THEIRS, "3 "},
    };
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    put_dated("mixed", &out);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *line = xasprintf("\nbenchd_point_%s%s%s%s", rows[i].family,
                                                rows[i].labels, rest, rows[i].value);
        if (strstr(buf_cstr(&out), line) == NULL) {
            fail_msg("'%s' is not in\n%s", line, buf_cstr(&out));
        }
    }
    assert_non_null(strstr(buf_cstr(&out), "\nbenchd_trial_throughput_tokens_per_second{"));
}

TEST(nothing_was_measured)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 8);
    fixture_build(&f, RUN_RUNNING);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    openmetrics_write(f.result, &out);
    assert_true(str_has_suffix(buf_cstr(&out), "# EOF\n"));
    assert_null(strstr(buf_cstr(&out), "nan"));
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
        ",other=\"p=a b/c=d%-3\"}",
        ",other=\"p=q\\\"b\\\\n\"}",
    };
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    openmetrics_write(f.result, &out);
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
        const char *expected;
    } rows[] = {
        {false, false, false, "mode=\"measured\"}"},
        {true, false, false, "mode=\"rehearsal\"}"},
        {false, true, false, "mode=\"simulated\"}"},
        {false, false, true, "mode=\"emulated\"}"},
        {true, false, true, "mode=\"rehearsal, emulated\"}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_run_find("sweep")->make(&f);
        f.def->rehearsal = rows[i].is_rehearsal;
        f.result->simulated = rows[i].is_simulated;
        f.def->spec->workload.compute = rows[i].is_emulated ? COMPUTE_EMULATED : COMPUTE_REAL;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        openmetrics_write(f.result, &out);
        if (strstr(buf_cstr(&out), rows[i].expected) == NULL) {
            fail_msg("no '%s'", rows[i].expected);
        }
    }
}
