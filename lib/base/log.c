/* See log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/buf.h"
#include "base/clock.h"

static enum log_level max_level = LOG_LEVEL_WARN;
static enum log_format log_format = LOG_FORMAT_LOGFMT;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
    max_level = level;
}

void log_set_format(enum log_format format)
{
    log_format = format;
}

static bool needs_quotes(const char *s)
{
    for (const char *p = s; *p != '\0'; p++) {
        if (strchr(" \"=", *p) != NULL || ascii_is_control(*p)) {
            return true;
        }
    }
    return *s == '\0';
}

/* A control character becomes a backslash, `control` and two hexadecimal digits. */
static void put_quoted(struct buf *b, const char *s, const char *control)
{
    buf_putc(b, '"');
    for (const char *p = s; *p != '\0'; p++) {
        if (ascii_is_control(*p)) {
            buf_printf(b, "\\%s%02x", control, (unsigned)(unsigned char)*p);
            continue;
        }
        if (*p == '"' || *p == '\\') {
            buf_putc(b, '\\');
        }
        buf_putc(b, *p);
    }
    buf_putc(b, '"');
}

static void put_value(struct buf *b, const char *s)
{
    if (needs_quotes(s)) {
        put_quoted(b, s, "x");
    } else {
        buf_puts(b, s);
    }
}

/* Keys and the message are ours, values come from outside and may be no UTF-8. */
static void put_json_string(struct buf *b, const char *s)
{
    struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, s, strlen(s));
    put_quoted(b, buf_cstr(&clean), "u00");
    buf_done(&clean);
}

static void write_json(struct buf *line, enum log_level level, const char *msg, va_list ap)
{
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(clock_unix_ms(), now);
    buf_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", now, level_names[level]);
    put_json_string(line, msg);
    for (const char *key = va_arg(ap, const char *); key != NULL; key = va_arg(ap, const char *)) {
        buf_printf(line, ",\"%s\":", key);
        put_json_string(line, va_arg(ap, const char *));
    }
    buf_putc(line, '}');
}

static void write_logfmt(struct buf *line, enum log_level level, const char *msg, va_list ap)
{
    buf_printf(line, "level=%s msg=", level_names[level]);
    put_value(line, msg);
    for (const char *key = va_arg(ap, const char *); key != NULL; key = va_arg(ap, const char *)) {
        buf_printf(line, " %s=", key);
        put_value(line, va_arg(ap, const char *));
    }
}

void log_event(enum log_level level, const char *msg, ...)
{
    if (level > max_level) {
        return;
    }
    struct buf line = BUF_INIT;
    va_list ap;
    va_start(ap, msg);
    if (log_format == LOG_FORMAT_JSON) {
        write_json(&line, level, msg, ap);
    } else {
        write_logfmt(&line, level, msg, ap);
    }
    va_end(ap);
    buf_putc(&line, '\n');
    ssize_t n = write(STDERR_FILENO, line.data, line.len); /* one write: lines never interleave */
    (void)n; /* there is nowhere to report that a log line cannot be written */
    buf_done(&line);
}
