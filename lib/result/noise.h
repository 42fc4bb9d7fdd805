/* Trials on a machine that was not itself: probes before and after each trial
 * (docs/contracts/summary.md) that lie far from the run's median, time that the hypervisor took,
 * and speed that other programs took. Pure; called by lint.c and trial_result.c. */
#pragma once

#include "base/vec.h"
#include "result/result.h"

/* Beyond these a trial is named. A clock hardly differs on a quiet machine, copies do. */
#define NOISE_CLOCK_BOUND 0.05
#define NOISE_COPY_BOUND 0.25
#define NOISE_STEAL_BOUND 0.02
#define NOISE_OTHERS_BOUND 0.05
/* Probed trials on one node, by the same program, two probes each, or the median says nothing. */
#define NOISE_MIN_TRIALS 3

enum noise_kind { NOISE_CLOCK, NOISE_COPY, NOISE_STEAL, NOISE_OTHERS };

struct noisy_trial {
    uint32_t point, trial;
    enum noise_kind kind; /* the one that is furthest beyond its bound */
    bool is_after;        /* the probe's place, of a probe */
    double change; /* of the median, -0.12: 12% below; of the others, the share that was taken */
    double times_bound; /* above 1 */
};
struct noisy_trials {
    VEC(struct noisy_trial) list; /* one a trial, the worst first */
};
/* Of the trials that succeeded. Probes are compared on one node only, because nodes differ, and not
 * those of a replica with those of its launcher. */
void noisy_trials_find(const struct result *r, struct noisy_trials *ret);
void noisy_trials_done(struct noisy_trials *n);
/* "trial 2 of point 3: clock 12% below the run's median in the probe before it" */
void noisy_trial_describe(const struct noisy_trial *t, struct buf *out);
/* Fills t->noise. */
void trial_noise_collect(const struct result *r, struct trial_result *t);
/* The replica that probed; NULL: none. */
const struct replica_row *trial_prober(const struct trial_result *t);

/* ---- other programs ----
 *
 * How much of a trial's speed other programs of the machine took, as they had the CPUs while its
 * threads waited: docs/contracts/result.md, "Other programs", has the formula. Waiting alone does
 * not say what caused it, and a busy CPU alone does not say that anything else wanted it. */

#define OTHERS_CPU_THROTTLED 0.01 /* of D */

/* What a replica says. Texts are borrowed. */
struct cpu_user {
    const char *node, *cpus; /* "0-3,8"; NULL: not said, and it may share CPUs with any */
    bool leads;              /* trains; its busy time is that of the measured steps */
    int64_t duration_ns, cpu_ns, throttled_ns;
    struct noise noise; /* without probes */
};

/* 0 to below 1; NaN: not known. */
double others_cpu_share(const struct cpu_user *users, size_t n);
/* The same of a trial; its rows must not be freed yet. `leading` is the role that trains. */
double others_cpu_of_trial(const struct trial_result *t, enum role leading);

/* Do two lists of CPUs have one in common? True also where one is not said or not a list. */
bool cpu_lists_meet(const char *a, const char *b);
