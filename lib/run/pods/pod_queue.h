/* The place of an attempt in a queue of the cluster, by Kueue: a Workload, which exists before the
 * first pod of the attempt and until its last one is over.
 *
 *   OUT --pod_queue_admits: GET class--> PRICING --> ASKING --POST answered--> ASKED
 *    ^                                                 |                         |
 *    '-------------------- try again, refused ---------'     the watch shows it, admitted:
 *                                                            GET of each flavor, then pods
 *
 * What the queue says is read from the cache of Workloads alone, so a restarted benchd continues:
 * the name of a Workload is a function of its attempt. An eviction ends the pods of the attempt as
 * preempted. A Workload that no attempt needs is deleted when no pod of it may run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "decide/policy_wait.h"
#include "kube/cache.h"
#include "pod/workload.h"
#include "run/pods/pod_answer.h"

struct kube_call;
struct launcher;
struct pod_gang;
struct pods;

/* The Workloads of benchd in the namespace, as their watch has them; the owner updates it. */
struct pod_workloads {
    const struct kube_cache *cache; /* of workload_facts; NULL: nothing is watched yet */
    bool is_known;                  /* all are in the cache, or the cluster has no such kind */
    struct err error;               /* of the watch; code 0: none */
};

/* A Workload of `launcher` may have changed, or what is known of all. */
void pod_queue_notice(struct launcher *launcher);

/* That of one attempt. */
struct pod_place {
    struct kube_call *call; /* the GET or POST that is on its way; NULL: none */
    int64_t due_ns;         /* the next one not before */
    struct pod_trouble trouble;
    char *refusal;     /* owned; why its pods cannot be made, until taken; NULL: nothing */
    bool is_asked;     /* a POST was sent, which the watch has not shown yet */
    bool has_priority; /* the value of the run's priority class is known: */
    int64_t priority;
    json_t *flavors; /* owned; the specs of those that are known, by name */
};
/* A new attempt, or the end. */
void pod_place_reset(struct pod_place *q);

struct pod_queue {
    struct kube_call *removing; /* the DELETE that is on its way; NULL: none */
    int64_t remove_due_ns;
    char removed_uid[64]; /* of the last DELETE; "": none */
    struct pod_trouble remove_trouble;
    bool was_leaving; /* at the last tick */
    bool is_driven;   /* the driver has looked, so it has said which attempt it wants */
};

void pod_queue_done(struct pod_queue *q);
/* Ends the members of which the place is lost, and deletes the Workloads that are not needed. True:
 * the last of what pod_queue_is_leaving() speaks of is gone. */
bool pod_queue_tick(struct pods *l, int64_t now_ns);
/* May pods of the gang be made? Asks the queue; else *ret says what it says. */
bool pod_queue_admits(struct pod_gang *g, struct run_wait *ret, int64_t now_ns);
/* The Workload of an attempt, borrowed; NULL: none is known, or the run has no queue. */
const struct workload_facts *pod_queue_facts(const struct pods *l, const struct attempt_id *id);
/* The attempt has no place, so it is the queue that paces the next one. */
bool pod_queue_lacks(const struct pods *l, const struct attempt_id *id);
/* Sends a pod of the role to the nodes that were admitted. */
void pod_queue_dress(const struct pod_gang *g, enum role role, json_t *pod);
/* Some Workload of the run that is not needed exists, or may. */
bool pod_queue_is_leaving(const struct pods *l);
/* Says why a Workload is not deleted, if a person should know. */
void pod_queue_wait(const struct pods *l, struct run_wait *ret);
