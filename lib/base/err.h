/* An error as a value: it lives on the caller's stack, owns nothing and is never freed.
 *
 * Every fallible function returns >= 0 for success and -Exxx for failure, and takes `struct err *`
 * as its last parameter (NULL: the caller does not want the text). The text reads outside-in:
 *     run 'a': start trainer/3: bind 127.0.0.1:7164: Address already in use
 * When the text outgrows the buffer the outer context is dropped, never the root cause. */
#pragma once

#include <errno.h>
#include <stdarg.h>

#define ERR_MSG_SIZE 1024

struct err {
    int code;               /* positive errno value, 0: no error */
    char msg[ERR_MSG_SIZE]; /* NUL-terminated, valid UTF-8 if the quoted input was */
};

/* Starts an error: fills *err (if not NULL) and returns -code. `code` must be positive. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* For a failed libc call: also appends ": " and the text of errno value `code`. */
int err_set_errno(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context before an error that is passed on: "context: text". Returns r unchanged. */
int err_wrap(struct err *err, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
