/* What a pod's status means for its replica. Pure: facts of a pod in, a verdict out. Used
 * by run/pods/pods.c; docs/benchd.md has the table of failures.
 *
 * It reads phase, reason, conditions and the state of the replica's container; the summary is in
 * the termination message. A pod that waits (for a node, an image) has not failed: the caller
 * decides how long it may wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"
#include "core/replica.h"
#include "pod/facts.h"

enum pod_wait {
    POD_WAIT_NONE,
    POD_WAIT_NODE,      /* no node fits it */
    POD_WAIT_GATE,      /* a scheduling gate holds it: a queue's business */
    POD_WAIT_IMAGE,     /* the image could not be pulled so far */
    POD_WAIT_CONTAINER, /* the container could not be created so far; the kubelet tries again */
    POD_WAIT_SETUP,     /* its volumes, sandbox or network are not ready on its node, or the node
                           says nothing of it: as of every pod for a moment, without a message */
};

struct pod_state {
    enum replica_state state;
    enum failure_class failure;
    enum pod_wait wait;
    int exit_code, signal; /* exit_code -1: not ended, or not by itself */
    bool has_started;      /* its container runs or ran */
    /* since when, and until when, by the clock of its node, to the second; 0: not said */
    int64_t started_unix_ms, finished_unix_ms;
    uint32_t n_restarts; /* of its container, which policy Never does not start again */
    /* it ran when its node became NotReady, which may look the same as a node that is gone;
     * `message` says so */
    bool is_node_lost;
    bool is_deleted;         /* it ended so; benchd deletes those only that it no longer observes */
    bool is_simulated;       /* it started without a container: a fake node answered */
    char ip[48];             /* "" until it has one */
    char *message;           /* why it failed or waits, or that it left a damaged record, for a
                                  person; owned; NULL: all is well, as of nearly all */
    char *image_id;          /* of its container: the digest that ran; owned; NULL: not known */
    char *node;              /* where it was scheduled; owned; NULL: nowhere yet */
    struct summary *summary; /* owned; NULL: none */
    bool has_blamed;
    enum role blamed_role;
    uint32_t blamed_index;
};

/* `id` is the replica that the pod should be: the summary of another one is ignored. */
void pod_state_read(const struct pod_facts *pod, const struct replica_id *id,
                    struct pod_state *ret);
void pod_state_done(struct pod_state *state);
/* "" if all is well. Borrowed. */
const char *pod_state_message(const struct pod_state *state);
/* One line of at most 511 bytes, see base/str.h; "" takes the last one away. */
void pod_state_say(struct pod_state *state, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
