/* The text of `benchctl describe`. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "result/result.h"
#include "store/store.h"

struct describe_params { /* all borrowed */
    const struct run_row *row;
    const struct result *result; /* NULL: not known; then `object` is described, if there is one */
    const struct attempt_row *rows;
    size_t n_rows;
    const struct event_row *events;
    size_t n_events;
    bool is_interrupted;
    const char *where;    /* "--local" or "--store URL": for commands that the user can copy */
    const json_t *object; /* the BenchmarkRun in a cluster; NULL: none */
    int64_t now_unix_ms;
    /* Of the terminal; 0: any width fits. Lines are broken between columns and at blanks, commands
     * that the user can copy and lines of logs are not. */
    size_t columns;
};
void describe_format(const struct describe_params *p, struct buf *out);
