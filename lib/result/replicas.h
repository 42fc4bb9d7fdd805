/* Each replica of a point: how much time it needs for a step, compared with the others of its gang.
 * Pure; nodes.c compares nodes by the same rule.
 *
 * A gang makes its steps together: a slow trainer makes the steps of all as long as its own, and
 * shows in what the others wait. So what is compared is a replica's own work in a step, which is
 * data, forward and backward of a trainer or worker, and update of a pserver. A replica that does
 * not say it is compared by its median step time, with others that do not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/phase.h"
#include "core/record.h"

struct point_result;
struct result;
struct trial_result;

/* What its step times say about the measured window; NaN of NULL. The store has it next to them. */
struct step_times step_times_of(const struct summary *s);

/* Step times of a trial, as means of `k` steps each; owned. n 0: not known. */
struct step_series {
    double *us;
    size_t n;
    uint32_t k;
};
#define STEP_SERIES_MAX 256
struct step_series step_series_of(const struct summary *s);
void step_series_done(struct step_series *m);

/* From here on a difference is worth a word: 5%, as a logarithm. */
#define SPEED_MIN 0.05

enum speed_kind { SPEED_NONE, SPEED_WORK, SPEED_STEP };
struct replica_speed {
    enum speed_kind kind; /* NONE: unknown */
    double step_ns;       /* mean of the own work, or median of the step times */
};
struct replica_speed replica_speed_of(enum role role, const struct summary *s,
                                      const struct step_times *steps);
struct replica_speed replica_speed(const struct replica_row *r);

/* The replicas of one role in a trial whose paces can be compared, the slowest last. */
struct speed_gang {
    struct speed_member {
        double log_ns;                     /* ln of its pace */
        const struct replica_row *replica; /* borrowed */
    } * members;                           /* owned */
    size_t n;
};
void speed_gang_init(struct speed_gang *gang, const struct trial_result *t, enum role role);
void speed_gang_done(struct speed_gang *gang);

/* A replica over the succeeded trials of its point. */
struct replica_line {
    uint32_t point;
    enum role role;
    uint32_t index;
    const char *node;    /* of its last trial that says one; borrowed; NULL: not said */
    uint32_t n_nodes;    /* different ones over its trials */
    uint32_t n_trials;   /* succeeded, with its summary */
    uint64_t n_steps;    /* over these */
    double work_ns;      /* of a step; median over trials; NaN: not known */
    double exchange;     /* share of its measured time in phases not its own; NaN: counts none */
    double throttled;    /* share of it in which a cgroup kept it from running */
    double excess;       /* 0.12: 12% over the others' median; median of trials; NaN: no others */
    uint32_t n_compared; /* trials in which it could be compared, */
    uint32_t n_slowest;  /* and in which it was the slowest of its role */
};
struct replica_lines {
    VEC(struct replica_line) list; /* by point, role, index */
};
/* Adds those of one more point to r->lines, while its replicas are in memory. */
void replica_lines_add(struct result *r, const struct point_result *p);

/* What those of a role that leads lose in a step to the slowest of them: its own work less their
 * mean, over the step time. NaN unless two or more say their own work. */
double straggler_share(const struct trial_result *t, enum role leading);
/* The most resident memory, in MiB, of a replica of a role that leads; NaN if none says it. */
double peak_memory(const struct trial_result *t, enum role leading);
