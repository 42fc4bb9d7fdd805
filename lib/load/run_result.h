/* The result of a stored run, from the figures that the store has of its attempts. If one of them
 * has none, because it was damaged or the store is older and cannot be written, the result is made
 * from the rows, and is the same. */
#pragma once

#include "base/err.h"
#include "result/result.h"
#include "store/store.h"

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
