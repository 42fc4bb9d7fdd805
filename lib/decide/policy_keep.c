/* See policy_keep.h. */
#include "decide/policy_keep.h"

static bool is_past_age(const struct keep_policy *policy, const struct keep_run *run,
                        int64_t now_unix_ms)
{
    return policy->age_ms > 0 && run->ended_unix_ms >= KEEP_FIRST_DATE_MS &&
           now_unix_ms - run->ended_unix_ms > policy->age_ms;
}

struct keep_verdict keep_decide(const struct keep_policy *policy, const struct keep_facts *facts)
{
    size_t i = 0;
    while (i < facts->n_oldest && facts->oldest[i].is_in_use) {
        i++;
    }
    enum keep_reason reason = KEEP_ALL;
    if (i == facts->n_oldest) {
        reason = KEEP_ALL;
    } else if (is_past_age(policy, &facts->oldest[i], facts->now_unix_ms)) {
        reason = KEEP_PAST_AGE;
    } else if (policy->n_runs > 0 && facts->n_finished > (size_t)policy->n_runs) {
        reason = KEEP_PAST_COUNT;
    } else if (policy->store_bytes > 0 && facts->store_bytes > policy->store_bytes) {
        reason = KEEP_PAST_SIZE;
    }
    return (struct keep_verdict){reason, reason == KEEP_ALL ? 0 : i};
}
