/* What a run may cost (spec.budget): whether another attempt fits. Pure.
 *
 * An attempt costs the time from its start to its end, as its row says, times the CPUs and the
 * replicas of its point. The next one is taken to last as long as the longest of its point so far,
 * or where the point has none, as the longest of the run; the first one of a run is always made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/spec.h"

/* What the replicas of a point take while an attempt runs. */
struct budget_rate {
    int64_t cpu_millicores;
    int64_t n_replicas;
};

/* Sums of whole numbers, so that the order of attempts does not matter; at most INT64_MAX. */
struct budget_usage {
    int64_t cpu_millicore_ms;
    int64_t replica_ms;
};
/* Adds `ms` of an attempt. */
void budget_add(struct budget_usage *usage, const struct budget_rate *rate, int64_t ms);

/* Does another attempt fit that lasts for `next_ms`? True without a budget. */
bool budget_allows(const struct budget *budget, const struct budget_usage *spent,
                   const struct budget_rate *rate, int64_t next_ms);
/* Of one that does not: "1.9 of 2 CPU-hours are spent, and the next trial would take 0.3" */
void budget_describe(const struct budget *budget, const struct budget_usage *spent,
                     const struct budget_rate *rate, int64_t next_ms, char *dst, size_t size);
