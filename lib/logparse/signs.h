/* Signs in a log that what it measured is no result: a traceback, a failed check of sums, skipped
 * iterations. They are data: signs.yaml, compiled in. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* When a sign counts. */
enum log_sign_when {
    LOG_SIGN_ALWAYS,   /* wherever its line is */
    LOG_SIGN_TRAINING, /* after the first step: programs get over errors while they start */
    LOG_SIGN_STEP,     /* in a line that is a step */
};

struct log_sign {
    char *name, *says; /* "out-of-memory", "memory ran out"; owned by the list */
    enum log_sign_when when;
    struct log_pattern *pattern;
};

struct log_signs;
struct log_signs *log_signs_new(void);
void log_signs_free(struct log_signs *s); /* NULL is fine */
/* The sign that a line is, borrowed from the list; NULL: none. `is_step`: looks for those of steps
 * only, otherwise for the others only. */
const struct log_sign *log_signs_find(struct log_signs *s, bool is_step, const char *line,
                                      size_t len);
/* Where a whole output, of which no step is known, has a sign that is not of a step: "line 10: a
 * signal ended the process: ..."; owned. NULL: it has none. */
char *log_signs_in(const char *text, size_t len);
