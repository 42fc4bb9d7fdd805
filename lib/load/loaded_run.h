/* A run with everything that is known about it, from the store or from benchd. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "load/run_walk.h"
#include "store/run_file.h"

struct loaded_run { /* all owned */
    struct run_row row;
    struct run_def *def;
    struct attempt_row *rows; /* by point, trial and attempt; loaded_run_walk has their replicas */
    size_t n_rows;
    struct store *store; /* borrowed, which has the replicas; NULL: the rows have them */
    struct event_row *events;
    size_t n_events;
    struct result *result; /* NULL, like def: the run was not accepted (yet) */
    bool is_interrupted;   /* it has not ended, but no process is running it */
    struct store *file;    /* of the run alone, which it is read from; NULL: it is read elsewhere */
    json_t *object;        /* the BenchmarkRun in a cluster; NULL: it has none */
};
void loaded_run_done(struct loaded_run *run);
/* For run_walk_done; the run is borrowed. */
struct run_walk loaded_run_walk(const struct loaded_run *run);
/* As run_walk_put_json. */
int loaded_run_put_json(const struct loaded_run *run, struct buf *out, struct err *err);
/* All that the store has of the run; takes the row, which has a definition. -EBADMSG: damaged. */
int loaded_run_read(struct store *s, struct run_row *row_take, struct loaded_run *ret,
                    struct err *err);

/* Reads all of a run's file (store/run_file.h), figures among it, and counts replicas that printed
 * something but have no log. */
int run_file_read(struct store *file, size_t *ret_n_lost, struct err *err);

/* What is wanted of a run that is loaded for its figures. Of points alone they come from the
 * figures that the store has of its attempts; from the rows, and are the same, if one has none,
 * because it was damaged, and if a threshold bounds a figure of replicas. */
enum figures_of {
    FIGURES_OF_REPLICAS, /* all else */
    FIGURES_OF_POINTS,   /* comparisons do not; then it has no rows */
};

struct run_result {
    struct result *result;    /* owned */
    struct attempt_row *rows; /* which it borrows, without their replicas; owned */
    size_t n_rows;
};
void run_result_done(struct run_result *r);

/* `def` is that of the row, or one of a run with the same definition and CPUs; borrowed
 * for the result's life. */
int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err);
