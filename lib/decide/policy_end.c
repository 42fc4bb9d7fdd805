/* See policy_end.h. */
#include "decide/policy_end.h"

struct run_end run_end_decide(const struct trial_counts *counts,
                              const struct failure_policy *policy)
{
    if (counts->failed > 0 && policy->on_trial_failure == ON_FAILURE_STOP) {
        return (struct run_end){true, RUN_FAILED, "StoppedOnFailure"};
    }
    if ((int64_t)counts->failed > policy->max_failed_trials) {
        return (struct run_end){true, RUN_FAILED, "TooManyFailedTrials"};
    }
    if (counts->done + counts->not_run < counts->total) {
        return (struct run_end){false, RUN_RUNNING, "Running"};
    }
    if (counts->failed == 0) {
        return (struct run_end){true, RUN_SUCCEEDED, "Completed"};
    }
    if (counts->failed == counts->done) {
        return (struct run_end){true, RUN_FAILED, "NoTrialSucceeded"};
    }
    return (struct run_end){true, RUN_PARTIALLY_FAILED,
                            counts->n_given_up > 0 ? "SomePointsFailed" : "SomeTrialsFailed"};
}

int64_t deadline_remaining_ms(int64_t started_unix_ms, int64_t deadline_s, int64_t now_unix_ms)
{
    if (deadline_s <= 0 || started_unix_ms <= 0) {
        return DEADLINE_NONE;
    }
    if (deadline_s > (INT64_MAX - started_unix_ms) / 1000) {
        return DEADLINE_NONE; /* later than any clock can say */
    }
    if (now_unix_ms < started_unix_ms) { /* the clock was set back while no process drove the run */
        return deadline_s * 1000;
    }
    const int64_t left_ms = started_unix_ms + deadline_s * 1000 - now_unix_ms;
    return left_ms > 0 ? left_ms : 0;
}

bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome)
{
    return policy == CLEAN_ON_SUCCESS ? outcome != ATTEMPT_SUCCEEDED : policy != CLEAN_ALL;
}
