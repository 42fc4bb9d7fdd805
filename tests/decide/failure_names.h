/* What docs/contracts/retries.md and the scenarios call an enum failure_class. */
#pragma once

#include "core/replica.h"

static const char *const failure_names[] = {
    [FAILURE_NONE] = "None",
    [FAILURE_INFRASTRUCTURE] = "Infrastructure",
    [FAILURE_CONSEQUENCE] = "Consequence",
    [FAILURE_NO_ROOM] = "NoRoom",
    [FAILURE_PREEMPTED] = "Preempted",
    [FAILURE_WAIT_OVER] = "WaitOver",
    [FAILURE_PERMANENT] = "Permanent",
};
