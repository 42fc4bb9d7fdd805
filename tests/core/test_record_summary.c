/* Summaries: their series is small and exact enough, and all of it fits a termination message. */
#include "tests/test.h"
#include "core/record.h"

#include <math.h>

#include "../golden.h"
#include "record_fixture.h"
#include "summary_fixture.h"

static struct summary golden_summary(void)
{
    return (struct summary){
        .samples = 128,
        .duration_ns = 3280000000,
        .steps = 8,
        .phase_ns = {8000000, 1032000000, 2072000000, 72000000, 32000000, 0, 64000000},
        .bytes_tx = 486400000,
        .bytes_rx = 486400000,
        .loss_first = 2.375,
        .loss_last = 2.25,
        .throttled_ns = 0,
        .max_rss_bytes = 734003200,
        .cpu_ns = 3104000000,
        .environment_digest =
            (char *)"5b1c6a0f6f6c2d1f9a3e4d8b7c605142333435363738394041424344454647aa",
    };
}

static const int64_t golden_steps_ns[8] = {412000000, 410000000, 409000000, 411000000,
                                           410000000, 408000000, 410000000, 410000000};

TEST(golden_summary_is_what_is_written)
{
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/summary.json");
    struct summary s = golden_summary();
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    write_summary(&out, &trainer_1, &s, golden_steps_ns, 8);
    assert_string_equal(buf_cstr(&out), text);

    _cleanup_(record_done) struct record r;
    read_ok(out.data, out.len, &r);
    assert_int_equal(r.type, RECORD_SUMMARY);
    assert_int_equal(r.summary.samples, 128);
    assert_int_equal(r.summary.duration_ns, 3280000000);
    assert_memory_equal(r.summary.phase_ns, s.phase_ns, sizeof(s.phase_ns));
    assert_string_equal(r.summary.environment_digest, s.environment_digest);
    assert_true(r.summary.loss_first == 2.375);
    assert_int_equal(r.summary.max_rss_bytes, 734003200);
    assert_int_equal(r.summary.cpu_ns, 3104000000);
    assert_int_equal(r.summary.series.k, 1);
    assert_int_equal(r.summary.series.n, 8);
    _cleanup_(freep) double *us = series_decode(&r.summary.series);
    for (int i = 0; i < 8; i++) {
        double expected = (double)golden_steps_ns[i] / 1e3;
        if (fabs(us[i] / expected - 1) > 0.0002) {
            fail_msg("step %d: expected %.3f us, got %.3f", i, expected, us[i]);
        }
    }
}

TEST(series_is_small_and_exact_enough)
{
    static const struct {
        const char *name;
        size_t n;
        int64_t base_ns;
        uint64_t spread_ns;
        uint32_t k, n_series;
    } rows[] = {
        {"one step", 1, 5, 1, 1, 1},
        {"nanoseconds", 500, 1, 4000, 1, 500},
        {"1000 steps", 1000, 400 * 1000000, 30 * 1000000, 1, 1000},
        {"1001 steps: pairs, the last alone", 1001, 400 * 1000000, 30 * 1000000, 2, 501},
        {"100000 steps", 100000, 1000, 100000, 100, 1000},
        {"days", 1000, INT64_C(86400) * 1000000000, UINT64_C(86400) * 1000000000, 1, 1000},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(freep) int64_t *ns = xnew_array(int64_t, rows[i].n);
        uint64_t seed = 42 + i;
        for (size_t j = 0; j < rows[i].n; j++) {
            ns[j] = rows[i].base_ns + (int64_t)(xorshift_next(&seed) % rows[i].spread_ns);
        }
        struct summary s = golden_summary();
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        write_summary(&out, &trainer_1, &s, ns, rows[i].n);
        assert_true(out.len <= SUMMARY_MAX_BYTES);
        _cleanup_(record_done) struct record r;
        read_ok(out.data, out.len, &r);
        assert_int_equal(r.summary.series.k, rows[i].k);
        assert_int_equal(r.summary.series.n, rows[i].n_series);
        _cleanup_(freep) double *us = series_decode(&r.summary.series);
        double worst = 0;
        for (size_t e = 0; e < r.summary.series.n; e++) {
            double sum = 0;
            size_t first = e * rows[i].k, last = first + rows[i].k;
            last = last > rows[i].n ? rows[i].n : last;
            for (size_t j = first; j < last; j++) {
                sum += (double)ns[j];
            }
            double mean_us = sum / (double)(last - first) / 1e3;
            worst = fmax(worst, fabs(us[e] / mean_us - 1));
        }
        print_message("# worst relative error %.7f, %zu bytes\n", worst, out.len);
        assert_true(worst <= 0.0002);
    }
}

TEST(series_saturates)
{
    int64_t ns[2] = {1, INT64_MAX};
    struct summary s = golden_summary();
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    write_summary(&out, &trainer_1, &s, ns, 2);
    _cleanup_(record_done) struct record r;
    read_ok(out.data, out.len, &r);
    _cleanup_(freep) double *us = series_decode(&r.summary.series);
    assert_true(fabs(us[0] / 0.001 - 1) <= 0.0002);
    /* min is round(2048*log2(0.001)) = -20410; cut at 65535 above it. */
    assert_true(fabs(us[1] / exp2((65535 - 20410) / 2048.0) - 1) < 1e-12);
}

/* A server alone sees staleness and who came last; a worker alone has a transport and probes. */
enum writer { SERVER, WORKER, WRITER_COUNT };
static struct summary worst_summary(enum writer writer)
{
    struct summary s = {
        .samples = UINT64_MAX,
        .duration_ns = INT64_MAX,
        .steps = UINT32_MAX,
        .bytes_tx = UINT64_MAX,
        .bytes_rx = UINT64_MAX,
        .loss_first = -2.2250738585072014e-308,
        .loss_last = -1.7976931348623157e308,
        .throttled_ns = INT64_MAX,
        .throttled_periods = UINT64_MAX,
        .max_rss_bytes = UINT64_MAX,
        .cpu_ns = INT64_MAX,
        .environment_digest =
            (char *)"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        .noise = {.busy_ns = INT64_MAX,
                  .steal_ns = INT64_MAX,
                  .cpu_run_ns = INT64_MAX,
                  .cpu_wait_ns = INT64_MAX},
        .source = {.unit = UNIT_SAMPLES, .accuracy_last = -2.2250738585072014e-308},
    };
    static char rule[SUMMARY_RULE_SIZE], method[SUMMARY_METHOD_SIZE];
    s.source.rule = memset(rule, 'r', sizeof(rule) - 1);
    s.source.method = memset(method, 'm', sizeof(method) - 1);
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] = INT64_MAX;
    }
    if (writer == WORKER) {
        s.transport = EXCHANGE_TRANSPORT_NCCL; /* the longest name */
        s.noise.before = s.noise.after = (struct noise_probe){INT64_MAX, INT64_MAX};
        return s;
    }
    s.last = (struct summary_last){UINT32_MAX, UINT32_MAX, INT64_MAX};
    s.staleness = (struct summary_staleness){INT64_MAX, 1.7976931348623157e308, INT64_MAX};
    return s;
}

TEST(worst_numbers_fit_the_termination_message)
{
    static const size_t counts[] = {0, 1, 999, 1000, 1001, 99999, 100000, 500, 1000};
    for (size_t i = 0; i < WRITER_COUNT * N_ROWS(counts); i++) {
        const enum writer writer = (enum writer)(i / N_ROWS(counts));
        const struct record_who who = {writer == WORKER ? ROLE_WORKER : ROLE_PSERVER, UINT32_MAX,
                                       UINT32_MAX};
        const size_t n = counts[i % N_ROWS(counts)];
        _cleanup_(freep) int64_t *ns = xnew_array(int64_t, n + 1);
        for (size_t j = 0; j < n; j++) {
            ns[j] = j % 2 == 0 ? INT64_MAX : INT64_MIN;
        }
        struct summary s = worst_summary(writer);
        struct evaluations evaluations = {
            .k = UINT32_MAX, .n = EVALUATIONS_MAX, .end_ms = EVALUATION_MAX_MS};
        for (size_t j = 0; j < EVALUATIONS_MAX; j++) {
            evaluations.list[j] = (struct evaluation){EVALUATION_MAX_MS, EVALUATION_PPM, 999999999};
        }
        s.evaluations = i % N_ROWS(counts) % 2 == 0 ? &evaluations : NULL;
        for (int k = 0; writer == WORKER && k < METRICS_WRITTEN_MAX; k++) {
            char name[METRIC_NAME_MAX + 1];
            (void)snprintf(name, sizeof(name), "%0*d", METRIC_NAME_MAX, k);
            metrics_set(&s.metrics, name, -2.2250738585072014e-308);
        }
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        write_summary(&out, &who, &s, ns, n);
        print_message("# %zu steps: %zu bytes\n", n, out.len);
        assert_true(out.len <= SUMMARY_MAX_BYTES);
        _cleanup_(record_done) struct record r;
        read_ok(out.data, out.len, &r);
        assert_true(r.summary.samples == INT64_MAX); /* cut, as the contract says */
        assert_true(r.summary.loss_first == s.loss_first && r.summary.loss_last == s.loss_last);
        assert_string_equal(r.summary.source.rule, s.source.rule);
        assert_string_equal(r.summary.source.method, s.source.method);
        assert_memory_equal(&r.summary.last, &s.last, sizeof(s.last));
        assert_memory_equal(&r.summary.staleness, &s.staleness, sizeof(s.staleness));
        assert_memory_equal(&r.summary.noise, &s.noise, sizeof(s.noise));
        assert_int_equal(r.summary.transport, s.transport);
        assert_int_equal(r.summary.metrics.list.len, s.metrics.list.len);
        metrics_done(&s.metrics);
    }
}

/* A launcher adds what it measured to a copy: what a replica wrote stays as it is. */
TEST(what_a_launcher_saw)
{
    const int64_t step_ns[] = {1000000, 2000000, 3000000};
    struct evaluations evaluations = {.k = 1, .n = 1, .list = {{1, 2, 3}}};
    struct summary s = worst_summary(SERVER);
    s.evaluations = &evaluations;
    metrics_set(&s.metrics, "power_w", 78);
    summary_set_series(&s, step_ns, 3);
    struct summary *copy = summary_copy(&s);
    assert_summary_equal(copy, &s, &(struct replica_id){0});
    struct metrics seen = {0};
    metrics_set(&seen, "power_w", 561.5);
    for (int k = 0; k < METRICS_MAX; k++) {
        char name[METRIC_NAME_MAX + 1];
        (void)snprintf(name, sizeof(name), "own_%d_s", k);
        metrics_set(&seen, name, k);
    }
    metrics_merge(&copy->metrics, &seen);
    assert_int_equal(copy->metrics.list.len, METRICS_MAX); /* as many as a reader takes */
    assert_true(metrics_get(&copy->metrics, "power_w") == 561.5);
    assert_true(metrics_get(&s.metrics, "power_w") == 78);
    metrics_done(&seen);
    metrics_done(&s.metrics);
    free(s.series.data);
    summary_free(copy);
}
