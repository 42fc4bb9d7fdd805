/* A run with everything that is known about it, from the store or from benchd. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
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

/* The result of a stored run, from the figures that the store has of its attempts. If one of them
 * has none, because it was damaged or the store is older and cannot be written, the result is made
 * from the rows, and is the same. */
/* What is wanted of a run that is loaded for its figures. */
enum figures_of {
    FIGURES_OF_REPLICAS, /* all else: the result has a source, which reads from the store */
    FIGURES_OF_POINTS,   /* comparisons do not; then it has no rows */
};

struct run_result {
    struct result *result;    /* owned */
    struct attempt_row *rows; /* which it borrows, with replicas of an open point alone; owned */
    size_t n_rows;
};
void run_result_done(struct run_result *r);

/* `def` is that of the row, or one of a run with the same definition and CPUs; borrowed
 * for the result's life. */
int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err);
