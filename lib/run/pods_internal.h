/* The pod launcher's state, shared by its files.
 *
 * Callbacks (the watch, answers, ends of logs) record what they heard in the member or gate that it
 * concerns and ask for a tick; they send nothing and tell nobody. The tick of pods.c looks at
 * everything, sends what is due, and reports once through on_change. Calls point down:
 *
 *   pods.c            the vtable, the watch, the tick
 *   pod_requests.c    creating, asking for and deleting pods       pod_gates.c   Secret and Service
 *   pod_logs.c        following and reading logs
 *   pod_member.c      one member: its life, what it makes due
 *   pod_answer.c      failures that pass                           pod_tick.c    the timer
 *
 * The next attempt's pods wait until nothing of the last one's can run: no measurement shares its
 * CPUs with the remains of another. */
#pragma once

#include "base/vec.h"
#include "run/pod_answer.h"
#include "run/pod_gates.h"
#include "run/pod_member.h"
#include "run/pod_tick.h"
#include "run/pods.h"

struct pods {
    struct launcher base;
    struct pods_params params; /* ns and secret are owned */
    struct pod_tick tick;
    VEC(struct pod_member *) members; /* in the order of their creation, the dying among them */
    struct pod_gates gates;
    struct pod_denial denial;
    struct gang_spec gang; /* prepared last; all zero: none was */
    bool has_gang;
    bool is_probed;               /* a pod of the gang was taken: the others may follow */
    bool was_settling;            /* at the last tick */
    json_t *bodies[ROLE_COUNT];   /* of the pod posted last, to be renumbered; NULL: none yet */
    char **addresses[ROLE_COUNT]; /* by name, of the gang; owned; NULL with POD_BY_IP */
};
