/* Log lines: one line an event whatever its values contain, and only the levels
 * that were asked for. */
#include <unistd.h>

#include "tests/test.h"
#include "base/log.h"

/* What was written to stderr since start_capture(). */
struct capture {
    int saved, from;
    char text[1024];
};

static void start_capture(struct capture *c)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    c->saved = dup(STDERR_FILENO);
    c->from = fds[0];
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(fds[1]), 0);
}

static const char *end_capture(struct capture *c)
{
    assert_int_equal(dup2(c->saved, STDERR_FILENO), STDERR_FILENO); /* the pipe has no writer now */
    assert_int_equal(close(c->saved), 0);
    size_t len = 0;
    ssize_t n;
    while ((n = read(c->from, c->text + len, sizeof(c->text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    c->text[len] = '\0';
    assert_int_equal(close(c->from), 0);
    return c->text;
}

TEST(one_line_an_event)
{
    static const struct {
        const char *value, *line;
    } rows[] = {
        {"plain", "level=warn msg=port a=plain b=2\n"},
        {"two words", "level=warn msg=port a=\"two words\" b=2\n"},
        {"", "level=warn msg=port a=\"\" b=2\n"},
        {"x=y", "level=warn msg=port a=\"x=y\" b=2\n"},
        {"say \"a\\b\"", "level=warn msg=port a=\"say \\\"a\\\\b\\\"\" b=2\n"},
        {"a\nlevel=error", "level=warn msg=port a=\"a\\x0alevel=error\" b=2\n"},
        {"\x1b[31m", "level=warn msg=port a=\"\\x1b[31m\" b=2\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct capture c;
        start_capture(&c);
        log_event(LOG_LEVEL_WARN, "port", "a", rows[i].value, "b", "2", NULL);
        assert_string_equal(end_capture(&c), rows[i].line);
    }
}

/* Everything but the date, which is the machine's. */
TEST(one_object_an_event)
{
    static const char head[] = "{\"time\":\"";
    static const char middle[] = "Z\",\"level\":\"warn\",\"msg\":\"port \\\"1\\\"\",";
    static const struct {
        const char *value, *rest;
    } rows[] = {
        {"plain", "\"a\":\"plain\",\"b\":\"2\"}\n"},
        {"", "\"a\":\"\",\"b\":\"2\"}\n"},
        {"say \"a\\b\"", "\"a\":\"say \\\"a\\\\b\\\"\",\"b\":\"2\"}\n"},
        {"a\n{}", "\"a\":\"a\\u000a{}\",\"b\":\"2\"}\n"},
        {"\x7f\xff\xc3\xa9", "\"a\":\"\\u007f?\xc3\xa9\",\"b\":\"2\"}\n"},
    };
    log_set_format(LOG_FORMAT_JSON);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct capture c;
        start_capture(&c);
        log_event(LOG_LEVEL_WARN, "port \"1\"", "a", rows[i].value, "b", "2", NULL);
        const char *line = end_capture(&c);
        assert_memory_equal(line, head, sizeof(head) - 1);
        const char *after = strstr(line, middle);
        assert_non_null(after);
        assert_int_equal(after - line, sizeof(head) - 1 + strlen("2026-11-21T14:25:07"));
        assert_string_equal(after + sizeof(middle) - 1, rows[i].rest);
    }
    log_set_format(LOG_FORMAT_LOGFMT);
}

TEST(only_the_levels_asked_for)
{
    static const char *const expected[] = {
        "level=error msg=e\n",
        "level=error msg=e\nlevel=warn msg=w\n",
        "level=error msg=e\nlevel=warn msg=w\nlevel=info msg=i\n",
        "level=error msg=e\nlevel=warn msg=w\nlevel=info msg=i\nlevel=debug msg=d\n",
    };
    for (enum log_level level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        struct capture c;
        start_capture(&c);
        log_set_level(level);
        log_event(LOG_LEVEL_ERROR, "e", NULL);
        log_event(LOG_LEVEL_WARN, "w", NULL);
        log_event(LOG_LEVEL_INFO, "i", NULL);
        log_event(LOG_LEVEL_DEBUG, "d", NULL);
        assert_string_equal(end_capture(&c), expected[level]);
    }
}
