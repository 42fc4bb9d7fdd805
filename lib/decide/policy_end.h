/* Whether and how a run ends: onTrialFailure Stop, maxFailedTrials, nothing left to run; and
 * activeDeadlineSeconds. What stays for inspection: cleanPodPolicy. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/phase.h"
#include "spec/spec.h"

struct trial_counts {
    uint32_t total;
    uint32_t done;       /* decided, failed ones too */
    uint32_t failed;     /* Failed or MetricsUnavailable: without a number */
    uint32_t n_given_up; /* points */
    uint32_t not_run;    /* undecided ones of these points */
    uint32_t invalid;    /* attempts that were repeated because of noise; no trials */
    uint32_t preempted;  /* attempts, which have no row; no trials */
};

struct run_end {
    bool is_end;
    enum run_phase phase; /* a final one */
    const char *reason;   /* CamelCase, static */
};

/* Decides from the counts alone. A run in which every trial failed is Failed and not
 * PartiallyFailed, whatever maxFailedTrials allows. */
struct run_end run_end_decide(const struct trial_counts *counts,
                              const struct failure_policy *policy);
#define DEADLINE_NONE INT64_MAX

/* Milliseconds left: 0 when it has passed, DEADLINE_NONE without a deadline (`deadline_s` 0) or the
 * run has not started (`started_unix_ms` 0). */
int64_t deadline_remaining_ms(int64_t started_unix_ms, int64_t deadline_s, int64_t now_unix_ms);
/* True if an ended replica stays although nothing needs it any more. `outcome` is how its attempt
 * ended. Live replicas are always deleted. */
bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome);
