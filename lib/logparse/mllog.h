/* The throughput of training in an MLPerf log, from its events: docs/contracts/mllog.md has the
 * rules and why they are so. Fed line by line. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evaluations.h"

/* Of more events than these a log is refused. */
#define MLLOG_EVENTS_MAX (1 << 20)

struct mllog;
struct mllog *mllog_new(void);
void mllog_free(struct mllog *m); /* NULL is fine */

/* One line, whatever it is. Whether it is an event that counts, and its time. */
bool mllog_line(struct mllog *m, const char *line, size_t len, double *ret_unix_ms);

/* What the throughput follows from. */
enum mllog_basis { MLLOG_NOTHING, MLLOG_STEPS, MLLOG_LOSSES, MLLOG_POSITIONS };
#define MLLOG_BASIS_COUNT 4
extern const char *const mllog_basis_names[MLLOG_BASIS_COUNT]; /* "steps", ... */

struct mllog_mark { /* an evaluation of the model */
    double t_s;     /* since run_start */
    double value;   /* of the kind that the benchmark has; NaN: not said */
};

struct mllog_result {      /* NaN: unknown */
    const char *benchmark; /* "llama31_405b"; borrowed; NULL: the log does not say it */
    double batch;          /* of the job: samples a step */
    enum mllog_basis basis;
    const char *refusal; /* why there is no throughput; static; NULL: there is one */
    double rate;         /* samples/s of the job */
    double seconds;      /* that it was measured over; NaN for losses */
    size_t n;            /* steps, pairs of losses or positions that it follows from */
    double training_s, evaluation_s;
    double first_unix_ms, last_unix_ms; /* from run_start to the last event of the run */
    double to_target_s;                 /* NaN: the target was not reached */
    const char *status;                 /* "success", "aborted"; borrowed; NULL: unknown */
    enum goal_kind quality;             /* of the benchmark; None: several, or unknown */
    const struct mllog_mark *marks;     /* borrowed */
    size_t n_marks;
};
/* Of the whole log; borrows from `m`. */
void mllog_conclude(struct mllog *m, struct mllog_result *ret);
