/* See policy_cleanup.h. */
#include "decide/policy_cleanup.h"

bool cleanup_may_delete(const struct cleanup_facts *facts)
{
    return !facts->in_definition || /* no trial needs it */
           facts->has_row ||        /* its attempt has ended, and the store has the result */
           facts->is_run_final ||   /* the run is over: its results never change again */
           facts->is_interrupted;   /* its attempt never ends, and so gets no row */
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
