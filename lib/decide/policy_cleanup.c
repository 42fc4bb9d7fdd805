/* See policy_cleanup.h. */
#include "decide/policy_cleanup.h"

enum cleanup_reason cleanup_decide(const struct cleanup_facts *facts)
{
    if (!facts->in_definition) {
        return CLEANUP_UNKNOWN;
    }
    if (facts->has_row) {
        return CLEANUP_ROW_KEPT;
    }
    if (facts->is_run_final) {
        return CLEANUP_RUN_FINAL;
    }
    return facts->is_interrupted ? CLEANUP_INTERRUPTED : CLEANUP_KEEP;
}

bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome)
{
    switch (policy) {
    case CLEAN_ALL:
        return false;
    case CLEAN_RUNNING:
    case CLEAN_NONE:
        return true;
    case CLEAN_ON_SUCCESS:
        return outcome != ATTEMPT_SUCCEEDED;
    }
    return false;
}
