/* What benchd reads of a pod: all of it, decoded once, when the pod comes in. Who keeps thousands
 * of pods keeps these. Pure: JSON of a pod in.
 *
 * A field is named as in the API where nothing else is said. A text that the pod lacks is "", a
 * date 0. Dates are in milliseconds since 1970, by the clock of whoever wrote them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "core/replica.h"

enum pod_phase { POD_GOES_ON, POD_SUCCEEDED, POD_FAILED };

/* What a container does, by the member that its state has. */
enum pod_step { POD_STEP_NONE, POD_STEP_WAITING, POD_STEP_RUNNING, POD_STEP_TERMINATED };

/* Of status.initContainerStatuses or status.containerStatuses. */
struct pod_container {
    const char *name;             /* of an init container; the others: "" */
    const char *image;            /* of one that waits */
    const char *reason, *message; /* of its state */
    int32_t exit_code, signal;    /* of POD_STEP_TERMINATED */
    enum pod_step step;
};

#define POD_INDEX_ANY UINT32_MAX              /* its controller has given it no number */
#define POD_LABEL_RUN_UID "benchd.io/run-uid" /* of pods that others make: for their owner */
#define POD_LABEL_INDEX_FROM                                                                       \
    "benchd.io/index-from" /* the label with their index, with '_' for '/' */
#define POD_INDEX_LABEL "batch.kubernetes.io/job-completion-index"

struct pod_facts {
    /* metadata; whoever keeps the facts has the name, the uid and the resourceVersion */
    const char *owner_uid;   /* of ownerReferences[0]; of a job object's pod, that of the run */
    bool is_of_a_run;        /* a BenchmarkRun is its controller */
    bool is_of_a_job;        /* the controller of a job object made it (job_body.h) */
    bool is_going;           /* it has a deletionTimestamp */
    const char *held_by;     /* object_held_by() */
    const char *queue;       /* the label kueue.x-k8s.io/queue-name */
    bool has_id;             /* its labels say which replica of its owner it is: */
    struct replica_id id;    /* else 0 */
    int64_t created_unix_ms; /* creationTimestamp */
    /* deletionTimestamp without deletionGracePeriodSeconds; with a period that is longer than any
     * date, as it is */
    int64_t asked_to_go_unix_ms;

    /* spec */
    const char *node; /* nodeName */
    /* the container that counts (pod_main_container), and its resources.limits.memory */
    const char *container, *memory_limit;

    /* status */
    const char *reason, *message, *ip; /* ip: podIP */
    /* of the conditions DisruptionTarget and Kueue's TerminationTarget, if they are True, and of
     * PodScheduled, if it is False; of another value NULL */
    const char *disruption_reason, *disruption_message;
    const char *eviction_reason, *eviction_message;
    const char *unscheduled_reason, *unscheduled_message;
    bool is_not_set_up; /* PodReadyToStartContainers is False */
    bool is_unheard_of; /* Ready is False without a reason: nothing is heard of its node */
    enum pod_phase phase;

    /* the status of the container that counts; without one 0, "" and NULL */
    const char *image_id;                      /* imageID */
    int64_t started_unix_ms, finished_unix_ms; /* of its state */
    uint32_t n_restarts;                       /* restartCount */
    bool has_container_id;                     /* a fake node gives none */
    const struct pod_container *main;          /* in `containers` */

    uint32_t n_init, n_containers; /* n_containers: the n_init, then the others */
    struct pod_container containers[];
};

/* A struct pod_facts, whatever JSON it gets: one block with all its texts, owned, for free(). As
 * the cache of kube/ takes it, for which both are void * and not const. */
void *pod_facts_decode(json_t *pod);

/* Its first finalizer, which keeps a deleted object from going; "": none. Borrowed. */
const char *object_held_by(const json_t *metadata);
/* One of metadata.ownerReferences is a BenchmarkRun that controls the object. */
bool pod_is_of_a_run(const json_t *owners);
/* Which attempt its labels name; false: none. */
bool pod_read_attempt(const json_t *labels, struct attempt_id *ret);

#define POD_SECRET_VOLUME "benchd-key" /* no template may have one of this name */
/* The replica's container in a pod's spec: the one with the run's key or the variables of
 * the contract, wherever a webhook has put it; the first where none has them. Borrowed;
 * NULL if none exists. */
const json_t *pod_main_container(const json_t *pod);

/* Its phase says that it has ended: nothing of it runs, and its resources are free. The phase
 * changes a moment after the last container ends. */
bool pod_is_over(const struct pod_facts *pod);
/* Every container of it has ended, and its phase is about to change. */
bool pod_has_stopped(const struct pod_facts *pod);
