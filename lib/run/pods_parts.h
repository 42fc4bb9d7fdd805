/* The insides of the pod launcher, for pods.c, pod_post.c and pod_logs.c.
 *
 * Life of a member:
 *
 *   WANTED --pods_pump--> POSTING --201, or 409 and it is ours--> THERE --remove--> (dying) --> gone
 *     ^                      |  '-- refused for good: stays, observed as FAILED
 *     '-- server away: later-'
 *
 * A removed member is not observed any more but kept in `dying` until its pod is gone (or
 * POD_GONE_WAIT_NS have passed). The next ones wait until nothing of it can run, which its phase
 * tells or its being gone, so that no measurement shares its CPUs with the remains of another. A pod
 * whose containers have ended is deleted when its phase says so (POD_OVER_WAIT_NS at most): that
 * comes soon, while the end of one that is deleted before takes its kubelet two seconds. */
#pragma once

#include <uv.h>

#include "base/vec.h"
#include "kube/follow.h"
#include "pod/state.h"
#include "run/capture.h"
#include "run/pods.h"

#define POD_TICK_MS 500
#define POD_RETRY_NS (2 * INT64_C(1000000000))
#define POD_UNSEEN_NS                                                                              \
    (15 * INT64_C(1000000000)) /* made, and the watch does not show it: asked for */
#define POD_GONE_WAIT_NS (30 * INT64_C(1000000000))
#define POD_OVER_WAIT_NS (3 * INT64_C(1000000000))
#define POD_LOGS_MAX ((size_t)64 << 20) /* of one attempt, shared by its members */
#define POD_LOG_MAX ((size_t)10 << 20)
#define POD_LOG_MIN ((size_t)256 << 10)

enum member_step { MEMBER_WANTED, MEMBER_POSTING, MEMBER_THERE };
enum log_step { LOG_NONE, LOG_FOLLOWING, LOG_FETCHING, LOG_THERE };

struct pods;
struct pod_member {
    struct pods *owner;
    struct replica_id id;
    char *name, *container; /* owned; container NULL until seen */
    char *uid;              /* owned, NULL until known */
    enum member_step step;
    bool is_made;    /* by a POST of ours, in this life */
    bool is_refused; /* the server does not take it; state says why */
    bool is_removed; /* in `dying` */
    bool is_delete_answered;
    bool has_stopped;       /* all its containers have ended, */
    bool is_over;           /* and its phase says so: the next ones may come */
    struct kube_call *call; /* POST, GET or DELETE under way */
    int64_t retry_ns;       /* not before; 0: at once */
    int64_t gone_by_ns;     /* dying: waited for until then; 0: not yet deleted */
    struct pod_state state;
    enum pod_wait waiting; /* since: */
    int64_t waiting_since_ns;
    int64_t ended_unix_ms;

    enum log_step log;
    bool has_capture;
    struct capture capture;
    struct kube_follow *follow;
    struct kube_call *log_call;
    char *environment_json; /* of the start record, owned */
};

/* An object beside the pods that must be there first. */
struct pod_gate {
    struct pods *owner;
    const struct kube_resource *resource;
    json_t *body; /* owned; NULL: not needed */
    bool is_open;
    struct kube_call *call;
    int64_t retry_ns;
};
enum { GATE_SECRET, GATE_SERVICE, GATE_COUNT };

struct pods {
    struct launcher base;
    struct pods_params params; /* ns is owned */
    uv_timer_t tick;
    VEC(struct pod_member *) members; /* observed */
    VEC(struct pod_member *) dying;
    struct pod_gate gates[GATE_COUNT];
    struct gang_spec gang; /* prepared last */
    bool has_gang;
    bool is_probed;               /* one pod of the gang was taken: the others may follow */
    int64_t denied_ns;            /* since when a right is missing; 0: none is */
    json_t *bodies[ROLE_COUNT];   /* of the pod posted last, to be renumbered; NULL: none yet */
    char **addresses[ROLE_COUNT]; /* by name, of the gang; owned; NULL with POD_BY_IP */
    bool is_freed;
};

/* pods.c */
void pods_changed(struct pods *l);
struct pod_member *pods_member_new(struct pods *l, const struct replica_id *id);
void pods_member_free(struct pod_member *m);
/* Takes in what the server says of the member's pod. True: it means something new. */
bool pods_member_read(struct pod_member *m, const json_t *pod);
void pods_member_fail(struct pod_member *m, enum failure_class failure, const char *message);

void pods_member_vanished(struct pod_member *m);

/* pod_post.c: sends whatever is due and possible. */
void pods_pump(struct pods *l);
/* Asks for pods that were made and that the watch has not shown within POD_UNSEEN_NS. */
void pods_look_at_unseen(struct pods *l, int64_t now_ns);
/* Some creation is not known to have happened. */
bool pods_are_settling(const struct pods *l);
/* A member of `dying`: now, or as soon as its phase tells its end. */
void pods_delete(struct pod_member *m);
void pods_delete_when_over(struct pod_member *m);
void pods_drop_dying(struct pod_member *m);
/* Is it a failure of the way there, to be tried again? */
bool pods_is_transient(struct pods *l, int r, const struct kube_response *res);

/* pod_logs.c */
void pods_logs_update(struct pod_member *m); /* after a change of its state */
/* 0, or -EAGAIN: being fetched. */
int pods_logs_collect(struct pod_member *m);
void pods_logs_done(struct pod_member *m);
