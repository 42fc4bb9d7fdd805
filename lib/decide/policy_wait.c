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
}

bool wait_is_news(const struct run_wait *wait, const struct run_status *before)
{
    return wait->reason[0] != '\0' && strcmp(wait->reason, before->reason) != 0;
}

bool wait_stops_clock(const char *reason)
{
    static const char *const outside[] = {"PodsRemain",    "QuotaExceeded", "CreationFails",
                                          "DeletionFails", "RunParked",     NULL};
    return str_is_one_of(reason, outside);
}

bool wait_is_in(const struct run_status *status)
{
    const bool is_under_way = status->phase == RUN_RUNNING || status->phase == RUN_QUEUED;
    return is_under_way && status->reason[0] != '\0' &&
           strcmp(status->reason, run_phase_to_string(status->phase)) != 0;
}
