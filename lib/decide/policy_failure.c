/* See policy_failure.h. */
#include "decide/policy_failure.h"

enum failure_class failure_of_replica(const struct observed_replica *replica)
{
    if (replica->state == REPLICA_LOST) {
        return FAILURE_INFRASTRUCTURE;
    }
    if (replica->state != REPLICA_FAILED) {
        return FAILURE_NONE;
    }
    if (replica->failure != FAILURE_NONE) {
        return replica->failure;
    }
    enum failure_class by_exit = failure_classify_exit(replica->exit_code, 0, false);
    /* It failed for an unknown reason: more likely the machine's fault than the program's. */
    return by_exit == FAILURE_NONE ? FAILURE_INFRASTRUCTURE : by_exit;
}
