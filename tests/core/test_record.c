#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../golden.h"
#include "base/mem.h"
#include "base/splitmix.h"
#include "core/record_internal.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static const struct record_who trainer_1 = {.role = ROLE_TRAINER, .index = 1};

static void read_ok(const char *line, size_t len, struct record *ret)
{
    struct err err = {0};
    int r = record_read(line, len, ret, &err);
    if (r != 1) {
        fail_msg("read '%.*s': %d: %s", (int)len, line, r, err.msg);
    }
}

/* Writes what was read. Summaries need their step times, which only the writer knew. */
static void write_again(const struct record *r, struct buf *out)
{
    switch (r->type) {
    case RECORD_START:
        record_write_start(out, &r->who, r->start.environment);
        break;
    case RECORD_STEP:
        record_write_step(out, &r->who, &r->step);
        break;
    case RECORD_ERROR:
        record_write_error(out, &r->who, r->error.code, r->error.peer, r->error.message);
        break;
    case RECORD_SUMMARY:
        fail_msg("no summary in record.jsonl");
    }
}

static void golden_lines_survive_reading_and_writing(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/record.jsonl");
    struct buf out = BUF_INIT;
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        struct record record;
        read_ok(line, (size_t)(end - line), &record);
        write_again(&record, &out);
        record_done(&record);
        line = end + 1;
    }
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
}

static void golden_step_has_its_numbers(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/record.jsonl");
    const char *line = strchr(strchr(text, '\n') + 1, '\n') + 1; /* the third */
    struct record r;
    read_ok(line, (size_t)(strchr(line, '\n') - line), &r);
    assert_int_equal(r.type, RECORD_STEP);
    assert_int_equal(r.who.role, ROLE_TRAINER);
    assert_int_equal(r.who.index, 1);
    assert_int_equal(r.step.step, 7);
    assert_false(r.step.warmup);
    assert_int_equal(r.step.step_ns, 410000000);
    assert_true(r.step.loss == 2.25);
    assert_int_equal(r.step.phase_ns[PHASE_WAIT], 4000000);
    assert_int_equal(r.step.bytes_rx, 60800000);
    record_done(&r);
}

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
        .environment_digest = "5b1c6a0f6f6c2d1f9a3e4d8b7c605142333435363738394041424344454647aa",
    };
}

static const int64_t golden_steps_ns[8] = {412000000, 410000000, 409000000, 411000000,
                                           410000000, 408000000, 410000000, 410000000};

static void golden_summary_is_what_is_written(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/summary.json");
    struct summary s = golden_summary();
    struct buf out = BUF_INIT;
    record_write_summary(&out, &trainer_1, &s, golden_steps_ns, 8);
    assert_string_equal(buf_cstr(&out), text);

    struct record r;
    read_ok(out.data, out.len, &r);
    assert_int_equal(r.type, RECORD_SUMMARY);
    assert_int_equal(r.summary.samples, 128);
    assert_int_equal(r.summary.duration_ns, 3280000000);
    assert_memory_equal(r.summary.phase_ns, s.phase_ns, sizeof(s.phase_ns));
    assert_string_equal(r.summary.environment_digest, s.environment_digest);
    assert_true(r.summary.loss_first == 2.375);
    assert_int_equal(r.summary.max_rss_bytes, 734003200);
    assert_int_equal(r.summary.cpu_ns, 3104000000);
    assert_int_equal(r.summary.series_k, 1);
    assert_int_equal(r.summary.n_series, 8);
    for (int i = 0; i < 8; i++) {
        double expected = (double)golden_steps_ns[i] / 1e3;
        if (fabs(r.summary.series_us[i] / expected - 1) > 0.0002) {
            fail_msg("step %d: expected %.3f us, got %.3f", i, expected, r.summary.series_us[i]);
        }
    }
    record_done(&r);
    buf_done(&out);
}

/* xorshift64*: the same numbers everywhere. */
static uint64_t next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}

static void series_is_small_and_exact_enough(void **state)
{
    (void)state;
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
        int64_t *ns = xnew_array(int64_t, rows[i].n);
        uint64_t seed = 42 + i;
        for (size_t j = 0; j < rows[i].n; j++) {
            ns[j] = rows[i].base_ns + (int64_t)(next(&seed) % rows[i].spread_ns);
        }
        struct summary s = golden_summary();
        struct buf out = BUF_INIT;
        record_write_summary(&out, &trainer_1, &s, ns, rows[i].n);
        assert_true(out.len <= SUMMARY_MAX_BYTES);
        struct record r;
        read_ok(out.data, out.len, &r);
        assert_int_equal(r.summary.series_k, rows[i].k);
        assert_int_equal(r.summary.n_series, rows[i].n_series);
        double worst = 0;
        for (size_t e = 0; e < r.summary.n_series; e++) {
            double sum = 0;
            size_t first = e * rows[i].k, last = first + rows[i].k;
            last = last > rows[i].n ? rows[i].n : last;
            for (size_t j = first; j < last; j++) {
                sum += (double)ns[j];
            }
            double mean_us = sum / (double)(last - first) / 1e3;
            worst = fmax(worst, fabs(r.summary.series_us[e] / mean_us - 1));
        }
        print_message("# worst relative error %.7f, %zu bytes\n", worst, out.len);
        assert_true(worst <= 0.0002);
        record_done(&r);
        buf_done(&out);
        free(ns);
    }
}

static void series_saturates(void **state)
{
    (void)state;
    int64_t ns[2] = {1, INT64_MAX};
    struct summary s = golden_summary();
    struct buf out = BUF_INIT;
    record_write_summary(&out, &trainer_1, &s, ns, 2);
    struct record r;
    read_ok(out.data, out.len, &r);
    assert_true(fabs(r.summary.series_us[0] / 0.001 - 1) <= 0.0002);
    /* min is round(2048*log2(0.001)) = -20410; cut at 65535 above it. */
    assert_true(fabs(r.summary.series_us[1] / exp2((65535 - 20410) / 2048.0) - 1) < 1e-12);
    record_done(&r);
    buf_done(&out);
}

/* A server alone sees staleness or late gradients, and a worker alone has a transport. */
enum writer { SERVER, SERVER_WITH_BACKUPS, WORKER, WRITER_COUNT };
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
        .environment_digest = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        .last = {UINT32_MAX, UINT32_MAX, INT64_MAX},
        .noise = {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}, INT64_MAX, INT64_MAX},
        .source = {.unit = UNIT_SAMPLES, .accuracy_last = -2.2250738585072014e-308},
    };
    if (writer == WORKER) {
        s.transport = EXCHANGE_TRANSPORT_SHARED_MEMORY; /* the longest name */
    } else if (writer == SERVER_WITH_BACKUPS) {
        s.late = (struct summary_late){INT64_MAX, INT64_MAX, UINT32_MAX, INT64_MAX};
    } else {
        s.staleness = (struct summary_staleness){INT64_MAX, 1.7976931348623157e308, INT64_MAX};
    }
    memset(s.source.rule, 'r', sizeof(s.source.rule) - 1);
    memset(s.source.method, 'm', sizeof(s.source.method) - 1);
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] = INT64_MAX;
    }
    return s;
}

static void worst_numbers_fit_the_termination_message(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 999, 1000, 1001, 99999, 100000, 500, 1000};
    for (size_t i = 0; i < WRITER_COUNT * N_ROWS(counts); i++) {
        const enum writer writer = (enum writer)(i / N_ROWS(counts));
        const struct record_who who = {writer == WORKER ? ROLE_WORKER : ROLE_PSERVER, UINT32_MAX,
                                       UINT32_MAX};
        const size_t n = counts[i % N_ROWS(counts)];
        int64_t *ns = xnew_array(int64_t, n + 1);
        for (size_t j = 0; j < n; j++) {
            ns[j] = j % 2 == 0 ? INT64_MAX : INT64_MIN;
        }
        struct summary s = worst_summary(writer);
        struct evaluations evaluations = {
            .k = UINT32_MAX, .n = EVALUATIONS_MAX, .end_ms = EVALUATION_MAX_MS};
        for (size_t j = 0; j < EVALUATIONS_MAX; j++) {
            evaluations.list[j] = (struct evaluation){EVALUATION_MAX_MS, ACCURACY_PPM};
        }
        s.evaluations = i % N_ROWS(counts) % 2 == 0 ? &evaluations : NULL;
        struct buf out = BUF_INIT;
        record_write_summary(&out, &who, &s, ns, n);
        print_message("# %zu steps: %zu bytes\n", n, out.len);
        assert_true(out.len <= SUMMARY_MAX_BYTES);
        struct record r;
        read_ok(out.data, out.len, &r);
        assert_true(r.summary.samples == INT64_MAX); /* cut, as the contract says */
        assert_true(r.summary.loss_first == s.loss_first && r.summary.loss_last == s.loss_last);
        assert_string_equal(r.summary.source.rule, s.source.rule);
        assert_string_equal(r.summary.source.method, s.source.method);
        assert_memory_equal(&r.summary.last, &s.last, sizeof(s.last));
        assert_memory_equal(&r.summary.staleness, &s.staleness, sizeof(s.staleness));
        assert_int_equal(r.summary.late.slices, s.late.slices);
        assert_int_equal(r.summary.late.dropped, s.late.dropped);
        assert_int_equal(r.summary.late.trainer, s.late.trainer);
        assert_int_equal(r.summary.late.most, s.late.most);
        assert_memory_equal(&r.summary.noise, &s.noise, sizeof(s.noise));
        assert_int_equal(r.summary.transport, s.transport);
        record_done(&r);
        buf_done(&out);
        free(ns);
    }
}

/* Where a summary came from: as it was written, or refused. */
static void sources(void **state)
{
    (void)state;
    static const struct {
        const char *log, *why;
    } rows[] = {
        {"{\"rule\":\"keras\",\"method\":\"mean of 9 step "
         "lines\",\"unit\":\"GB\",\"scope\":\"job\","
         "\"accuracy_last\":0.5}",
         NULL},
        {"{\"method\":\"m\",\"unit\":\"GB\",\"scope\":\"job\"}", "'log': 'rule' is missing"},
        {"{\"rule\":\"\",\"method\":\"m\",\"unit\":\"GB\",\"scope\":\"job\"}",
         "'log': 'rule' has 0 characters, not 1 to 32"},
        {"{\"rule\":\"a\\nb\",\"method\":\"m\",\"unit\":\"GB\",\"scope\":\"job\"}",
         "'log': 'rule' is not plain text"},
        {"{\"rule\":\"a\",\"method\":\"m\",\"unit\":\"kg\",\"scope\":\"job\"}",
         "'log': 'unit' is unknown: 'kg'"},
        {"{\"rule\":\"a\",\"method\":\"m\",\"unit\":\"GB\",\"scope\":\"all\"}",
         "'log': 'scope' is unknown: 'all'"},
        {"7", "'log' is not an object"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].log);
        char *line =
            xasprintf("{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,"
                      "\"attempt\":0,\"samples\":1,\"duration_ns\":1,\"steps\":1,\"log\":%s}",
                      rows[i].log);
        struct record r;
        struct err err = {0};
        const int result = record_read(line, strlen(line), &r, &err);
        if (rows[i].why != NULL) {
            assert_int_equal(result, -EPROTO);
            assert_non_null(strstr(err.msg, rows[i].why));
        } else {
            assert_int_equal(result, 1);
            assert_string_equal(r.summary.source.rule, "keras");
            assert_int_equal(r.summary.source.unit, UNIT_GB);
            assert_true(r.summary.source.is_job && r.summary.source.accuracy_last == 0.5);
            record_done(&r);
        }
        free(line);
    }
}

static void numbers_come_back_bit_for_bit(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = next(&seed);
        struct record_step step = {.step = (uint32_t)i, .t_ns = (int64_t)(next(&seed) >> 1)};
        memcpy(&step.loss, &bits, sizeof(bits));
        step.bytes_tx = next(&seed) >> 1;
        struct buf out = BUF_INIT;
        record_write_step(&out, &trainer_1, &step);
        struct record r;
        read_ok(out.data, out.len, &r);
        if (isfinite(step.loss)) {
            assert_memory_equal(&r.step.loss, &step.loss, sizeof(double));
        } else {
            assert_true(isnan(r.step.loss));
        }
        assert_int_equal(r.step.t_ns, step.t_ns);
        assert_true(r.step.bytes_tx == step.bytes_tx);
        record_done(&r);
        buf_done(&out);
    }
}

#define HEAD "{\"benchd\":1,\"type\":\"step\",\"role\":\"trainer\",\"index\":0,\"attempt\":0"
#define STEP HEAD ",\"step\":0,\"t_ns\":1,\"step_ns\":1,\"samples\":1"
#define PROBE "{\"spins_per_s\":3,\"copy_bytes_per_s\":4}"
#define SUM                                                                                        \
    "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,\"attempt\":0,"           \
    "\"samples\":1,\"duration_ns\":1,\"steps\":1"
#define LATE(slices, dropped, most)                                                                \
    ",\"late\":{\"slices\":" slices ",\"dropped\":" dropped ",\"trainer\":2,\"most\":" most "}"
#define DIGEST_HALF_BUT_ONE "123456789abcdef0123456789abcdef"
#define DIGEST_HALF "0" DIGEST_HALF_BUT_ONE

static void lines_of_others_pass_and_damaged_ones_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *line;
        int result;
        const char *says; /* part of the error */
    } rows[] = {
        {"empty", "", 0, NULL},
        {"a log line", "epoch 1 loss 2.3", 0, NULL},
        {"other JSON", "{\"level\":\"info\"}", 0, NULL},
        {"other JSON with our key as text", "{\"benchd\":\"1\"}", 0, NULL},
        {"a list", "[1]", 0, NULL},
        {"broken JSON of others", "{\"level\":", 0, NULL},
        {"a record quoted in a log line", "got '{\\\"benchd\\\":1'", 0, NULL},
        {"smallest step", STEP "}", 1, NULL},
        {"white space and a carriage return", "  " STEP " }\r\n", 1, NULL},
        {"unknown keys", STEP ",\"colour\":\"red\",\"x\":{\"y\":[1]}}", 1, NULL},
        {"whole number as loss", STEP ",\"loss\":2}", 1, NULL},
        {"cut", STEP, -EPROTO, "column"},
        {"text before", "warning: " STEP "}", -EPROTO, "column"},
        {"text behind", STEP "}x", -EPROTO, "column"},
        {"key twice", STEP ",\"samples\":2}", -EPROTO, "duplicate"},
        {"version 2", "{\"benchd\":2}", -EPROTO, "version 2"},
        {"no type", "{\"benchd\":1}", -EPROTO, "'type' is missing"},
        {"type is a number", "{\"benchd\":1,\"type\":1}", -EPROTO, "'type' is not a string"},
        {"unknown type",
         "{\"benchd\":1,\"type\":\"stop\",\"role\":\"trainer\",\"index\":0,\"attempt\":0}", -EPROTO,
         "unknown type 'stop'"},
        {"unknown role",
         "{\"benchd\":1,\"type\":\"step\",\"role\":\"boss\",\"index\":0,\"attempt\":0}", -EPROTO,
         "unknown role 'boss'"},
        {"negative index",
         "{\"benchd\":1,\"type\":\"step\",\"role\":\"trainer\",\"index\":-1,\"attempt\":0}",
         -EPROTO, "'index' is -1"},
        {"no samples", HEAD ",\"step\":0,\"t_ns\":1,\"step_ns\":1}", -EPROTO,
         "'samples' is missing"},
        {"samples as decimal", HEAD ",\"step\":0,\"t_ns\":1,\"step_ns\":1,\"samples\":1.0}",
         -EPROTO, "'samples' is not a whole number"},
        {"samples beyond 32 bits",
         HEAD ",\"step\":0,\"t_ns\":1,\"step_ns\":1,\"samples\":4294967296}", -EPROTO,
         "4294967296"},
        {"number beyond 64 bits", HEAD ",\"step\":99999999999999999999}", -EPROTO, "column"},
        {"loss as text", STEP ",\"loss\":\"nan\"}", -EPROTO, "'loss' is neither"},
        {"phases as list", STEP ",\"phase_ns\":[1]}", -EPROTO, "'phase_ns' is not an object"},
        {"negative phase", STEP ",\"phase_ns\":{\"send\":-1}}", -EPROTO, "'send' is -1"},
        {"warmup as number", STEP ",\"warmup\":1}", -EPROTO, "'warmup'"},
        {"start without environment",
         "{\"benchd\":1,\"type\":\"start\",\"role\":\"trainer\",\"index\":0,\"attempt\":0}",
         -EPROTO, "'environment' is missing"},
        {"error code beyond a byte",
         "{\"benchd\":1,\"type\":\"error\",\"role\":\"trainer\",\"index\":0,\"attempt\":0,"
         "\"code\":256,\"message\":\"\"}",
         -EPROTO, "'code' is 256"},
        {"smallest summary", SUM "}", 1, NULL},
        {"digest too short", SUM ",\"environment_digest\":\"ab\"}", -EPROTO, "64 hex"},
        {"digest", SUM ",\"environment_digest\":\"" DIGEST_HALF DIGEST_HALF "\"}", 1, NULL},
        {"digest with a capital letter",
         SUM ",\"environment_digest\":\"A" DIGEST_HALF DIGEST_HALF_BUT_ONE "\"}", -EPROTO,
         "64 hex"},
        {"noise",
         SUM ",\"noise\":{\"before\":" PROBE ",\"after\":" PROBE ",\"busy_ns\":5,\"steal_ns\":5}}",
         1, NULL},
        {"noise of a server: nobody probed", SUM ",\"noise\":{\"busy_ns\":5,\"steal_ns\":0}}", 1,
         NULL},
        {"half a probe", SUM ",\"noise\":{\"after\":{\"spins_per_s\":3}}}", -EPROTO,
         "'noise': 'after': 'copy_bytes_per_s' is missing"},
        {"more stolen than wanted", SUM ",\"noise\":{\"busy_ns\":5,\"steal_ns\":6}}", -EPROTO,
         "'noise': 'steal_ns' is 6, not in 0..5"},
        {"transport", SUM ",\"transport\":\"SharedMemory\"}", 1, NULL},
        {"no transport that carries anything", SUM ",\"transport\":\"Auto\"}", -EPROTO,
         "'transport' is not one that carries numbers"},
        {"unknown transport", SUM ",\"transport\":\"Pigeon\"}", -EPROTO,
         "'transport' is not one that carries numbers"},
        {"late gradients", SUM LATE("9", "3", "3") "}", 1, NULL},
        {"more were dropped than came", SUM LATE("9", "10", "3") "}", -EPROTO,
         "'late': 'most' is a part of 'dropped'"},
        {"one had more dropped than all", SUM LATE("9", "3", "4") "}", -EPROTO,
         "'late': 'most' is a part of 'dropped'"},
        {"half of it", SUM ",\"late\":{\"slices\":3}}", -EPROTO, "'late': 'dropped' is missing"},
        {"transport is no text", SUM ",\"transport\":1}", -EPROTO, "'transport' is not"},
        {"noise is no object", SUM ",\"noise\":[]}", -EPROTO, "'noise' is not an object"},
        {"series", SUM ",\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"AAA=\"}}", 1, NULL},
        {"series of none", SUM ",\"series\":{\"k\":1,\"n\":0,\"min\":0,\"data\":\"\"}}", -EPROTO,
         "'series': 'n' is 0"},
        {"series too long", SUM ",\"series\":{\"k\":1,\"n\":1001,\"min\":0,\"data\":\"\"}}",
         -EPROTO, "'series': 'n' is 1001"},
        {"series length is wrong", SUM ",\"series\":{\"k\":1,\"n\":2,\"min\":0,\"data\":\"AAA=\"}}",
         -EPROTO, "base64 of 2"},
        {"series with a foreign character",
         SUM ",\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"A*A=\"}}", -EPROTO, "base64"},
        {"series without its padding",
         SUM ",\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"AAAA\"}}", -EPROTO, "base64"},
        {"series with bits behind its end",
         SUM ",\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"AAB=\"}}", -EPROTO, "base64"},
        {"series with k 0", SUM ",\"series\":{\"k\":0,\"n\":1,\"min\":0,\"data\":\"AAA=\"}}",
         -EPROTO, "'k' is 0"},
        {"series with a wild minimum",
         SUM ",\"series\":{\"k\":1,\"n\":1,\"min\":1048577,\"data\":\"AAA=\"}}", -EPROTO,
         "'min' is 1048577"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct record r = {.type = RECORD_STEP};
        struct err err = {0};
        int result = record_read(rows[i].line, strlen(rows[i].line), &r, &err);
        if (result != rows[i].result ||
            (rows[i].says != NULL && strstr(err.msg, rows[i].says) == NULL)) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].name, rows[i].result,
                     rows[i].says == NULL ? "" : rows[i].says, result, err.msg);
        }
        record_done(&r);
    }
}

/* A clock that goes back makes no line that its reader refuses. */
static void negative_times_are_written_as_0(void **state)
{
    (void)state;
    struct record_step step = {.t_ns = -1, .step_ns = INT64_MIN, .samples = 1, .loss = NAN};
    step.phase_ns[PHASE_WAIT] = -5;
    struct buf out = BUF_INIT;
    record_write_step(&out, &trainer_1, &step);
    struct record r;
    read_ok(out.data, out.len, &r);
    assert_int_equal(r.step.t_ns, 0);
    assert_int_equal(r.step.step_ns, 0);
    assert_int_equal(r.step.phase_ns[PHASE_WAIT], 0);
    record_done(&r);
    buf_done(&out);
}

static void long_lines(void **state)
{
    (void)state;
    struct buf line = BUF_INIT;
    buf_puts(&line, STEP ",\"pad\":\"");
    while (line.len < 64 * 1024 - 2) {
        buf_putc(&line, 'x');
    }
    buf_puts(&line, "\"}");
    struct record r;
    read_ok(line.data, line.len, &r); /* exactly 64 KiB */
    record_done(&r);
    buf_putc(&line, '\n');
    struct err err = {0};
    assert_int_equal(record_read(line.data, line.len, &r, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "65537 bytes exceeds 65536"));
    memset(line.data, '-', 20);
    assert_int_equal(record_read(line.data, line.len, &r, &err), 0); /* not ours: no error */
    buf_done(&line);
}

static void any_bytes_become_a_message(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *expected;
    } rows[] = {
        {"ASCII", "disk full\n", "disk full\n"},
        {"UTF-8", "caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x90\x9f",
         "caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x90\x9f"},
        {"Latin-1", "caf\xe9!", "caf?!"},
        {"cut character", "x\xe2\x9c", "x??"},
        {"overlong", "\xc0\xaf", "??"},
        {"surrogate", "\xed\xa0\x80", "???"},
        {"beyond Unicode", "\xf4\x90\x80\x80", "????"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct buf out = BUF_INIT;
        record_write_error(&out, &trainer_1, 10, NULL, rows[i].text);
        struct record r;
        read_ok(out.data, out.len, &r);
        assert_string_equal(r.error.message, rows[i].expected);
        assert_null(r.error.peer);
        record_done(&r);
        buf_done(&out);
    }
    struct buf text = BUF_INIT, out = BUF_INIT;
    while (text.len < 9999) {
        buf_puts(&text, "\xe2\x9c\x93"); /* 3 bytes; 4096 is no multiple of 3 */
    }
    record_write_error(&out, &trainer_1, 10, "pserver/0", buf_cstr(&text));
    struct record r;
    read_ok(out.data, out.len, &r);
    assert_int_equal(strlen(r.error.message), 4095);
    assert_string_equal(r.error.peer, "pserver/0");
    record_done(&r);
    buf_done(&text);
    buf_done(&out);
}

static void canonical_environment_ignores_order(void **state)
{
    (void)state;
    json_t *a = json_pack("{s:s, s:{s:i, s:f}}", "b", "x", "a", "z", 1, "y", 0.1);
    json_t *b = json_pack("{s:{s:f, s:i}, s:s}", "a", "y", 0.1, "z", 1, "b", "x");
    _cleanup_(freep) char *ta = record_environment_canonical(a);
    _cleanup_(freep) char *tb = record_environment_canonical(b);
    assert_string_equal(ta, "{\"a\":{\"y\":0.10000000000000001,\"z\":1},\"b\":\"x\"}");
    assert_string_equal(ta, tb);
    json_decref(a);
    json_decref(b);
}

/* ---- the fast way to read steps and summaries ---- */

static double any_number(uint64_t *random)
{
    const uint32_t kind = splitmix_below(random, 6);
    return kind == 0   ? NAN
           : kind == 1 ? 0
           : kind == 2 ? (double)splitmix_below(random, 1000000)
           : kind == 3 ? 1e300 * splitmix_below(random, 1000)
           : kind == 4 ? 1e-12 * splitmix_below(random, 1000000)
                       : splitmix_below(random, 1000000) / 1e5;
}

static int64_t any_time(uint64_t *random)
{
    const uint32_t kind = splitmix_below(random, 200);
    return kind == 0   ? INT64_MAX /* more digits than are scanned */
           : kind == 1 ? 0
                       : (int64_t)(splitmix_next(random) >> (6 + kind % 56));
}

static void write_any_step(uint64_t *random, struct buf *out)
{
    const struct record_who who = {(enum role)splitmix_below(random, ROLE_COUNT),
                                   splitmix_below(random, 200), splitmix_below(random, 3)};
    struct record_step step = {.step = splitmix_below(random, 1000),
                               .warmup = splitmix_below(random, 4) == 0,
                               .t_ns = any_time(random),
                               .step_ns = any_time(random),
                               .samples = splitmix_below(random, 1000),
                               .loss = any_number(random),
                               .bytes_tx = (uint64_t)any_time(random),
                               .bytes_rx = (uint64_t)any_time(random)};
    for (int i = 0; i < PHASE_COUNT; i++) {
        step.phase_ns[i] = any_time(random);
    }
    record_write_step(out, &who, &step);
}

static void write_any_summary(uint64_t *random, struct buf *out)
{
    const struct record_who who = {(enum role)splitmix_below(random, ROLE_COUNT),
                                   splitmix_below(random, 200), splitmix_below(random, 3)};
    struct summary s = {.samples = (uint64_t)any_time(random),
                        .duration_ns = any_time(random),
                        .steps = splitmix_below(random, 1000),
                        .bytes_tx = (uint64_t)any_time(random),
                        .bytes_rx = (uint64_t)any_time(random),
                        .loss_first = any_number(random),
                        .loss_last = any_number(random),
                        .throttled_ns = any_time(random),
                        .max_rss_bytes = (uint64_t)any_time(random),
                        .cpu_ns = any_time(random),
                        .last = {.trainer = 3, .steps = splitmix_below(random, 2), .wait_ns = 7}};
    int64_t step_ns[40];
    const size_t n = splitmix_below(random, 40);
    for (size_t i = 0; i < n; i++) {
        step_ns[i] = any_time(random);
    }
    if (splitmix_below(random, 2) == 0) {
        memset(s.environment_digest, 'a', sizeof(s.environment_digest) - 1);
    }
    if (splitmix_below(random, 2) == 0) {
        s.noise.before =
            (struct noise_probe){splitmix_below(random, 1000), splitmix_below(random, 1000)};
        s.noise.after = (struct noise_probe){1 + splitmix_below(random, 1000), 7};
        s.noise.busy_ns = splitmix_below(random, 1000);
        s.noise.steal_ns = s.noise.busy_ns / 2;
    }
    record_write_summary(out, &who, &s, step_ns, n);
}

static bool is_same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same_record(const struct record *a, const struct record *b, const char *line)
{
    bool same = a->type == b->type && a->who.role == b->who.role && a->who.index == b->who.index &&
                a->who.attempt == b->who.attempt;
    if (same && a->type == RECORD_STEP) {
        struct record_step x = a->step, y = b->step;
        same = is_same_number(x.loss, y.loss) && x.step == y.step && x.warmup == y.warmup &&
               x.t_ns == y.t_ns && x.step_ns == y.step_ns && x.samples == y.samples &&
               memcmp(x.phase_ns, y.phase_ns, sizeof(x.phase_ns)) == 0 &&
               x.bytes_tx == y.bytes_tx && x.bytes_rx == y.bytes_rx;
    } else if (same) {
        const struct summary *x = &a->summary, *y = &b->summary;
        same = a->type == RECORD_SUMMARY && x->samples == y->samples &&
               x->duration_ns == y->duration_ns && x->steps == y->steps &&
               memcmp(x->phase_ns, y->phase_ns, sizeof(x->phase_ns)) == 0 &&
               x->bytes_tx == y->bytes_tx && x->bytes_rx == y->bytes_rx &&
               is_same_number(x->loss_first, y->loss_first) &&
               is_same_number(x->loss_last, y->loss_last) && x->throttled_ns == y->throttled_ns &&
               x->throttled_periods == y->throttled_periods &&
               x->max_rss_bytes == y->max_rss_bytes && x->cpu_ns == y->cpu_ns &&
               strcmp(x->environment_digest, y->environment_digest) == 0 &&
               memcmp(&x->last, &y->last, sizeof(x->last)) == 0 &&
               memcmp(&x->noise, &y->noise, sizeof(x->noise)) == 0 && x->n_series == y->n_series &&
               (x->n_series == 0 ||
                (x->series_k == y->series_k &&
                 memcmp(x->series_us, y->series_us, x->n_series * sizeof(double)) == 0));
    }
    if (!same) {
        fail_msg("read otherwise: %s", line);
    }
}

/* Whatever the scan accepts, the tree reads, too, and the same; so what it refuses can go wrong nowhere. */
static void the_fast_way_reads_the_same(void **state)
{
    (void)state;
    static const char alphabet[] = "{}[]\":,.-+eE0123456789 \\\nnulltrue\x01\x7f\xc3\xa9"
                                   "abkt_";
    uint64_t random = 20181120;
    size_t n_scanned = 0, n_plain = 0;
    const size_t n = 60000;
    for (size_t i = 0; i < n; i++) {
        struct buf line = BUF_INIT;
        (i % 2 == 0 ? write_any_step : write_any_summary)(&random, &line);
        const uint32_t n_edits = splitmix_below(&random, 4);
        for (uint32_t k = 0; k < n_edits; k++) {
            line.data[splitmix_below(&random, (uint32_t)line.len)] =
                alphabet[splitmix_below(&random, sizeof(alphabet) - 1)];
        }
        const size_t len = line.len - (splitmix_below(&random, 50) == 0 ? 1 : 0);
        struct record fast, slow;
        if (record_scan(line.data, len, &fast)) {
            struct err err = {0};
            if (record_read_tree(line.data, len, &slow, &err) != 1) {
                fail_msg("accepted: %s: %s", line.data, err.msg);
            }
            assert_same_record(&fast, &slow, line.data);
            record_done(&fast);
            record_done(&slow);
            n_scanned++;
            n_plain += n_edits == 0;
        }
        buf_done(&line);
    }
    print_message("# %zu of %zu lines were scanned, %zu as they were written\n", n_scanned, n,
                  n_plain);
    assert_true(n_plain > n / 10);          /* it is not idle */
    assert_true(n_scanned > n_plain + 100); /* some edits change a number alone */
}

static void the_fast_way_reads_real_records(void **state)
{
    (void)state;
    static const char *const files[] = {"docs/contracts/golden/record.jsonl",
                                        "docs/contracts/golden/summary.json"};
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS(files); i++) {
        _cleanup_(freep) char *text = golden_read(files[i]);
        for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            struct record r;
            if (record_scan(line, (size_t)(end - line), &r)) {
                n++;
                record_done(&r);
            }
        }
    }
    assert_int_equal(n, 4); /* three steps and a summary */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_lines_survive_reading_and_writing),
        cmocka_unit_test(golden_step_has_its_numbers),
        cmocka_unit_test(golden_summary_is_what_is_written),
        cmocka_unit_test(series_is_small_and_exact_enough),
        cmocka_unit_test(series_saturates),
        cmocka_unit_test(worst_numbers_fit_the_termination_message),
        cmocka_unit_test(sources),
        cmocka_unit_test(numbers_come_back_bit_for_bit),
        cmocka_unit_test(lines_of_others_pass_and_damaged_ones_are_named),
        cmocka_unit_test(negative_times_are_written_as_0),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(any_bytes_become_a_message),
        cmocka_unit_test(canonical_environment_ignores_order),
        cmocka_unit_test(the_fast_way_reads_the_same),
        cmocka_unit_test(the_fast_way_reads_real_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
