/* A Workload of Kueue: how an attempt asks a queue for its place before it has pods, and what the
 * queue answers. Pure: JSON in and out.
 *
 * benchd makes the Workload itself, so its pods need no gate and no finalizer, and Kueue need not
 * know them. Whoever deletes the Workload gives the quota back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "spec/run_def.h"
#include "core/replica.h"

/* A pod set for each role, with the pod of its first replica as the template; in a queue, of the
 * priority class with that value. Owned. */
json_t *workload_body(const struct run_def *def, const struct attempt_id *id,
                      json_t *const pods[ROLE_COUNT], const uint32_t replicas[ROLE_COUNT],
                      int64_t priority);

enum workload_state {
    WORKLOAD_QUEUED,
    WORKLOAD_NEVER, /* the queue says that it asks for more than there will ever be */
    WORKLOAD_ADMITTED,
    WORKLOAD_EVICTED, /* it loses its place, whatever else it says */
};

/* A text that the Workload lacks is "", a date 0. */
struct workload_facts {
    const char *owner_uid; /* of ownerReferences[0] */
    bool has_attempt;      /* its labels say which one: */
    struct attempt_id attempt;
    int64_t created_unix_ms, admitted_unix_ms;
    enum workload_state state;
    const char *words;     /* of Kueue, about its state: "Preempted: Preempted to ..." */
    const char *admission; /* status.admission as JSON; "": none */
};
/* A struct workload_facts, whatever JSON it gets, as pod_facts_decode(). */
void *workload_facts_decode(json_t *workload);
/* "queue 'team' has not admitted it: ..." */
void workload_say(const struct workload_facts *w, const char *queue, char *text, size_t size);

/* The n-th flavor that an admission names, borrowed from `admission`; NULL: there are no more. One
 * that is named twice may come twice. */
const char *workload_flavor(const json_t *admission, size_t n);
/* Makes the pod of a role one of the flavors that its admission names, as Kueue would: with their
 * node labels and tolerations. `flavors`: their specs by name. */
void workload_dress(const json_t *admission, const json_t *flavors, enum role role, json_t *pod);
