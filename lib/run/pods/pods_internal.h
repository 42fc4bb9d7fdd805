/* The pod launcher's state, shared by its files.
 *
 * Callbacks (watch events, answers, ends of logs) only record facts, in the member or gate they are
 * about, and ask for a tick. The tick of pods.c examines all members and gates, sends what is due
 * and reports once through on_change. Calls between the files point down:
 *
 *   pods.c            the vtable, the watch, the tick
 *   pod_requests.c    creates, looks up and deletes pods      pod_gates.c   Secret, Service, policy
 *   pod_logs.c        follows and fetches logs                pod_slices.c  addresses by name
 *   pod_member.c      the life of one member, and what it makes due
 *   pod_answer.c      which failures are transient            pod_wait.c    when a wait is reported
 *   pod_lanes.c       whether an attempt may begin            pod_words.c   what is waited for
 *   pod_events.c      why nothing happens with a pod         pod_nodes.c   what labels of nodes say
 *   pod_queue.c       the place in a queue                    pod_gang.c    what an attempt shares
 *   pod_jobs.c        job objects
 *
 * The first pod of an attempt waits until no pod of ours can run in the namespace, whatever run it
 * is of, so that no measurement shares its CPUs with the remains of another. Where a run has
 * several lanes, each other attempt of it of which a pod may run takes one, whether it is measured
 * or its pods terminate; two attempts of one point never run at once. */
#pragma once

#include <uv.h>

#include "base/vec.h"
#include "run/pods/pod_answer.h"
#include "run/pods/pod_gang.h"
#include "run/pods/pod_gates.h"
#include "run/pods/pod_jobs.h"
#include "run/pods/pod_member.h"
#include "run/pods/pod_nodes.h"
#include "run/pods/pod_queue.h"
#include "run/pods/pod_events.h"
#include "run/pods/pods.h"

#define TICK_MS 500
struct pods {
    struct launcher base;
    struct pods_params params; /* ns and secret are owned */
    uv_timer_t timer;
    uv_timer_cb on_tick;              /* of `timer` */
    VEC(struct pod_member *) members; /* in the order of their creation, the dying among them */
    VEC(struct pod_gang *) gangs;     /* owned; of a run without lanes there is one for all */
    uint32_t n_lanes;
    struct pod_gates gates;
    struct pod_denial denial;
    struct pod_wait_told removal; /* of what is not needed; of the lanes: pod_gang.h */
    struct run_wait told;         /* what the status says */
    bool goes_on;                 /* some lane does not wait, */
    int64_t went_on_ns;           /* and when that was so last */
    int64_t wait_ms;              /* pods_limit_wait() */
    struct pod_events events;
    struct pod_nodes nodes;
    struct pod_queue queue;
    struct pod_jobs jobs;
};
/* The tick runs in the next iteration of the loop, once for several calls, and then again and again
 * until nothing depends on time. */
static inline void pods_tick_soon(struct pods *l)
{
    if (!uv_is_closing((uv_handle_t *)&l->timer)) {
        /* Cannot fail: the callback is not NULL and the handle is not closing. */
        (void)uv_timer_start(&l->timer, l->on_tick, 0, TICK_MS);
    }
}

/* The same request may succeed later. */
static inline bool pods_is_transient(struct pods *l, int r, const struct kube_response *res)
{
    return pod_answer_is_transient(&l->denial, r, res, l->params.now_ns());
}

/* ---- in pod_lanes.c: what may run at the same time ---- */

/* Pods of ours may still run that are of an earlier attempt, of a run that was deleted, of one that
 * no process drives, and no measurement may share its CPUs with them. "Nothing of it lives" is a
 * fact about the namespace, so the cache of its pods is asked, and not only what a launcher
 * remembers. */

/* A lane is free for the attempt that is due if no pod of another run or of the same point may
 * still run, and another attempt of the run, of which a pod may still run, takes a lane. Otherwise
 * *ret_wait says what may run. It is asked until the first pod of the attempt is created: no other
 * process creates pods then. */
bool pod_lane_is_free(const struct pod_gang *g, struct run_wait *ret_wait, int64_t now_ns);

/* ---- in pod_words.c: what a gang waits for, in words ---- */

/* A deletion that is refused is the cause of all else that is waited for. */
void pod_words_removal(const struct pods *l, struct run_wait *ret);
/* Leaves what *ret has already. Otherwise it says a creation that is refused, a pod that is not set
 * up, lacks its image or has no place yet, room that the last attempt lacked or lost, a creation
 * without an answer, a node or the addresses. */
void pod_words_wait(const struct pod_gang *g, struct run_wait *ret);
