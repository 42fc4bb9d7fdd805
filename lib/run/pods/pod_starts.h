/* How an attempt of a run with a queue came to run, as metrics of its trial (core/metric_set.h). */
#pragma once

#include <stdint.h>

struct pod_gang;
struct pod_member;
struct pods;

/* The summary of a member, with what is known of:
 *   queue_s         from the creation of the Workload to its admission, by the API server's clock
 *   admission_s     from there to the start of the last container
 *   start_spread_s  from the start of the first container to that of the last one
 * Dates are whole seconds. NULL: the run has no queue, or there is nothing to add. Owned. */
char *pod_starts_add(const struct pods *l, const struct pod_member *m, const char *summary);
/* How long the member of the gang that began first has run; 0: none runs. */
int64_t pod_starts_longest_ms(const struct pod_gang *g);
