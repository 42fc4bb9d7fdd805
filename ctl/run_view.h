/* What a running run looks like at a moment: fed with what the driver tells, formatted for a
 * terminal. Pure: the time is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/record.h"
#include "decide/reconcile.h"
#include "result/result.h"

struct run_view_point {
    uint32_t done, failed;   /* trials decided */
    VEC(double) throughputs; /* of succeeded trials, samples/s */
};

/* The attempt that is under way, as trainer/0 tells it. */
struct run_view_current {
    bool is_active;
    struct attempt_id id;
    int64_t started_unix_ms;
    uint32_t warmup_done, steps_done;
    uint64_t samples; /* of measured steps */
    int64_t steps_ns;
};

struct run_view {
    const struct run_def *def; /* borrowed */
    struct run_status status;
    struct run_view_point *points; /* matrix.n_points */
    struct run_view_current current;
    double weight_done; /* of the trials that ended here, see trial_weight */
    int64_t spent_ms;   /* on them */
};

void run_view_init(struct run_view *v, const struct run_def *def);
void run_view_done(struct run_view *v);

/* An attempt that the store has already: counted, but no measure for the time to come. */
void run_view_restore(struct run_view *v, const struct attempt_row *row);
void run_view_status(struct run_view *v, const struct run_status *status, int64_t now_unix_ms);
void run_view_attempt(struct run_view *v, const struct attempt_row *row);
void run_view_record(struct run_view *v, const struct replica_id *id, const struct record *record);

/* Samples/s of a succeeded attempt, over all its trainers; NaN when a summary is missing. */
double run_view_throughput(const struct attempt_row *row);
/* Milliseconds until the end, from the trials that ended here; -1: not known yet. */
int64_t run_view_eta_ms(const struct run_view *v, int64_t now_unix_ms);

struct run_view_opts {
    unsigned columns, rows; /* of the terminal */
    bool ascii, color;
    int64_t now_unix_ms;
};
/* At most rows - 1 lines of at most columns - 1 characters, each with its newline. */
void run_view_format(const struct run_view *v, const struct run_view_opts *opts, struct buf *out);
