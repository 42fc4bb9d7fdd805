/* See policy_deadline.h. */
#include "decide/policy_deadline.h"

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
