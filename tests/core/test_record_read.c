/* Which lines are read, passed over and refused. */
#include "tests/test.h"
#include "core/record.h"

#include <errno.h>

#include "record_fixture.h"

/* Where a summary came from: as it was written, or refused. */
TEST(sources)
{
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
        _cleanup_(freep) char *line =
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
    }
}

#define HEAD "{\"benchd\":1,\"type\":\"step\",\"role\":\"trainer\",\"index\":0,\"attempt\":0"
#define STEP HEAD ",\"step\":0,\"t_ns\":1,\"step_ns\":1,\"samples\":1"
#define PROBE "{\"spins_per_s\":3,\"copy_bytes_per_s\":4}"
#define SUM                                                                                        \
    "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,\"attempt\":0,"           \
    "\"samples\":1,\"duration_ns\":1,\"steps\":1"
#define DIGEST_HALF_BUT_ONE "123456789abcdef0123456789abcdef"
#define DIGEST_HALF "0" DIGEST_HALF_BUT_ONE

TEST(lines_of_others_pass_and_damaged_ones_are_named)
{
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
         "'type' is unknown: 'stop'"},
        {"unknown role",
         "{\"benchd\":1,\"type\":\"step\",\"role\":\"boss\",\"index\":0,\"attempt\":0}", -EPROTO,
         "'role' is unknown: 'boss'"},
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
        {"noise that the launcher saw", SUM ",\"noise\":{\"busy_ns\":5,\"launcher\":true}}", 1,
         NULL},
        {"a launcher that is no flag", SUM ",\"noise\":{\"launcher\":1}}", -EPROTO,
         "'noise': 'launcher' is neither true nor false"},
        {"half a probe", SUM ",\"noise\":{\"after\":{\"spins_per_s\":3}}}", -EPROTO,
         "'noise': 'after': 'copy_bytes_per_s' is missing"},
        {"more stolen than wanted", SUM ",\"noise\":{\"busy_ns\":5,\"steal_ns\":6}}", -EPROTO,
         "'noise': 'steal_ns' is more than 'busy_ns'"},
        {"threads that ran and waited", SUM ",\"noise\":{\"cpu_run_ns\":5,\"cpu_wait_ns\":9}}", 1,
         NULL},
        {"threads that never waited", SUM ",\"noise\":{\"cpu_run_ns\":5,\"cpu_wait_ns\":0}}", 1,
         NULL},
        {"threads that ran, and nobody looked whether they waited",
         SUM ",\"noise\":{\"cpu_run_ns\":5}}", -EPROTO, "'noise': 'cpu_wait_ns' is missing"},
        {"threads that waited and never ran", SUM ",\"noise\":{\"cpu_wait_ns\":5}}", -EPROTO,
         "'noise': 'cpu_wait_ns' needs a 'cpu_run_ns' above 0"},
        {"a wait that is none", SUM ",\"noise\":{\"cpu_run_ns\":5,\"cpu_wait_ns\":-1}}", -EPROTO,
         "'noise': 'cpu_wait_ns' is -1"},
        {"transport", SUM ",\"transport\":\"NCCL\"}", 1, NULL},
        {"no transport that carries anything", SUM ",\"transport\":\"Auto\"}", -EPROTO,
         "'transport' is unknown: 'Auto'"},
        {"unknown transport", SUM ",\"transport\":\"Pigeon\"}", -EPROTO,
         "'transport' is unknown: 'Pigeon'"},
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
        _cleanup_(record_done) struct record r = {.type = RECORD_STEP};
        struct err err = {0};
        int result = record_read(rows[i].line, strlen(rows[i].line), &r, &err);
        if (result != rows[i].result ||
            (rows[i].says != NULL && strstr(err.msg, rows[i].says) == NULL)) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].name, rows[i].result,
                     rows[i].says == NULL ? "" : rows[i].says, result, err.msg);
        }
    }
}

TEST(long_lines)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT;
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
}
