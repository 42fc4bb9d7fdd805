/* The throughput of training in an MLPerf log, from its events: docs/contracts/mllog.md has the
 * rules and why they are so. Fed line by line. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "core/evaluations.h"
#include "core/record.h"

/* Of more events than these a log is refused. */
#define MLLOG_EVENTS_MAX (1 << 20)

struct mllog;
struct mllog *mllog_new(void);
void mllog_free(struct mllog *m); /* NULL is fine */

/* A number, or a text that holds one, of a size that counts and times have; NaN. */
double mllog_number(const json_t *value);

/* One line, whatever it is. */
void mllog_line(struct mllog *m, const char *line, size_t len);

/* What the throughput follows from. */
enum mllog_basis { MLLOG_NOTHING, MLLOG_STEPS, MLLOG_LOSSES, MLLOG_POSITIONS };

struct mllog_result {
    enum mllog_basis basis;
    const char *refusal; /* why there is no throughput; borrowed; NULL: there is one */
    char *numbers;       /* the two figures that contradict each other; owned; NULL */
    double batch;        /* of the job: samples a step; NaN: unknown */
    double rate;         /* of the job, a second: `unit` */
    double stated;       /* the same as the log states it, which agrees; NaN: it does not */
    enum summary_unit unit;
    double seconds;      /* that it was measured over; NaN for losses */
    size_t n;            /* steps, pairs of losses or positions that it follows from */
    bool has_evaluation; /* false: evaluations, if any, have no events */
    double evaluation_s; /* that all of them took; NaN: unknown */
    struct evaluations evaluations;
    double parameters, sequence; /* of a language model, all of it trained; 0: another */
    struct goal goal;            /* of the log, or that MLPerf sets; of two none */
    double accuracy_last;        /* NaN: unknown */
    const char *status;          /* "success", "aborted"; borrowed; NULL: unknown */
};
/* Of the whole log; borrows from `m`. `trainers`: the log may state the rate of one of so many. */
void mllog_conclude(struct mllog *m, double trainers, struct mllog_result *ret);
