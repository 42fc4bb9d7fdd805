/* See policy_failure.h. */
#include "core/policy_failure.h"

#include "base/exit_code.h"

/* Shells and container runtimes report death by signal n as exit code 128 + n. */
static bool is_signal_code(int exit_code)
{
    return exit_code > 128 && exit_code <= 128 + 64;
}

enum failure_class failure_classify_exit(int exit_code, int signal, bool oom_killed)
{
    /* First: a shell may end well although its child was killed for memory. */
    if (oom_killed) {
        return FAILURE_PERMANENT;
    }
    if (signal != 0 || is_signal_code(exit_code)) {
        return FAILURE_INFRASTRUCTURE;
    }
    switch (exit_code) {
    case 0:
        return FAILURE_NONE;
    case EXIT_WORKER_PEER_LOST:
        return FAILURE_CONSEQUENCE;
    case EXIT_WORKER_RESOURCE:
        return FAILURE_INFRASTRUCTURE;
    default:
        return FAILURE_PERMANENT;
    }
}

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
    /* Failed, and nobody knows why: the machine's fault rather than the program's. */
    return by_exit == FAILURE_NONE ? FAILURE_INFRASTRUCTURE : by_exit;
}

const char *failure_class_to_string(enum failure_class failure)
{
    switch (failure) {
    case FAILURE_NONE:
        return "None";
    case FAILURE_INFRASTRUCTURE:
        return "Infrastructure";
    case FAILURE_CONSEQUENCE:
        return "Consequence";
    case FAILURE_PERMANENT:
        return "Permanent";
    }
    return "?";
}
