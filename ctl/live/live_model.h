/* What the live view shows: updated with what the driver or benchd reports, formatted for a
 * terminal. Pure: the time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/phase.h"
#include "core/record.h"
#include "result/result.h"

struct live_model_point {
    uint32_t done, failed;   /* trials that have ended */
    VEC(double) throughputs; /* of succeeded trials */
    const char *unit;        /* that they count a second: "samples"; static */
};

/* The measured steps of one trainer of the attempt that is running. */
struct live_model_trainer {
    bool has_begun;   /* it has reported a step, of the warm-up or after it */
    uint64_t samples; /* of measured steps */
    int64_t steps_ns;
};

/* The attempt that is running; its steps are those of trainer/0. */
struct live_model_current {
    bool is_active;
    struct attempt_id id;
    int64_t started_unix_ms;
    uint32_t warmup_done, steps_done;
    VEC(struct live_model_trainer) trainers; /* as many as the point has */
};

struct live_model {
    const struct run_def *def; /* borrowed */
    struct run_status status;
    struct live_model_point *points; /* matrix.n_points */
    struct live_model_current current;
    bool sees_all;      /* records of others than trainer/0 come, too: a local run */
    double weight_done; /* of the trials that ended while we watched, see trial_weight */
    int64_t spent_ms;   /* on them */
};

void live_model_init(struct live_model *m, const struct run_def *def);
void live_model_done(struct live_model *m);

/* An attempt that ended before: it is counted, but says nothing about the remaining time. */
void live_model_restore(struct live_model *m, const struct attempt_row *row);
void live_model_status(struct live_model *m, const struct run_status *status, int64_t now_unix_ms);
void live_model_attempt(struct live_model *m, const struct attempt_row *row);
void live_model_record(struct live_model *m, const struct replica_id *id,
                       const struct record *record);

/* Of a succeeded attempt, over all its trainers, in what the definition wants; NaN when one of them
 * left no usable summary (core/summary.h). *ret_unit: "samples", "batches", "GB"; static. */
double live_model_throughput(const struct live_model *m, const struct attempt_row *row,
                             const char **ret_unit);
/* Samples/s or batches/s of the running attempt over all its trainers; 0, without a unit: no step
 * was measured. Trainers that do not report count like those that do: then *ret_is_estimate. */
double live_model_rate(const struct live_model *m, bool *ret_is_estimate, const char **ret_unit);
/* What the run waits for now, as a sentence without its end; nothing where it is at work. */
void live_model_waits_for(const struct live_model *m, struct buf *out);

/* How many trials the point has: with a stop rule as many as its trials so far say, at most. */
uint32_t live_model_trials(const struct live_model *m, uint32_t point);
/* Milliseconds until the end, from the trials that ended while we watched; -1: not known yet. Where
 * it is not known how many trials a point needs, it counts with the most, or with the least. */
int64_t live_model_eta_ms(const struct live_model *m, int64_t now_unix_ms, bool is_least);

struct live_model_opts {
    unsigned columns, rows; /* of the terminal */
    bool ascii, color;
    int64_t now_unix_ms;
};
/* live_model_format.c. At most rows - 1 lines of at most columns - 1 characters, each with its
 * newline. */
void live_model_format(const struct live_model *m, const struct live_model_opts *opts,
                       struct buf *out);
