/* Which lines of a log a page shows: the one that reports a failure, and its neighbours. Pure. */
#pragma once

#include <stddef.h>

#define LOG_WINDOW_LINES 2000 /* shown at most */

struct log_window {
    size_t n_lines;   /* of the whole log */
    size_t first, n;  /* shown: from this line, counted from 1; so many */
    size_t from_byte; /* where the first of them begins */
    size_t fault;     /* the line of the failure; 0: none */
};

/* `error` (NULL: none): the cause of the attempt, which may quote lines of the log. The fault is
 * the last line whose text is in it, looked for in the last MiB, else the last line that is not
 * empty. Without a fault the end of the log is shown. */
void log_window_find(const char *text, size_t len, const char *error, struct log_window *ret);
