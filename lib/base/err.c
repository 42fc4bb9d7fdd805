/* Error values, see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err != NULL) {
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap); /* a cut text is good enough */
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
        (void)vsnprintf(what, sizeof(what), fmt, ap);
        va_end(ap);
        char reason[128];
        const char *text = strerror_r(code, reason, sizeof(reason));
        err->code = code;
        (void)snprintf(err->msg, sizeof(err->msg), "%.*s: %s",
                       (int)(sizeof(err->msg) - strlen(text) - 3), what, text);
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
    (void)vsnprintf(context, sizeof(context), fmt, ap);
    va_end(ap);

    size_t cause_len = strlen(err->msg);
    size_t context_len = strlen(context);
    size_t room = sizeof(err->msg) - 1 - cause_len;
    if (room < 3) {
        return r; /* no room for context: keep the cause complete */
    }
    if (context_len > room - 2) {
        context_len = room - 2;
    }
    memmove(err->msg + context_len + 2, err->msg, cause_len + 1);
    memcpy(err->msg, context, context_len);
    memcpy(err->msg + context_len, ": ", 2);
    return r;
}
