/* What one call of reconcile() decides with: the lanes of the run and which trial is due in each.
 * For reconcile.c alone. Pure.
 *
 * A lane measures one trial at a time; a run has as many as spec.parallelism.trials says. Two of
 * them never measure one point, so that each trial of a point follows from those before it. */
#pragma once

#include "decide/decision_view.h"
#include "decide/plan.h"

/* One of the lanes of the run: the trial that is due in it, its attempt, and its live gang. */
struct lane {
    bool has_current;               /* else nothing is left for it, or the run has ended */
    struct attempt_id current;      /* that is due */
    struct observed_gang *gang;     /* NULL: nothing of it lives */
    char error[ATTEMPT_ERROR_SIZE]; /* of the one attempt that a call can save */
};

struct decision {
    const struct observed *o;
    const struct run_def *def;
    struct decision_view view;
    struct plan *plan;
    VEC(struct lane) lanes; /* as many as the run has, in the order of the status */

    bool is_paused;           /* it waits, and its time does not count */
    bool is_interrupted;      /* cancelled, suspended or out of time */
    bool awaits_row;          /* what follows depends on a row that this plan saves */
    int64_t deadline_ms;      /* left; DEADLINE_NONE */
    int64_t recheck_ms;       /* left until a verdict may change by itself; DEADLINE_NONE */
    struct run_status status; /* the new one */
    struct run_status said;   /* the last one, with what this plan says of attempts cut short */
};

/* The run has ended: nothing more is due. */
bool lanes_are_over(const struct decision *d);
/* Where the status has the lane. */
size_t lane_place(const struct decision *d, const struct lane *l);
/* What is due in each lane, from what is written. Nothing is once the run has ended. */
void lanes_find(struct decision *d);
/* The attempt has ended or was cut short: the trial's next one is due, unless that is decided. */
void lane_retry(struct decision *d, struct lane *l);
/* What those do that have nothing to do. */
void lanes_find_more(struct decision *d);
