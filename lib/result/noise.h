/* Trials on a machine that was not itself: probes before and after each trial
 * (docs/contracts/summary.md) that lie far from the run's median, time that the hypervisor took,
 * and speed that other programs took (others_cpu.h). Pure; called by lint.c. */
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
