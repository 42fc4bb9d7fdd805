/* The result of a run, as tables and `-o json` show it (docs/contracts/result.md): its types, and
 * what follows from them alone. result_build.h builds it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "core/phase.h"
#include "core/record.h"
#include "logparse/reading.h"
#include "result/accuracy.h"
#include "result/machines.h"
#include "result/phases.h"
#include "result/replicas.h"
#include "spec/figures.h"
#include "spec/run_def.h"
#include "stats/scaling.h"
#include "stats/stats.h"

/* One figure: never a bare number. */
struct figure {
    struct estimate estimate;
    const char *unit;  /* "samples/s", "ratio"; static */
    const char *scope; /* "job" or "replica"; static */
    int64_t batch;     /* printed in batches/s of so many samples; 0: as it is */
};
/* As the definition wants it printed: everything that is printed asks this, and what is computed
 * does not, because only samples/s compare where batches differ. The second converts another value
 * in the unit of `f`. */
struct figure figure_shown(const struct figure *f);
double figure_shown_value(const struct figure *f, double value);

/* ---- a replica is its stored row (core/phase.h) ---- */

/* What a summary says; of a replica without one everything is 0. */
const struct summary *replica_summary(const struct replica_row *r);
/* What its step times say: stored ones, or those of its summary. In replicas.c. */
struct step_times replica_steps(const struct replica_row *r);
/* Not of a pserver, and its summary can be used: it has a throughput, samples / duration. */
bool replica_is_rated(const struct replica_row *r);
/* Of scope "replica", or "job" where it speaks for all. */
struct figure replica_throughput(const struct replica_row *r);

struct trial_result {
    uint32_t trial, attempt; /* the deciding attempt */
    bool has_ended;          /* there is one; then: */
    enum attempt_outcome outcome;
    enum trial_phase phase;
    double throughput; /* NaN: not known; as a figure: trial_throughput */
    const char *unit;  /* of it; static */
    int64_t batch;     /* as of a figure */
    char *error;       /* why there is no throughput, for a person; NULL: none; owned */
    char *details;     /* more of it: lines, each with its newline; NULL: none; owned */
    /* Borrowed; NULL if no attempt has ended. It has replicas while the point is collected, and of
     * a point that was opened (point_open). */
    const struct attempt_row *row;
    struct step_series steps; /* of its first trainer or worker, while the point is collected */
    double others_share;      /* of its speed, that other programs took (noise.h); NaN: not known */
    double cpus;              /* limits of its replicas, if it succeeded; NaN: not known */
    struct metrics metrics;   /* means over the leading replicas that say them; owned */
    /* Of the first trainer, worker or launcher that has evaluations; only if the
     * definition asks for them. */
    struct time_to_accuracy to_accuracy;
    struct accuracy_after after;
    struct trial_noise *noise; /* owned; NULL: no replica looked */
    uint32_t evaluations_k;    /* every k-th evaluation is known; 0: none is */
    uint32_t evaluations_from; /* the replica's index */
};

/* A single value, no interval. In trial_result.c. */
struct figure trial_throughput(const struct trial_result *t);

/* What the replicas of a trial say of the machine around it (noise.h). */
struct trial_noise {
    struct noise probed; /* by the replica that did; zero: none */
    const char *node;    /* of that one; borrowed from the result's nodes; NULL: not said */
    /* Shares of the replica where they are most; NaN: unknown, or too little to say. Of its CPUs'
     * busy time, what the hypervisor took; of the time in which its threads ran or were ready to,
     * how long they waited for a CPU, whoever had it. */
    double steal_ratio, wait_ratio;
};

/* A metric of a point: known if every succeeded trial has it. */
struct point_metric {
    const char *name; /* borrowed from a trial */
    struct figure figure;
};

/* Where the step times of a point settle (warmup.h). */
#define WARMUP_STATES(X)                                                                           \
    X(WARMUP_UNKNOWN, "Unknown") /* fewer than 3 trials with 6 stored step times each */           \
    X(WARMUP_ENOUGH, "Enough")   /* the measured steps have no change */                           \
    X(WARMUP_SHORT, "Short")     /* the last change comes in the first half of them */             \
    X(WARMUP_NEVER, "Never")     /* it comes later: a longer warm-up would leave too little */
enum warmup_state { WARMUP_STATES(ENUM_ID) };
extern const char *const warmup_state_names[]; /* in warmup.c */
struct warmup {
    enum warmup_state state;
    size_t steps;  /* measured ones before the last change; 0 if none exists */
    double change; /* as settle.change */
};

#define RESULT_CHART_POINTS 100 /* charts of more are not readable */
/* What comparisons do not need of a point. Most of it follows from its replicas
 * (result_collect_point), because they are in memory of one point at a time. */
struct point_kept {
    struct warmup warmup;
    struct step_means *phases; /* of the roles that say them, by role; owned */
    size_t n_phases;
    struct limit_facts limit;
    bool has_step_lines; /* figures by a log rule of kind Step */
    bool has_job_log;    /* figures by a log rule, one for the whole job */
    /* What servers counted: slices, updates that they missed, and the most of one. */
    struct staleness_sums {
        double slices, missed;
        uint64_t max;
    } staleness;
    /* The first line that makes a figure doubtful, with its replica; or why the first log has one
     * witness. Owned; NULL if each figure has two witnesses. */
    char *doubt;
    enum log_verdict verdict;   /* Doubtful or OneWitness, as `doubt` says; else None */
    double p_of_fall;           /* of "its steps do not fall" (warmup.h) */
    const char *split_node;     /* that had two replicas of one device each; borrowed; NULL: none */
    struct estimate *collected; /* figures of its replicas (catalogue.c); in the result */
    /* For charts, of a swept point's typical trial (point_typical_trial). */
    VEC(struct evaluation) evaluations;
};

/* What measure.timeToAccuracy and accuracyAfterTime ask for. */
struct point_goal {
    struct figure time_to_accuracy;    /* known only if every succeeded trial reached it */
    struct figure time_speedup;        /* the baseline's time over it */
    struct figure time_efficiency;     /* time_speedup, per trainer */
    struct figure time_cost;           /* of a trial until then; known with a price only */
    struct figure accuracy_after_time; /* known only if it is of every succeeded trial */
};

struct point_result {
    const struct point *point; /* borrowed from the definition */
    const struct result *of;   /* borrowed */
    enum trial_phase phase;    /* Succeeded if all trials did */
    struct figure throughput, speedup, efficiency;
    struct point_goal *goal;   /* in the result; the same of all points where none is asked for */
    struct point_kept *kept;   /* in the result; NULL: it is for comparisons */
    size_t n_reached, n_after; /* succeeded trials that have these figures */
    double cpus;               /* of all replicas (result_build.c); NaN: not known */
    double throughput_min, throughput_max; /* over succeeded trials; NaN: none */
    VEC(struct point_metric) metrics;      /* those that a succeeded trial has */
    struct trial_result *trials;           /* by trial; owned */
    /* n_trials: those that there are to be, fewer than `repeats` where a stop
     * rule has enough of them */
    size_t n_trials, n_succeeded;
    size_t n_required; /* of n_trials; with a stop rule a run may end with fewer than all */
    const struct machines *machines; /* of the replicas of succeeded trials; in the result */
};

/* One that the point has, borrowed; unknown of one that is computed, and of what is not kept. In
 * catalogue.c. */
const struct figure *point_figure(const struct point_result *p, enum figure_id id);

struct threshold_result {
    const struct threshold *threshold; /* borrowed */
    uint32_t point;
    struct estimate estimate; /* of the metric; the one that was judged */
    enum threshold_verdict verdict;
};

/* A kind of machine that figures come from, as start records say it; NULL: not said. Owned. */
enum hardware_text {
    HARDWARE_CPU_MODEL,
    HARDWARE_BLAS_CORE,
    HARDWARE_KERNEL,
    HARDWARE_BUILD,
    HARDWARE_SOURCE,
    HARDWARE_TEXTS,
};
struct hardware {
    json_t *facts; /* of its first replica (core/environment.h); owned; the texts are in it */
    union {
        struct {
            const char *cpu_model, *blas_core, *kernel, *build, *source;
        };
        const char *texts[HARDWARE_TEXTS]; /* the same */
    };
    size_t n_replicas;     /* of succeeded trials */
    VEC(size_t) of_system; /* the same of each system, up to the last that has one */
};

/* The replicas of succeeded trials on one node. Their time a step is compared with that of replicas
 * of the same role on other nodes, in the same trial (replicas.h). */
struct node_result {
    char *name;            /* owned */
    const char *cpu_model; /* of its first replica that says one; borrowed; NULL: not said */
    size_t n_replicas;
    uint32_t n_points;   /* with a replica on it */
    uint32_t n_compared; /* of these, with replicas on other nodes to compare with */
    uint32_t n_slower;   /* of these, slower by 5% or more */
    double excess;       /* over these, geometric mean: 0.12 is 12% more time; NaN: none */
    double p; /* of "it is as fast as the others": Student's t over the points, adjusted for the
                 number of nodes; 1: under 3 points, or not slower by 5% */
    double throttled_s, measured_s; /* sums over its replicas */
    /* While points are collected: ln of its time over that of others, by trial and role of the
     * point; the medians of these, by point; the last point that was counted, + 1. */
    struct node_walk {
        VEC(double) of_point;
        VEC(double) of_points;
        uint32_t last_point;
    } walk;
};
/* Between two neighbours of a curve: where the throughput of a trainer falls most. */
struct curve_loss {
    const struct point_result *from, *to; /* NULL: it falls nowhere, or nothing is known */
    struct estimate kept;                 /* of a trainer's throughput: 0.82 is a loss of 18% */
    bool has_phases;                      /* both say what a step consists of; what follows: */
    const char *phase;                    /* which grew most: "exchange", "computation" or "data" */
    double phase_ns, step_ns;             /* by how much it and the whole step grew */
};

struct curve {
    /* Swept points by rising number of trainers, each number once; at least one. */
    VEC(const struct point_result *) points;
    /* Their baseline, where it is one trainer and no point of the curve is: the first size of the
     * fit. NULL: none. */
    const struct point_result *single;
    size_t n_sizes; /* numbers of trainers that have been measured */
    /* Of these, those in the fit: with an interval (3 trials), and with a batch if any has one. */
    VEC(struct scaling_size) sizes;
    bool has_batch; /* their batches are known and count in the unit of throughput; else N */
    bool is_timed;  /* the law's times are seconds of a step */
    struct scaling_law law;
    struct curve_loss loss;
};

/* Names of parameters that distinguish curves; those that follow from the number of trainers do
 * not. Borrowed from the points. */
struct curves {
    VEC(struct curve) list; /* by their first point; only those with two sizes or more */
    VEC(const char *) names;
};

/* What a reader must know before believing the numbers: X(code, its name, the function of lint.c
 * that finds it, or NULL if the one before does). What changes most what the figures mean comes
 * first: a short output has the first ones. */
#define WARNINGS(X)                                                                                \
    X(REHEARSAL, "Rehearsal", lint_kind_of_run)                                                    \
    X(PARALLEL, "Parallel", NULL)                                                                  \
    X(SIMULATED, "Simulated", NULL)                                                                \
    X(IMPORTED, "Imported", NULL)                                                                  \
    X(COPIES, "IndependentCopies", lint_copies)                                                    \
    X(NON_MONOTONIC_TIME, "NonMonotonicTime", lint_time)                                           \
    X(MIXED_UNITS, "MixedUnits", lint_units)                                                       \
    X(WARMUP_COUNTED, "WarmupCounted", lint_counted_warmup)                                        \
    X(MIXED_BATCHES, "MixedBatches", lint_work)                                                    \
    X(MIXED_WORK, "MixedWork", NULL)                                                               \
    X(PARTIAL_GANG, "PartialGang", lint_partial_gangs)                                             \
    X(ONE_TRIAL, "OneTrial", lint_one_trial)                                                       \
    X(EFFICIENCY_ABOVE_ONE, "EfficiencyAboveOne", lint_efficiency)                                 \
    X(THROTTLED, "Throttled", lint_throttled)                                                      \
    X(GPU_THROTTLED, "GpuThrottled", lint_gpu_throttled)                                           \
    X(MIXED_HARDWARE, "MixedHardware", lint_hardware)                                              \
    X(SHORT_WARMUP, "ShortWarmup", lint_steady_state)                                              \
    X(NO_STEADY_STATE, "NoSteadyState", NULL)                                                      \
    X(SLOW_NODE, "SlowNode", lint_slow_nodes)                                                      \
    X(NOISY_TRIAL, "NoisyTrial", lint_noise)                                                       \
    X(INVALID_TRIAL, "InvalidTrial", lint_invalid)                                                 \
    X(DOUBTFUL_LOG, "DoubtfulLog", lint_doubts)                                                    \
    X(ONE_WITNESS, "OneWitness", NULL)                                                             \
    X(SPLIT_NODE, "SplitNode", lint_split_nodes)
#define WARNING_CODE(code, ...) WARNING_##code,
enum warning_code { WARNINGS(WARNING_CODE) };
#undef WARNING_CODE
extern const char *const warning_code_names[]; /* in lint.c */
struct warning {
    enum warning_code code;
    char *message; /* one sentence without its end; owned */
};

/* What the linter has seen of replicas, while points pass one by one. */
struct lint_seen {
    size_t n_throttled;
    double worst_throttled; /* share of its time */
    struct replica_id throttled;
    bool has_backwards; /* steps together took longer than the measured time, of this replica: */
    struct replica_id backwards;
    double steps_s, duration_s;
};

/* What the first replica that says it says of its system. All owned; NULL: none does. */
struct system_result {
    /* Of a figure by a log rule, of any point. */
    char *rule, *method;
    enum summary_unit unit;
    enum role role;
    bool is_job;
};

struct result {
    const struct run_def *def; /* borrowed */
    enum run_phase phase;
    bool simulated;
    const char *price; /* of time_cost: "0.2/pod-hour"; borrowed; NULL: none (pivot_set_price) */
    struct point_result *points; /* matrix.n_points; swept first, then baselines */
    struct point_goal *goals;    /* of the points */
    struct point_kept *kept;     /* of the points; NULL: it is for comparisons */
    struct estimate *collected;  /* what they point to */
    VEC(struct machines *) machines;
    VEC(struct threshold_result) thresholds;
    /* Those whose `where` no point of this run has, as after `local` or --set: neither passed nor
     * failed. Borrowed. */
    VEC(const struct threshold *) skipped;
    struct system_result *systems; /* those of the definition; owned */
    VEC(struct hardware) hardware;
    VEC(struct node_result) nodes;
    struct replica_lines lines; /* of swept points */
    struct curves curves;
    VEC(const struct attempt_row *) invalid; /* attempts that count nowhere; borrowed */
    struct lint_seen seen;
    VEC(struct warning) warnings;
};

/* Iterate by pointer: result_each_swept (p, r) { ... } over the points that the definition sweeps,
 * result_each_point over its baselines, too; trials of a point, replicas of a trial. */
#define result_each_swept(p, r)                                                                    \
    for (const struct point_result *p = (r)->points; p < (r)->points + (r)->def->matrix.n_swept;   \
         p++)
#define result_each_point(p, r)                                                                    \
    for (const struct point_result *p = (r)->points; p < (r)->points + (r)->def->matrix.n_points;  \
         p++)
#define point_each_trial(t, p)                                                                     \
    for (const struct trial_result *t = (p)->trials; t < (p)->trials + (p)->n_trials; t++)
/* Those that succeeded: each has a throughput. */
#define point_each_success(t, p)                                                                   \
    point_each_trial (t, p)                                                                        \
        if (t->phase == TRIAL_SUCCEEDED)
/* The replicas of the succeeded trials of a point that has them. No `break` leaves it. */
#define point_each_replica(it, p)                                                                  \
    point_each_success (t_, p)                                                                     \
        trial_each_replica (it, t_)
#define trial_each_replica(it, t)                                                                  \
    for (const struct replica_row *it = (t)->row == NULL ? NULL : (t)->row->replicas.items;        \
         it != NULL && it < (t)->row->replicas.items + (t)->row->replicas.len; it++)
size_t trial_count_replicas(const struct trial_result *t);
/* The most of a number over the replicas of a trial, of a role or (-1) of all; NaN: none has it. */
double trial_most(const struct trial_result *t, int role,
                  double (*of)(const struct replica_row *r));

/* The median over the succeeded trials of a number that each has, and how many do. Unknown unless
 * all do: of some it would be the figure of the quick ones. */
typedef double of_trial_fn(const struct trial_result *t, enum role leading);
struct estimate point_median(const struct point_result *p, of_trial_fn *of, size_t *ret_n_known);
/* Is the node listed, which are by name? *ret is its place, or the one where it belongs. */
bool result_find_node(const struct result *r, const char *name, size_t *ret);
/* Its name in the list, which outlives a replica. Borrowed; NULL of NULL, and if none is listed. */
const char *result_node_name(const struct result *r, const char *name);

/* The trial counts, whatever came of it. */
bool trial_is_decided(const struct trial_result *t);
/* Its trials without an attempt are not run: core/phase.h, point_is_given_up. */
bool point_result_is_given_up(const struct point_result *p);
/* The trial nearest to the median throughput of its point; NULL: none succeeded. */
const struct trial_result *point_typical_trial(const struct point_result *p);
/* It has a throughput of every trial that was run, and of as many as the
 * definition asks for at least. */
bool point_result_is_complete(const struct point_result *p);
/* What its speedup and efficiency divide by; NULL: an exclusion leaves that out. */
const struct point_result *result_baseline(const struct result *r, const struct point_result *p);
/* Of all points: those that there are to be. */
uint32_t result_count_trials(const struct result *r);
/* The unit of the swept points' throughputs: of the first that is known, else of the first point.
 * *ret_is_mixed: another one has another unit. Static. */
const char *result_unit(const struct result *r, bool *ret_is_mixed);
/* The same as it is printed: "batches/s" where the definition asks for that. */
const char *result_shown_unit(const struct result *r, bool *ret_is_mixed);
/* "SingleNode, point 4: 1 trainer, no pserver, batch_size 16: 61.20 samples/s" for the line under a
 * table; p is any point that divides by it. */
void result_describe_baseline(const struct result *r, const struct point_result *p,
                              struct buf *out);
