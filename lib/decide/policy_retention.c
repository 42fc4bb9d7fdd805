/* See policy_retention.h. */
#include "decide/policy_retention.h"

static bool is_past_age(const struct retention_policy *policy, const struct retention_run *run,
                        int64_t now_unix_ms)
{
    return policy->age_ms > 0 && run->ended_unix_ms >= RETENTION_FIRST_DATE_MS &&
           now_unix_ms - run->ended_unix_ms > policy->age_ms;
}

struct retention_verdict retention_decide(const struct retention_policy *policy,
                                          const struct retention_facts *facts)
{
    size_t i = 0;
    while (i < facts->n_oldest && facts->oldest[i].is_in_use) {
        i++;
    }
    enum retention_reason reason = RETENTION_ALL;
    if (i == facts->n_oldest) {
        reason = RETENTION_ALL;
    } else if (is_past_age(policy, &facts->oldest[i], facts->now_unix_ms)) {
        reason = RETENTION_PAST_AGE;
    } else if (policy->n_runs > 0 && facts->n_finished > (size_t)policy->n_runs) {
        reason = RETENTION_PAST_COUNT;
    } else if (policy->store_bytes > 0 && facts->store_bytes > policy->store_bytes) {
        reason = RETENTION_PAST_SIZE;
    }
    return (struct retention_verdict){reason, reason == RETENTION_ALL ? 0 : i};
}
