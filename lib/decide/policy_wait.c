/* See policy_wait.h. */
#include "decide/policy_wait.h"

#include <string.h>

#include "base/str.h"

const struct wait_kind wait_kinds[] = {
    {"PodsRemain", WAIT_STOPS_CLOCK},
    {"Queued", WAIT_STOPS_CLOCK | WAIT_IS_QUEUE},
    {"WaitsForNodes", WAIT_STOPS_CLOCK | WAIT_IS_QUEUE},
    {"Preempted", WAIT_STOPS_CLOCK | WAIT_IS_QUEUE},
    {"QuotaExceeded", WAIT_STOPS_CLOCK | WAIT_NEEDS_HELP},
    {"NoRoom", WAIT_STOPS_CLOCK | WAIT_IS_QUEUE},
    {"NodeNotReady", 0},
    {"PodNotSetUp", WAIT_NEEDS_HELP},
    {"ImagePullFails", WAIT_NEEDS_HELP},
    {"ContainerCreationFails", WAIT_NEEDS_HELP},
    {"CreationFails", WAIT_STOPS_CLOCK | WAIT_NEEDS_HELP},
    {"RunParked", WAIT_STOPS_CLOCK},
    {"DeletionFails", WAIT_STOPS_CLOCK},
    {"NoProgress", 0},
    {0},
};

const struct wait_kind *wait_kind_find(const char *reason)
{
    return array_find(wait_kinds, COUNT_OF(wait_kinds) - 1, it, str_eq(it->reason, reason));
}

void wait_put(const struct run_wait *wait, struct run_status *status)
{
    if (wait->reason[0] != '\0') {
        text_put(status->reason, sizeof(status->reason), "%s", wait->reason);
        text_put(status->message, sizeof(status->message), "%s", wait->text);
    }
    if (status->phase == RUN_RUNNING && !wait->is_partial && wait_is_queue(wait->reason)) {
        status->phase = RUN_QUEUED;
    }
}

bool wait_is_news(const struct run_wait *wait, const struct run_status *before)
{
    return wait->reason[0] != '\0' && strcmp(wait->reason, before->reason) != 0;
}

static bool has(const char *reason, unsigned flag)
{
    const struct wait_kind *kind = wait_kind_find(reason);
    return kind != NULL && (kind->flags & flag) != 0;
}

bool wait_is_queue(const char *reason)
{
    return has(reason, WAIT_IS_QUEUE);
}

bool wait_stops_clock(const char *reason)
{
    return has(reason, WAIT_STOPS_CLOCK);
}

bool wait_needs_help(const struct run_wait *wait)
{
    return !wait->is_unanswered && has(wait->reason, WAIT_NEEDS_HELP);
}

bool wait_is_under_way(const struct run_status *status)
{
    return status->phase == RUN_RUNNING ||
           (status->phase == RUN_QUEUED && status->started_unix_ms != 0);
}

bool wait_is_in(const struct run_status *status)
{
    const bool is_turn_awaited = status->phase == RUN_QUEUED && status->started_unix_ms == 0;
    const char *usual = run_phase_to_string(is_turn_awaited ? RUN_QUEUED : RUN_RUNNING);
    return (is_turn_awaited || wait_is_under_way(status)) && status->reason[0] != '\0' &&
           strcmp(status->reason, usual) != 0;
}
