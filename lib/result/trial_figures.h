/* The figures of an attempt, as the store keeps them next to its replicas, so that comparisons and
 * histories need not read those. Made once, when the attempt is saved, by the code that makes a
 * result of records (trial_build). Pure. */
#pragma once

#include "core/phase.h"
#include "result/machines.h"
#include "result/result.h"

/* Owned. */
struct trial_figures {
    struct trial_result trial; /* without its replicas; from a store, without its row and phase */
    double seconds;            /* the longest measured window of a replica that leads; NaN: none */
    char *machines;            /* of one with a throughput: machines_to_text; else NULL */
    char *metrics;             /* JSON of the trial's; NULL: none */
};
void trial_figures_done(struct trial_figures *f);

/* False: nothing follows, as the definition has no such point, or a text is no UTF-8. */
bool trial_figures_make(const struct attempt_row *row, const struct trial_terms *terms,
                        struct trial_figures *ret);

/* A result from figures, between result_begin and result_end: result_assign_rows first, then point
 * by point the figures of each row and figures_end_point. */
struct figures_reader {
    struct result *result; /* borrowed */
    char *text;            /* of the machines that were read last; owned */
    struct machines machines, of_point;
};
void figures_reader_done(struct figures_reader *r);
/* Of a row that the result has. Figures of a row that decides nothing are passed over. False: they
 * are damaged. */
bool figures_read(struct figures_reader *r, const struct attempt_row *row,
                  const struct trial_figures *f);
/* False: a row that decides a trial had no figures. */
bool figures_end_point(struct figures_reader *r, uint32_t point);
