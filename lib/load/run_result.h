/* The result of a stored run: from the figures that the store keeps since the run ended, or from
 * its rows, with the same outcome. Figures are made by the code that reads them
 * (result/figures_version.h); those of other code are passed over. */
#pragma once

#include "base/err.h"
#include "result/figures_pack.h"
#include "result/result.h"
#include "store/store.h"

/* What is wanted of a run that is loaded for its figures. */
enum figures_of {
    FIGURES_OF_REPLICAS, /* tables by node, replica or phase look at single replicas */
    FIGURES_OF_POINTS,   /* comparisons do not; then it has no rows */
};

struct run_result {
    struct result *result;    /* owned */
    struct attempt_row *rows; /* which it borrows, without the texts of their replicas; owned */
    size_t n_rows;
    bool has_replicas; /* else its points alone can be looked at */
    bool is_from_rows; /* no figures were stored that this program could read */
};
void run_result_done(struct run_result *r);

/* `def` is that of the row, or one of a run with the same definition and CPUs; borrowed
 * for the result's life. */
int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err);
/* The same, and stores the figures of a run that has ended where none exist. Where that fails
 * (a store that cannot be written, a run that goes on) they are made again next time. */
int run_result_load_and_keep(struct store *s, const struct run_row *row, const struct run_def *def,
                             enum figures_of of, struct run_result *ret, struct err *err);

/* Figures to be stored, for callers that read on one connection and write on another. */
struct run_figures {
    struct figures_bytes bytes;
    struct figures_source source;
};
void run_figures_done(struct run_figures *f);
/* Reads the rows of a run that has ended. *ret_result says what its points say. */
int run_figures_make(struct store *s, const struct run_row *row, const struct run_def *def,
                     struct run_figures *ret, struct result **ret_result, struct err *err);
/* As put_figures of the store; also 0 if the version of the code that made them is unknown. */
int run_figures_put(struct store *s, const char *uid, const struct run_figures *f, struct err *err);
/* Both, of a run that has just ended. */
int run_figures_keep(struct store *s, const char *uid, struct err *err);
