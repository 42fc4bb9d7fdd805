/* The bounded log of a replica. */
#include "tests/test.h"
#include "base/buf.h"
#include "base/str.h"
#include "run/capture.h"

static void keep_line(void *ctx, const char *line, size_t len)
{
    assert_int_equal(line[len], '\0');
    buf_append(ctx, line, len);
    buf_putc(ctx, '|');
}

/* clang-format off */
static const struct feed_row {
    const char *name;
    struct {
        enum capture_stream stream;
        const char *text;
    } feeds[6];
    const char *log, *lines, *last_words;
} feed_rows[] = {
    {"nothing", {{0}}, "", "", ""},
    {"one line", {{CAPTURE_STDOUT, "a\n"}}, "a\n", "a|", "a"},
    {"no newline at the end", {{CAPTURE_STDOUT, "a\nb"}}, "a\nb\n", "a|b|", "b"},
    {"in pieces", {{CAPTURE_STDOUT, "a"}, {CAPTURE_STDOUT, "b\nc"}, {CAPTURE_STDOUT, "\n"}},
     "ab\nc\n", "ab|c|", "c"},
    {"empty lines", {{CAPTURE_STDOUT, "\n\na\n\n"}}, "\n\na\n\n", "||a||", "a"},
    {"stderr does not tear stdout",
     {{CAPTURE_STDOUT, "{\"a\":"}, {CAPTURE_STDERR, "warn"}, {CAPTURE_STDERR, "ing\n"},
      {CAPTURE_STDOUT, "1}\n"}},
     "warning\n{\"a\":1}\n", "{\"a\":1}|", "warning"},
    {"a record is no last word", {{CAPTURE_STDERR, "no\001 data\n"}, {CAPTURE_STDOUT, "{}\n"}},
     "no\001 data\n{}\n", "{}|", "no? data"},
};
/* clang-format on */

/* Whoever asks after the end gets the same text again, and the parts are gone. */
TEST(an_ended_log_is_held_once)
{
    _cleanup_(capture_done) struct capture c;
    capture_init(&c, 1000, NULL, NULL);
    for (int i = 0; i < 100; i++) {
        capture_feed(&c, CAPTURE_STDOUT, "a line of twenty-two\n", 21);
    }
    size_t len, again;
    _cleanup_(freep) char *live = xstrdup(capture_text(&c, &len));
    capture_feed(&c, CAPTURE_STDOUT, "the last", 8);
    capture_end(&c);
    _cleanup_(freep) char *first = xstrdup(capture_text(&c, &len));
    assert_string_not_equal(live, first);
    assert_non_null(strstr(first, "the last\n"));
    assert_null(c.ring);
    assert_null(c.head.data);
    assert_null(c.partial[CAPTURE_STDOUT].line.data);
    assert_int_equal(c.composed.cap, len + 1);
    assert_string_equal(capture_text(&c, &again), first);
    assert_int_equal(again, len);
}

TEST(lines_become_whole)
{
    for (size_t i = 0; i < sizeof(feed_rows) / sizeof(*feed_rows); i++) {
        const struct feed_row *row = &feed_rows[i];
        struct capture c;
        _cleanup_(buf_done) struct buf lines = BUF_INIT;
        capture_init(&c, 1024, keep_line, &lines);
        for (int f = 0; row->feeds[f].text != NULL; f++) {
            capture_feed(&c, row->feeds[f].stream, row->feeds[f].text, strlen(row->feeds[f].text));
        }
        capture_end(&c);
        size_t len;
        const char *log = capture_text(&c, &len);
        if (!str_eq(log, row->log) || len != strlen(row->log) ||
            !str_eq(buf_cstr(&lines), row->lines) ||
            !str_eq(capture_last_words(&c), row->last_words)) {
            fail_msg("%s: log '%s' lines '%s' words '%s', expected '%s' '%s' '%s'", row->name, log,
                     buf_cstr(&lines), capture_last_words(&c), row->log, row->lines,
                     row->last_words);
        }
        capture_done(&c);
    }
}

/* n lines of 8 bytes: "0000001\n". */
static void feed_numbers(struct capture *c, int n)
{
    for (int i = 0; i < n; i++) {
        char line[16];
        (void)snprintf(line, sizeof(line), "%07d\n", i);
        capture_feed(c, CAPTURE_STDOUT, line, 8);
    }
}

TEST(both_ends_are_kept)
{
    static const struct {
        const char *name;
        int n;
        const char *log;
    } rows[] = {
        {"it fits", 2, "0000000\n0000001\n"},
        {"it just fits", 6, "0000000\n0000001\n0000002\n0000003\n0000004\n0000005\n"},
        {"8 bytes more", 7,
         "0000000\n0000001\n0000002\n\n[benchd: 16 bytes dropped here: the log outgrew 48 bytes]\n"
         "0000005\n0000006\n"},
        {"much more", 1000,
         "0000000\n0000001\n0000002\n\n[benchd: 7960 bytes dropped here: the log outgrew 48 "
         "bytes]\n"
         "0000998\n0000999\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _cleanup_(capture_done) struct capture c;
        capture_init(&c, 48, NULL, NULL);
        feed_numbers(&c, rows[i].n);
        for (int again = 0; again < 2; again++) { /* asking changes nothing */
            size_t len;
            const char *log = capture_text(&c, &len);
            if (!str_eq(log, rows[i].log) || len != strlen(rows[i].log)) {
                fail_msg("%s: got '%s', expected '%s'", rows[i].name, log, rows[i].log);
            }
        }
    }
}

/* The end of a line that is longer than the ring is all there is of it. */
TEST(the_end_of_a_long_line_is_kept)
{
    _cleanup_(capture_done) struct capture c;
    capture_init(&c, 20, NULL, NULL);
    capture_feed(&c, CAPTURE_STDOUT, "a line of twenty-two..\n", 23);
    size_t len;
    assert_non_null(strstr(capture_text(&c, &len), "]\nnty-two..\n"));
}

TEST(a_line_without_end_is_no_record)
{
    struct capture c;
    struct buf lines = BUF_INIT;
    capture_init(&c, 1 << 20, keep_line, &lines);
    char *text = malloc(3 * CAPTURE_LINE_MAX);
    assert_non_null(text);
    memset(text, 'x', 3 * CAPTURE_LINE_MAX);
    capture_feed(&c, CAPTURE_STDOUT, text, 3 * CAPTURE_LINE_MAX);
    capture_feed(&c, CAPTURE_STDOUT, "\nnext\n", 6);
    assert_string_equal(buf_cstr(&lines), "next|");
    size_t len;
    (void)capture_text(&c, &len);
    assert_int_equal(len, 3 * CAPTURE_LINE_MAX + 6);
    capture_done(&c);
    buf_done(&lines);
    free(text);
}

/* However the same bytes are cut into pieces, the log and the lines are the same. */
TEST(pieces_make_no_difference)
{
    const uint64_t seed = 20261120;
    uint64_t x = seed;
    char text[4096];
    for (size_t i = 0; i < sizeof(text); i++) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        text[i] = (x >> 60) == 0 ? '\n' : (char)('a' + (x >> 59) % 26);
    }
    _cleanup_(buf_done) struct buf expected = BUF_INIT, expected_log = BUF_INIT;
    for (int round = 0; round < 200; round++) {
        struct capture c;
        _cleanup_(buf_done) struct buf lines = BUF_INIT;
        capture_init(&c, 2000, keep_line, &lines);
        for (size_t at = 0; at < sizeof(text);) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            size_t n = round == 0 ? sizeof(text) : 1 + (x >> 33) % 97;
            n = n < sizeof(text) - at ? n : sizeof(text) - at;
            capture_feed(&c, CAPTURE_STDOUT, text + at, n);
            at += n;
        }
        capture_end(&c);
        size_t len;
        const char *log = capture_text(&c, &len);
        if (round == 0) {
            buf_append(&expected, lines.data, lines.len);
            buf_append(&expected_log, log, len);
        } else if (!str_eq(buf_cstr(&lines), expected.data) || !str_eq(log, expected_log.data)) {
            fail_msg("seed %llu, round %d: another result than in one piece",
                     (unsigned long long)seed, round);
        }
        capture_done(&c);
    }
}
