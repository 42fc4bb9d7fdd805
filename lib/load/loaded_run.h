/* A run with everything that is known about it, from the store or from benchd. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "result/result.h"
#include "store/run_document.h"

struct loaded_run { /* all owned */
    struct run_row row;
    struct run_def *def;
    struct attempt_row *rows; /* see loaded_run_row */
    size_t n_rows;
    struct event_row *events;
    size_t n_events;
    struct result *result; /* NULL, like def: the run was not accepted (yet) */
    bool is_interrupted;   /* it has not ended, but no process is running it */
    json_t *object;        /* the BenchmarkRun in a cluster; NULL: it has none */
};
void loaded_run_done(struct loaded_run *run);
/* The i-th row with its replicas, which are borrowed until a row of another point is asked for. */
const struct attempt_row *loaded_run_row(const struct loaded_run *run, size_t i);
/* Why replicas are missing that were asked for, as the store could not be read. 0: none are. */
int loaded_run_check_read(const struct loaded_run *run, struct err *err);
/* What a document has: all but the definition and the result. */
struct loaded_run loaded_run_of_document(const struct run_document *d_take);
/* All that the store has of the run; takes the row, which has a definition. -EBADMSG: damaged. */
int loaded_run_read(struct store *s, struct run_row *row_take, struct loaded_run *ret,
                    struct err *err);
