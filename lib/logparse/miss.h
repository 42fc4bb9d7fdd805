/* The last lines of a log. Bounded memory. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define LOG_LAST_LINES 5
#define LOG_QUOTE_SIZE 161 /* bytes of a quoted line, with its NUL */

struct log_quote {
    uint64_t number; /* of the line, from 1; 0: none */
    char text[LOG_QUOTE_SIZE];
};

struct log_miss {
    struct log_quote last[LOG_LAST_LINES]; /* a ring */
    uint64_t n_remembered;
};

void log_quote_put(struct log_quote *q, uint64_t number, const char *line, size_t len);
/* A line of the log; `number` from 1. */
void log_miss_remember(struct log_miss *m, uint64_t number, const char *line, size_t len);
/* "the last 5 lines:" and the lines, each with its newline; nothing where there is no line. */
void log_miss_put_last(const struct log_miss *m, struct buf *out);
/* The same for a whole output. */
void log_miss_put_tail(const char *text, size_t len, struct buf *out);
