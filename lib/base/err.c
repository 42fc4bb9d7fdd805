/* Error values, see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Into ERR_MSG_SIZE bytes: a cut text is good enough. */
__attribute__((format(printf, 2, 0))) static void put(char *dst, const char *fmt, va_list ap)
{
    if (vsnprintf(dst, ERR_MSG_SIZE, fmt, ap) >= ERR_MSG_SIZE) {
        dst[utf8_cut(dst, ERR_MSG_SIZE - 1)] = '\0';
    }
}

/* How many of its bytes fit into `room`. */
static size_t fitting(const char *text, size_t room)
{
    const size_t len = strlen(text);
    return len <= room ? len : utf8_cut(text, room);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err != NULL) {
        va_list ap;
        va_start(ap, fmt);
        put(err->msg, fmt, ap);
        va_end(ap);
        err->code = code;
    }
    return -code;
}

int err_set_errno(struct err *err, int code, const char *fmt, ...)
{
    if (err != NULL) {
        char what[ERR_MSG_SIZE];
        va_list ap;
        va_start(ap, fmt);
        put(what, fmt, ap);
        va_end(ap);
        char reason[128];
        const char *text = strerror_r(code, reason, sizeof(reason));
        err->code = code;
        (void)snprintf(err->msg, sizeof(err->msg), "%.*s: %s",
                       (int)fitting(what, sizeof(err->msg) - strlen(text) - 3), what, text);
    }
    return -code;
}

int err_wrap(struct err *err, int r, const char *fmt, ...)
{
    if (err == NULL) {
        return r;
    }
    char context[ERR_MSG_SIZE];
    va_list ap;
    va_start(ap, fmt);
    put(context, fmt, ap);
    va_end(ap);

    size_t cause_len = strlen(err->msg);
    size_t room = sizeof(err->msg) - 1 - cause_len;
    if (room < 3) {
        return r; /* no room for context: keep the cause complete */
    }
    const size_t context_len = fitting(context, room - 2);
    memmove(err->msg + context_len + 2, err->msg, cause_len + 1);
    memcpy(err->msg, context, context_len);
    memcpy(err->msg + context_len, ": ", 2);
    return r;
}
