/* Pods of ours that may still run although they are not of the attempt that is due: of an earlier
 * attempt, of a run that was deleted, of one that no process drives. No measurement may share its
 * CPUs with them. "Nothing of it lives" is a fact about the namespace, so the cache of its pods is
 * asked, and not what a launcher remembers. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/replica.h"
#include "pod/facts.h"
#include "spec/run_def.h"

/* It is not of attempt `due` of the run, and its phase does not say that it has ended. */
bool pod_is_leftover(const struct pod_facts *pod, const struct run_def *def,
                     const struct attempt_id *due);
/* Its deletion was not requested, it is controlled by a BenchmarkRun, and something of it may run.
 * One run is driven at a time, so whoever drives another attempt may delete it. */
bool pod_leftover_is_abandoned(const struct pod_facts *pod);
/* "pod 'a' on node 'n', terminating since 2026-01-01T00:00:00Z, and 3 more", into text. */
void pod_leftover_say(const char *name, const struct pod_facts *pod, size_t n_more, char *text,
                      size_t size);
