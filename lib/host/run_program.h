/* Another program for its answer. Edge file: starts a program and waits for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct run_limits {
    size_t max_bytes;  /* read; the writes of one that prints without end fail */
    int timeout_ms;    /* -1: none. Then it is killed */
    bool hides_errors; /* what it writes to stderr is dropped */
};
/* Runs a program, a path or a name in PATH, to its end, with stdout into `ret`. Its exit status
 * (255: killed by a signal), or -errno; -E2BIG, -ETIMEDOUT. */
int run_program(char *const *argv, const struct run_limits *limits, struct buf *ret);
