/* Log lines: none twice, none lost, however the streams are cut and reopened. */
#include "cmocka_kube.h"

#include "kube/log_cursor.h"

#include <errno.h>

#include "base/mem.h"
#include "base/rfc3339.h"

static void note(void *ctx, const char *line, size_t len)
{
    assert_int_equal(strlen(line), len);
    buf_printf(ctx, "%s\n", line);
}

#define T(fraction) "2026-11-20T08:52:51." fraction "Z "
/* Two lines at the same time, one without a fraction's zeros, another zone, an empty one. */
static const char log_text[] = T("1") "a\n" T("100000001") "b\n" T(
    "100000001") "c\n"
                 "2026-11-20T09:52:51.2+01:00 d\n" T("3") "\n" T("4") "f\n";
static const char log_lines[] = "a\nb\nc\nd\n\nf\n";

/* The server's second answer holds everything again: all times are in the same second. */
TEST(none_twice_none_lost)
{
    const size_t len = sizeof(log_text) - 1;
    for (size_t first = 0; first <= len; first++) {
        for (size_t second = 0; second <= len; second += 7) {
            _cleanup_(buf_done) struct buf seen = BUF_INIT;
            _cleanup_(kube_log_cursor_done) struct kube_log_cursor c;
            char since[KUBE_LOG_SINCE_SIZE] = "";
            kube_log_cursor_init(&c, 0, note, &seen);
            assert_false(kube_log_cursor_reopen(&c, since));
            kube_log_cursor_feed(&c, log_text, first);
            const bool has_since = kube_log_cursor_reopen(&c, since);
            assert_int_equal(has_since, memchr(log_text, '\n', first) != NULL);
            if (has_since) {
                assert_string_equal(since, "2026-11-20T08:52:50Z");
            }
            kube_log_cursor_feed(&c, log_text, second);
            (void)kube_log_cursor_reopen(&c, since);
            for (size_t i = 0; i < len; i++) {
                kube_log_cursor_feed(&c, &log_text[i], 1);
            }
            kube_log_cursor_end(&c, true);
            if (strcmp(buf_cstr(&seen), log_lines) != 0) {
                fail_msg("cut at %zu and %zu: expected '%s', got '%s'", first, second, log_lines,
                         buf_cstr(&seen));
            }
        }
    }
}

TEST(odd_streams)
{
    static const struct {
        const char *name, *text, *again, *lines;
    } rows[] = {
        {"no time stamps", "a b\nc\n\n", "d\n", "a b\nc\n\nd\n"},
        {"no newline at the end", T("1") "a", "", ""},
        {"the node's clock goes back", T("5") "a\n" T("1") "b\n", T("1") "b\n" T("2") "c\n",
         "a\nb\nc\n"},
        {"... and back after what came again", T("1") "a\n", T("1") "a\n" T("5") "b\n" T("2") "c\n",
         "a\nb\nc\n"},
        {"one more at the last time", T("1") "a\n", T("1") "a\n" T("1") "b\n", "a\nb\n"},
        {"a time stamp alone", "2026-11-20T08:52:51Z\n", "", "\n"},
        {"longer than a line may be", T("1") "0123456789abcdefghijklmnopqrstuv\n" T("2") "x\n", "",
         "0123456789ab\ncdefghijklmnopqrstuv\nx\n"},
        {"rotated: the last line does not come again", T("1") "a\n", T("2") "b\n" T("3") "c\n",
         "a\n" KUBE_LOG_GAP "\nb\nc\n"},
        {"rotated between lines of one time", T("1") "a\n" T("1") "b\n", T("1") "b\n" T("2") "c\n",
         "a\nb\n" KUBE_LOG_GAP "\nc\n"},
        {"written in another order than stamped", T("3") "a\n" T("2") "b\n",
         T("3") "a\n" T("2") "b\n" T("1") "c\n" T("4") "d\n", "a\nb\nc\nd\n"},
        {"... and the duplicate of it", T("1") "0123456789abcdefghijklmnopqrstuv\n",
         T("1") "0123456789abcdefghijklmnopqrstuv\n" T("2") "x\n",
         "0123456789ab\ncdefghijklmnopqrstuv\nx\n"},
        {"just as long as it may be", T("1") "0123456789ab\n" T("2") "x\n", "",
         "0123456789ab\nx\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf seen = BUF_INIT;
        _cleanup_(kube_log_cursor_done) struct kube_log_cursor c;
        char since[KUBE_LOG_SINCE_SIZE];
        kube_log_cursor_init(&c, strlen(T("1")) + 12, note, &seen);
        kube_log_cursor_feed(&c, rows[i].text, strlen(rows[i].text));
        (void)kube_log_cursor_reopen(&c, since);
        kube_log_cursor_feed(&c, rows[i].again, strlen(rows[i].again));
        kube_log_cursor_end(&c, rows[i].again[0] != '\0');
        assert_int_equal(c.has_gap, strstr(rows[i].lines, KUBE_LOG_GAP) != NULL);
        if (strcmp(buf_cstr(&seen), rows[i].lines) != 0) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].name, rows[i].lines, buf_cstr(&seen));
        }
    }
}

TEST(unfinished_line_at_the_end)
{
    _cleanup_(buf_done) struct buf seen = BUF_INIT;
    _cleanup_(kube_log_cursor_done) struct kube_log_cursor c;
    kube_log_cursor_init(&c, 0, note, &seen);
    kube_log_cursor_feed(&c, T("1") "half", strlen(T("1") "half"));
    kube_log_cursor_end(&c, true);
    kube_log_cursor_end(&c, true);
    assert_string_equal(buf_cstr(&seen), "half\n");
}

/* The last line does not come again and no other follows: the newest file is empty. A stream that
 * could not be read says nothing of the file. */
TEST(a_gap_at_the_end)
{
    for (int is_all = 0; is_all <= 1; is_all++) {
        _cleanup_(buf_done) struct buf seen = BUF_INIT;
        _cleanup_(kube_log_cursor_done) struct kube_log_cursor c;
        char since[KUBE_LOG_SINCE_SIZE];
        kube_log_cursor_init(&c, 0, note, &seen);
        kube_log_cursor_feed(&c, T("1") "a\n", strlen(T("1") "a\n"));
        assert_true(kube_log_cursor_reopen(&c, since));
        kube_log_cursor_end(&c, is_all);
        assert_int_equal(c.has_gap, is_all);
        assert_string_equal(buf_cstr(&seen), is_all ? "a\n" KUBE_LOG_GAP "\n" : "a\n");
    }
}

/* What is printed within two seconds of the first line, whose time is known too. */
TEST(how_it_begins)
{
    _cleanup_(buf_done) struct buf seen = BUF_INIT;
    _cleanup_(kube_log_cursor_done) struct kube_log_cursor c;
    static const char early[] = T("1") "a\n"
                                       "2026-11-20T08:52:53.0Z b\n";
    static const char late[] = "2026-11-20T08:52:53.1Z c\n";
    kube_log_cursor_init(&c, 0, note, &seen);
    kube_log_cursor_feed(&c, "of the kubelet\n", strlen("of the kubelet\n"));
    assert_int_equal(c.first_ns, INT64_MIN);
    kube_log_cursor_feed(&c, early, sizeof(early) - 1);
    kube_log_cursor_feed(&c, late, sizeof(late) - 1);
    assert_int_equal(c.first_ns, INT64_C(1795164771100000000));
    assert_in_range(c.early_bytes, sizeof(early) - 3, sizeof(early) + 15);
}

TEST(times)
{
    static const struct {
        const char *text;
        int r;
        int64_t ns;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, 0},
        {"2026-11-20T08:52:51Z", 0, 1795164771 * S_NS},
        {"2026-11-20T08:52:51.000000001Z", 0, 1795164771 * S_NS + 1},
        {"2026-11-20T08:52:51.5+01:00", 0, (1795164771 - 3600) * S_NS + S_NS / 2},
        {"2026-11-20T08:52:51-00:30", 0, (1795164771 + 1800) * S_NS},
        {"2000-02-29T00:00:00.1234567899Z", 0, 951782400 * S_NS + 123456789},
        {"2024-12-31T23:59:60Z", 0, 1735689600 * S_NS},
        {"2026-11-20T08:52:51", -EINVAL, 0},
        {"2026-11-20 08:52:51Z", -EINVAL, 0},
        {"2026-13-20T08:52:51Z", -EINVAL, 0},
        {"2026-11-20T08:52:51Zx", -EINVAL, 0},
        {"26-11-20T08:52:51Z", -EINVAL, 0},
        {"9999-11-20T08:52:51Z", -ERANGE, INT64_MAX},
        {"0001-01-01T00:00:00Z", -ERANGE, INT64_MIN},
        {"9999-13-20T08:52:51Z", -EINVAL, 0},
        {"", -EINVAL, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int64_t got = 0;
        const int r = rfc3339_parse(rows[i].text, strlen(rows[i].text), &got);
        if (r != rows[i].r || got != rows[i].ns) {
            fail_msg("'%s': expected %d %lld, got %d %lld", rows[i].text, rows[i].r,
                     (long long)rows[i].ns, r, (long long)got);
        }
    }
    char text[RFC3339_MICRO_SIZE];
    rfc3339_format_micro(INT64_C(1795164771007), text);
    assert_string_equal(text, "2026-11-20T08:52:51.007000Z");
}
