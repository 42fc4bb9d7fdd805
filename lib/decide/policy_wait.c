/* See policy_wait.h. */
#include "decide/policy_wait.h"

#include <string.h>

#include "base/str.h"
#include "base/text.h"

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

bool wait_is_queue(const char *reason)
{
    static const char *const queues[] = {"Queued", "WaitsForNodes", "NoRoom", "Preempted", NULL};
    return str_is_one_of(reason, queues);
}

bool wait_stops_clock(const char *reason)
{
    static const char *const outside[] = {"PodsRemain",    "QuotaExceeded", "CreationFails",
                                          "DeletionFails", "RunParked",     NULL};
    return wait_is_queue(reason) || str_is_one_of(reason, outside);
}

bool wait_needs_help(const struct run_wait *wait)
{
    static const char *const refused[] = {"CreationFails", "QuotaExceeded", "PodNotSetUp", NULL};
    return !wait->is_unanswered && str_is_one_of(wait->reason, refused);
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
