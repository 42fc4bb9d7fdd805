/* See policy_retry.h. */
#include "decide/policy_retry.h"

enum attempt_outcome retry_decide(enum attempt_end end, enum on_trial_failure on_trial_failure,
                                  uint32_t attempts_before, int64_t backoff_limit)
{
    const bool has_attempts_left = (int64_t)attempts_before < backoff_limit;

    switch (end) {
    case ATTEMPT_END_WELL:
    case ATTEMPT_END_NOISY: /* it has its numbers; invalid_decide may still refuse them */
        return ATTEMPT_SUCCEEDED;
    case ATTEMPT_END_NO_SUMMARY:
        /* The program ran as configured: another attempt would have no summary either. */
        return ATTEMPT_METRICS_UNAVAILABLE;
    case ATTEMPT_END_NO_ROOM: /* these get no row, and another attempt follows */
    case ATTEMPT_END_PREEMPTED:
        return ATTEMPT_VOID;
    case ATTEMPT_END_WAIT_OVER: /* the next one would wait as long */
        return ATTEMPT_FAILED;
    case ATTEMPT_END_INFRASTRUCTURE:
        return has_attempts_left ? ATTEMPT_VOID : ATTEMPT_FAILED;
    case ATTEMPT_END_TIMED_OUT: /* once: a hang may be chance, but each costs the whole limit */
        return has_attempts_left && attempts_before == 0 ? ATTEMPT_VOID : ATTEMPT_FAILED;
    case ATTEMPT_END_PERMANENT:
        return has_attempts_left && on_trial_failure == ON_FAILURE_RETRY ? ATTEMPT_VOID
                                                                         : ATTEMPT_FAILED;
    }
    return ATTEMPT_FAILED;
}

bool invalid_decide(enum attempt_end end, uint32_t invalid_before, int64_t invalid_repeats)
{
    return end == ATTEMPT_END_NOISY && (int64_t)invalid_before < invalid_repeats;
}
