/* Bytes as they were collected to lines for people: split at \n and at \r (progress bars), without
 * escape sequences of terminals, NULs and other control characters. Empty lines are only counted. A
 * line of
 * more than LOG_LINE_MAX bytes is cut there. Memory is bounded. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "logparse/number_text.h"

#define LOG_LINE_MAX 8192

/* The line is borrowed and has no NUL. Its number counts from 1; empty lines count. */
typedef void (*log_line_fn)(void *ctx, uint64_t number, const char *line, size_t len);

struct log_lines {
    struct buf partial; /* of the line that is not complete; at most LOG_LINE_MAX bytes */
    struct buf clean;
    log_line_fn on_line;
    void *ctx;
    uint64_t number; /* of the last line */
    bool is_after_cr;
};

void log_lines_init(struct log_lines *l, log_line_fn on_line, void *ctx);
void log_lines_done(struct log_lines *l);
void log_lines_feed(struct log_lines *l, const char *data, size_t len);
/* The stream has ended: an incomplete line is one. */
void log_lines_end(struct log_lines *l);
/* The lines of a whole text. */
void log_lines_each(const char *text, size_t len, log_line_fn on_line, void *ctx);

/* What launchers put before the lines of many processes: "[1,3]<stdout>:", "[host@1,3]<stderr>: ",
 * "[3]<stdout>:" (Open MPI, Horovod), "[default3]:", "[rank3]:" (torchrun), "[rank3] ", "[Rank 3]
 * ". Returns its length, 0: none; *ret_rank: 3, or unchanged. */
size_t log_prefix_len(const char *line, size_t len, int64_t *ret_rank);

/* The number of the process in a label of `srun --label`, "3: "; -1: the line has none. */
int64_t log_label_rank(const char *line, size_t len);
/* Are the numbers that a whole text has before its lines labels of `trainers` or more processes?
 * They are all of 0 to n - 1, on a third of the lines or more, and they do not count: steps and
 * epochs rise by one and begin anew. Two processes take turns, so only `trainers` decides. */
bool log_is_labelled(const char *text, size_t len, int64_t trainers);

/* When a line says that it was printed: the first time of day in it, with the date before it, or
 * the elapsed time of a progress bar, "[01:20<00:40". False: it does not say. */
bool log_line_stamp(const char *line, size_t len, struct log_stamp *ret);

/* ---- the last lines of a log ---- */

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
