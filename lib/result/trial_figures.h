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

/* A result from figures, between result_begin and result_end: result_assign_rows first, then the
 * figures of all attempts by point (list_figures of store.h), and figures_end. */
struct figures_reader {
    struct result *result; /* borrowed */
    uint32_t point;        /* those before it are complete */
    char *text;            /* of the machines that were read last; owned */
    struct machines machines, of_point;
};
/* Figures of an attempt that decides nothing are passed over, and of one that the result does not
 * have. -EBADMSG: they are damaged; -ENOENT: one that decides a trial had none. */
int figures_read(void *reader, const struct attempt_id *id, const struct trial_figures *f);
/* Completes all points if r is 0 or more; frees what the reader has. Returns r, or that -ENOENT. */
int figures_end(struct figures_reader *reader, int r);
