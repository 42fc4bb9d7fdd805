/* The history of a run: the attempts with a row, folded into trials one after another. A
 * driver keeps it and adds each row that the store has acknowledged, so that a call of
 * reconcile() costs what has changed and not what is done. Pure. Any order of the same rows
 * gives the same answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "decide/policy_attempt.h"
#include "decide/policy_end.h"
#include "spec/run_def.h"

struct trial { /* what rows and replicas say about one trial */
    struct attempt_seen seen;
    uint32_t n_rows;     /* but for Invalid ones, which cost no attempt */
    bool is_decided;     /* attempt_outcome_decides */
    uint32_t decided_by; /* its attempt */
    enum attempt_outcome outcome;
    const char *error; /* borrowed from that row, or from the caller of trial_add_row */
    double throughput; /* of that row; NaN: none */
    size_t newest;     /* of its attempts, in history.attempts, plus 1; 0: none */
};
struct point_tally {   /* the trials of one point */
    uint32_t n_trials; /* that are to be decided: fewer where a stop rule has enough of them */
    uint32_t done, failed;
    uint32_t n_values; /* of `done`, with a throughput */
    uint32_t needed;   /* of them: stop_rule_needed() */
};
/* A row of an attempt that has ended. */
struct history_row {
    struct attempt_id id;
    enum attempt_outcome outcome;
    const char *error; /* borrowed; NULL: none */
    double throughput; /* of one that succeeded; NaN: none, or nothing depends on it */
};
/* A row of the trial counts from now on: here, in the tally of its point, in
 * the counts of the run. */
void trial_add_row(struct trial *t, const struct history_row *row, const struct spec *spec,
                   struct point_tally *point, struct trial_counts *counts);
bool point_tally_is_given_up(const struct point_tally *point);
/* Is there a trial to run? If so, any of the point's that is not decided. */
bool point_tally_is_open(const struct point_tally *point);

struct history_attempt {
    struct attempt_id id;
    enum attempt_outcome outcome;
    char *error;  /* owned; NULL: none */
    size_t older; /* of the same trial, plus 1; 0: none */
};

struct attempt_history {
    const struct run_def *def;  /* borrowed */
    struct trial *trials;       /* [point * repeats + trial], owned */
    struct point_tally *points; /* by point, owned */
    VEC(struct history_attempt) attempts;
    struct trial_counts counts;
    uint32_t first_open; /* all slots before it are decided, or of a point that is not open */
};

void attempt_history_init(struct attempt_history *p, const struct run_def *def);
void attempt_history_done(struct attempt_history *p);
/* Is there such an attempt, by the definition? */
bool attempt_history_may_have(const struct attempt_history *p, const struct attempt_id *id);
/* Where `trials` has it; attempt_history_may_have. */
size_t attempt_history_place(const struct attempt_history *p, uint32_t point, uint32_t trial);
/* A row of the store. One that cannot be of this definition is left out. */
void attempt_history_add(struct attempt_history *p, const struct history_row *row);
/* NULL: it has no row. */
const struct history_attempt *attempt_history_find(const struct attempt_history *p,
                                                   const struct attempt_id *id);
