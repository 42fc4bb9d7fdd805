/* What is written comes back as it was. */
#include "tests/test.h"
#include "core/record.h"

#include <math.h>

#include "../golden.h"
#include "record_again.h"
#include "record_fixture.h"

TEST(golden_lines_survive_reading_and_writing)
{
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/record.jsonl");
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        _cleanup_(record_done) struct record record;
        read_ok(line, (size_t)(end - line), &record);
        record_write_again(&record, &out);
        line = end + 1;
    }
    assert_string_equal(buf_cstr(&out), text);
}

TEST(golden_step_has_its_numbers)
{
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/record.jsonl");
    const char *line = strchr(strchr(text, '\n') + 1, '\n') + 1; /* the third */
    _cleanup_(record_done) struct record r;
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
}

TEST(numbers_come_back_bit_for_bit)
{
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = xorshift_next(&seed);
        struct record_step step = {.step = (uint32_t)i,
                                   .t_ns = (int64_t)(xorshift_next(&seed) >> 1)};
        memcpy(&step.loss, &bits, sizeof(bits));
        step.bytes_tx = xorshift_next(&seed) >> 1;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        record_write_step(&out, &trainer_1, &step);
        _cleanup_(record_done) struct record r;
        read_ok(out.data, out.len, &r);
        if (isfinite(step.loss)) {
            assert_memory_equal(&r.step.loss, &step.loss, sizeof(double));
        } else {
            assert_true(isnan(r.step.loss));
        }
        assert_int_equal(r.step.t_ns, step.t_ns);
        assert_true(r.step.bytes_tx == step.bytes_tx);
    }
}

/* A clock that goes back makes no line that its reader refuses. */
TEST(negative_times_are_written_as_0)
{
    struct record_step step = {.t_ns = -1, .step_ns = INT64_MIN, .samples = 1, .loss = NAN};
    step.phase_ns[PHASE_WAIT] = -5;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    record_write_step(&out, &trainer_1, &step);
    _cleanup_(record_done) struct record r;
    read_ok(out.data, out.len, &r);
    assert_int_equal(r.step.t_ns, 0);
    assert_int_equal(r.step.step_ns, 0);
    assert_int_equal(r.step.phase_ns[PHASE_WAIT], 0);
}

TEST(any_bytes_become_a_message)
{
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
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        record_write_error(&out, &trainer_1, 10, NULL, rows[i].text);
        _cleanup_(record_done) struct record r;
        read_ok(out.data, out.len, &r);
        assert_string_equal(r.error.message, rows[i].expected);
        assert_null(r.error.peer);
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

TEST(canonical_environment_ignores_order)
{
    json_t *a = json_pack("{s:s, s:{s:i, s:f}}", "b", "x", "a", "z", 1, "y", 0.1);
    json_t *b = json_pack("{s:{s:f, s:i}, s:s}", "a", "y", 0.1, "z", 1, "b", "x");
    _cleanup_(freep) char *ta = record_environment_canonical(a);
    _cleanup_(freep) char *tb = record_environment_canonical(b);
    assert_string_equal(ta, "{\"a\":{\"y\":0.10000000000000001,\"z\":1},\"b\":\"x\"}");
    assert_string_equal(ta, tb);
    json_decref(a);
    json_decref(b);
}
