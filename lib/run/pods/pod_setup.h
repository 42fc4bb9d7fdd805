/* Pods that their node cannot set up: a volume that does not attach, a Secret that is not there, a
 * network without addresses. A kubelet tries for ever and says why in events alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decide/policy_wait.h"

struct pods;
struct pod_gang;
struct kube_call;

/* Usual up to here; with POD_WAIT_TOLD_NS people hear of it after 30 s. */
#define POD_SETUP_USUAL_NS (25 * INT64_C(1000000000))

/* Where no event says more. */
#define POD_SETUP_WORDS "its volumes, its sandbox or its network are not ready"

struct pod_setup {
    struct kube_call *call; /* for the events of a pod; NULL: none */
    char *uid;              /* of that pod, owned; with a call */
    int64_t due_ns;         /* not asked again before */
};

/* Asks for the last Warning event of the first such pod, which becomes its message. */
void pod_setup_tick(struct pods *l, int64_t now_ns);
/* True: some pod of the gang is not set up, *ret says which and why. */
bool pod_setup_wait(const struct pod_gang *g, struct run_wait *ret);
void pod_setup_done(struct pod_setup *s);
