/* One member of an attempt as a pod: the facts known about it, and the request that they make due.
 * This file sends nothing, and takes the monotonic time as a parameter.
 *
 * Callbacks record answers, watch events and requests of the driver through the functions below.
 * The tick of pods.c calls pod_member_due() for every member, sends the request and calls
 * pod_member_sent().
 *
 *   wanted
 *     WANTED, UNSURE --sent POST--> POSTING ---created---> MADE ---sent GET---> LOOKING
 *       ^       ^                    |    '--name taken--> TAKEN --sent GET--> CHECKING
 *       |       '----try again-------'                                          | |
 *       |       '---------------- try again ------------------------------------' |
 *       '------------------------ not found --------------------------------------'
 *     POSTING, CHECKING, LOOKING --seen---> SHOWN -----any answer------> THERE
 *     WANTED, UNSURE, TAKEN, MADE -seen---------------------------------> THERE
 *     CHECKING, LOOKING -----------found--------------------------------> THERE
 *     LOOKING ---------------------try again----------------------------> MADE
 *     LOOKING ---------------------not found----------------------------> LOST
 *     SHOWN, THERE ----------------vanished-----------------------------> LOST
 *     WANTED, POSTING, CHECKING, LOOKING --------failed-----------------> REFUSED
 *     UNSURE, POSTING, CHECKING, LOOKING --------failed, may exist------> DOUBTED
 *   removed, or forgotten
 *     WANTED ----------------------remove-------------------------------> GONE
 *     REFUSED, LOST ---------------remove, forget-----------------------> GONE
 *     SHOWN, THERE ----------------forget-------------------------------> GONE
 *     POSTING ---------------------remove-----> DYING_POSTING
 *     UNSURE, TAKEN, MADE ---------remove-----> DYING_UNKNOWN
 *     DOUBTED ---------------------remove, forget----> DYING_UNKNOWN
 *     SHOWN -----------------------remove-----> DYING_SHOWN
 *     CHECKING, LOOKING -----------remove-----> DYING_LOOKING
 *     THERE -----------------------remove-----> DYING_DUE
 *   dying
 *     DYING_POSTING ---created, name taken, try again, failed but may exist---> DYING_UNKNOWN
 *     DYING_UNKNOWN <--try again-- DYING_LOOKING <--sent GET-- DYING_UNKNOWN
 *     DYING_POSTING, DYING_LOOKING --seen---> DYING_SHOWN --any answer--> DYING_DUE
 *     DYING_UNKNOWN -----------------seen-------------------------------> DYING_DUE
 *     DYING_LOOKING -----------------found------------------------------> DYING_DUE
 *     DYING_DUE --sent DELETE--> DYING_DELETING --deleted--> DYING_DELETED
 *     DYING_DUE <---try again--- DYING_DELETING
 *     DYING_LOOKING -----------------not found--------------------------> GONE
 *     DYING_POSTING, DYING_LOOKING, DYING_DELETING --failed-------------> GONE
 *     DYING_DELETED -----------------timed out--------------------------> DYING_UNKNOWN
 *     any dying ---------------------vanished---------------------------> GONE
 *
 * Arrows and functions: sent: pod_member_sent. created, name taken, not found, try again,
 * deleted: pod_member_answered. failed: pod_member_refused, after a DELETE pod_member_answered.
 * found: pod_member_found. seen: pod_member_seen. vanished: pod_member_vanished. remove, forget:
 * pod_member_remove. timed out: pod_member_time_out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/environment.h"
#include "pod/state.h"
#include "run/capture.h"
#include "run/log_reader.h"
#include "run/pods/pod_answer.h"

/* How long the watch may take to show a pod that was created, before it is looked up. */
#define POD_UNSEEN_NS (15 * INT64_C(1000000000))
/* A deleted pod that is still there after that is looked up, in case the watch has missed
 * its end. It is waited for without limit: something of it may run until the API server
 * says that it is gone. */
#define POD_GONE_WAIT_NS (30 * INT64_C(1000000000))
/* How long a pod whose containers have ended may take to report it in its phase. A pod deleted
 * after that goes at once; a pod deleted before takes its kubelet two seconds. */
#define POD_OVER_WAIT_NS (3 * INT64_C(1000000000))

enum member_life {
    MEMBER_WANTED,   /* to be created, not before due_ns */
    MEMBER_UNSURE,   /* the same, but an earlier POST may have had its effect */
    MEMBER_POSTING,  /* call: the POST */
    MEMBER_TAKEN,    /* a pod of that name exists; to be looked up */
    MEMBER_CHECKING, /* call: the GET that says which run the pod belongs to */
    MEMBER_SHOWN,    /* call: that POST or GET, but the watch has shown the pod already; uid */
    MEMBER_MADE,     /* created by us; to be looked up at due_ns unless the watch shows it */
    MEMBER_LOOKING,  /* call: a GET, since the watch has not shown it */
    MEMBER_THERE,    /* exists, and the watch reports its state; uid */
    MEMBER_REFUSED,  /* the server refuses the pod; observed as Failed */
    MEMBER_DOUBTED,  /* the same, but an earlier POST may have had its effect */
    MEMBER_LOST,     /* deleted by somebody else before it ended; observed as Lost */

    /* Removed: no longer observed, but waited for while something of it may run. */
    MEMBER_DYING_POSTING,  /* call: the POST, which may have its effect */
    MEMBER_DYING_UNKNOWN,  /* may exist; to be looked up at due_ns */
    MEMBER_DYING_LOOKING,  /* call: a GET */
    MEMBER_DYING_SHOWN,    /* call: that POST or GET, but the watch has shown the pod; uid */
    MEMBER_DYING_DUE,      /* to be deleted at due_ns; uid */
    MEMBER_DYING_DELETING, /* call: the DELETE; uid */
    MEMBER_DYING_DELETED,  /* until the watch reports it gone, or due_ns; uid */

    MEMBER_GONE, /* to be freed */
};
#define MEMBER_LIFE_COUNT (MEMBER_GONE + 1)

enum member_event {
    MEMBER_SENT_POST,
    MEMBER_SENT_GET,
    MEMBER_SENT_DELETE,
    MEMBER_CREATED,    /* the POST: 201 */
    MEMBER_NAME_TAKEN, /* the POST: 409 */
    MEMBER_FOUND,      /* the GET: it is ours */
    MEMBER_NOT_FOUND,  /* the GET: 404 */
    MEMBER_TRY_AGAIN,  /* any request: failed, but not because of the pod */
    MEMBER_FAILED, /* POST, GET: refused for good, or the pod is somebody else's; DELETE: gone */
    MEMBER_FAILED_UNSURE, /* POST, GET: refused for good, but the pod may exist */
    MEMBER_DELETED,       /* the DELETE: 200, or 404 of a pod that the watch has shown */
    MEMBER_SEEN,          /* the watch shows it */
    MEMBER_VANISHED,      /* the watch reports it gone */
    MEMBER_REMOVE,
    MEMBER_FORGET, /* it has ended: remove it, but leave its pod */
    MEMBER_TIMED_OUT,
};
#define MEMBER_EVENT_COUNT (MEMBER_TIMED_OUT + 1)

/* The arrows above; -1: the event is impossible in that state. */
int member_life_next(enum member_life life, enum member_event event);
bool member_life_is_dying(enum member_life life); /* GONE is not */
bool member_life_has_call(enum member_life life);
bool member_life_has_uid(enum member_life life);
bool member_life_is_refused(enum member_life life); /* REFUSED, DOUBTED */

/* Whether something of the pod may still run. */
enum pod_remains {
    POD_MAY_RUN,
    POD_STOPPED, /* all its containers have ended, */
    POD_OVER,    /* and its phase says so: the next attempt's pods may be created */
};

/* Its log, kept by pod_logs.c. */
struct pod_log {
    enum pod_log_step {
        POD_LOG_NONE,
        POD_LOG_WANTED,    /* to be fetched */
        POD_LOG_FOLLOWING, /* follow, capture */
        POD_LOG_FETCHING,  /* call, capture */
        POD_LOG_THERE,     /* capture, complete */
        POD_LOG_CLOSED,
    } step;
    union {
        struct kube_follow *follow;
        struct kube_call *call;
    };
    uint64_t n_fetched;     /* bytes, while FETCHING */
    uint32_t n_restarts;    /* of the container, as noted in the capture */
    int64_t output_unix_ms; /* while FOLLOWING: the last line, or the begin */
    /* By the last line of a measured step: when these began, and ended; 0: no such line was seen */
    int64_t measured_from_ns, measured_to_ns;
    struct capture *capture; /* owned; FOLLOWING, FETCHING, THERE; NULL in other steps */
    /* in addition to a capture, owned; NULL: the replica writes records */
    struct log_reader *reader;
    struct log_reader_end end; /* of the reader, once THERE; owned */
    bool is_explained;         /* end.why has the advice */
};

/* Of a pod that is of no attempt of the run. */
#define POD_NO_POINT UINT32_MAX

struct pods;
struct pod_gang;
struct pod_member {
    struct pods *owner;
    struct pod_gang *gang; /* what is shared with those of its attempt; NULL: it is dying from the
                              start */
    struct replica_id id;
    char *name; /* owned */
    enum member_life life;
    struct kube_call *call; /* in the states that say so, NULL in others */
    char *uid;              /* owned; in the states that say so, NULL in others but LOST, GONE */
    char *sought_uid;       /* owned; of the pod that the watch does not show; NULL: unknown */
    int64_t due_ns;         /* in the states that say so */
    bool has_news;          /* since the last tick, for on_change */
    bool may_exist;         /* a POST was sent whose effect is not known */
    bool has_asked_node;    /* pod_nodes_ask was called */
    bool is_completed;      /* it has ended for benchd, and its pod runs until it is removed */
    bool is_shown;          /* by the watch, so that the cache of pods has it while it exists */
    bool was_running;       /* another process made its pod, which had started before it was seen */
    struct pod_trouble trouble; /* with the request that is made again */

    struct pod_state state;   /* as observed */
    int64_t waiting_since_ns; /* since when state.wait is what it is */
    /* When this process learned that its pod is wanted, or made by another process; that it runs,
     * and that it ended; 0: not yet. Its own clock. */
    int64_t made_unix_ms, running_unix_ms, ended_unix_ms;
    int64_t created_unix_ms; /* its pod, by the API server's clock; 0: not seen yet */
    enum pod_remains remains;
    json_t *environment; /* of the start record; owned, NULL: none */
    struct summary
        *collected_summary;       /* with what its attempt's start adds; owned, NULL: nothing */
    struct environment collected; /* the same with what the pod's state adds; owned */
    struct pod_log log;
};

struct pod_member *pod_member_new(struct pods *owner, const char *run, const struct replica_id *id);
/* A member that is dying from the start: for a pod that nothing else deletes. */
struct pod_member *pod_member_for_leftover(struct pods *owner, const char *name, const char *uid,
                                           const struct pod_facts *pod, int64_t now_ns);
/* A member that is dying from the start: a second pod of the name of `of` may come from a request
 * on its way, or the pod with that uid (NULL: none) may be hidden from the watch. */
struct pod_member *pod_member_for_doubt(const struct pod_member *of, const char *uid,
                                        int64_t now_ns);
/* A member for a pod that exists already. */
struct pod_member *pod_member_adopt(struct pods *owner, const char *name,
                                    const struct replica_id *id, const char *uid,
                                    const struct pod_facts *pod, int64_t now_ns);
/* Cancels its call. Close its log first. */
void pod_member_free(struct pod_member *m);

/* To be created: WANTED, UNSURE. */
bool pod_member_is_wanted(const struct pod_member *m);
/* Its removal is not confirmed: the API server has not accepted it, or the watch
 * may show the pod yet. */
bool pod_member_is_removing(const struct pod_member *m);
/* Succeeded, Failed, Lost. */
bool pod_member_has_ended(const struct pod_member *m);
/* When its container started and finished, as the node says, but within what this process saw: the
 * clocks of two machines differ. 0: not yet, or the node does not say. */
int64_t pod_member_started_unix_ms(const struct pod_member *m);
int64_t pod_member_finished_unix_ms(const struct pod_member *m);
/* When its pod was created; before that when this process wanted it. */
int64_t pod_member_asked_unix_ms(const struct pod_member *m);

enum member_action { MEMBER_DO_NOTHING, MEMBER_DO_POST, MEMBER_DO_GET, MEMBER_DO_DELETE };
/* The request that is due. pods.c decides when a POST may be sent. */
enum member_action pod_member_due(const struct pod_member *m, int64_t now_ns);

void pod_member_sent(struct pod_member *m, enum member_action action, struct kube_call *call);
/* The POST made a pod with this uid, which the watch has not shown yet. */
void pod_member_made(struct pod_member *m, const char *uid);
/* The call is over. `answer` is not FOUND, FAILED only after a DELETE, and not TRY_AGAIN. */
void pod_member_answered(struct pod_member *m, enum member_event answer, int64_t now_ns);
/* The call is over and is made again later, because of `r` and these words. */
void pod_member_try_again(struct pod_member *m, int r, const struct kube_response *res,
                          const char *words, int64_t now_ns);
void pod_member_found(struct pod_member *m, const char *uid, const struct pod_facts *pod,
                      int64_t now_ns);
/* A POST or GET failed for good, or there is no POST to send. A pod that may exist all the same is
 * looked for when the member is removed. Unless the member is dying or the watch has shown its pod,
 * it is observed as Failed from now on, with that message. */
void pod_member_refused(struct pod_member *m, enum failure_class failure, const char *message,
                        int64_t now_ns);
/* Its program has made its steps: it has ended well. */
void pod_member_complete(struct pod_member *m);
/* Its queue or its job object has made the attempt void, or its pod cannot come. */
void pod_member_fail(struct pod_member *m, enum failure_class failure, const char *message,
                     int64_t now_ns);
/* Its pod has another name than those that benchd makes. */
void pod_member_rename(struct pod_member *m, const char *name);
/* It has waited for room for longer than its run wants. */
void pod_member_wait_over(struct pod_member *m, int64_t wait_ms);

void pod_member_seen(struct pod_member *m, const char *uid, const struct pod_facts *pod,
                     int64_t now_ns);
void pod_member_vanished(struct pod_member *m, int64_t now_ns);

/* With `leave_pod`, a member that has ended is dropped and its pod stays. */
void pod_member_remove(struct pod_member *m, bool leave_pod, int64_t now_ns);

/* How long a pod may wait: since it was made for a queue and a node; for its image, and to be set
 * up. */
struct member_limits {
    int64_t wait_ms, image_wait_ms, setup_wait_ms;
    int64_t ran_ms;    /* how long some pod of the gang has run */
    const char *event; /* pod_events_words() of its pod */
};
/* Then half a gang gives its nodes back: another gang may wait for them, as it does for those of
 * the other. Sooner than programs give up peers that do not come: benchworker after 300 s. */
#define POD_HALF_GANG_MS (240 * INT64_C(1000))
/* Ends a wait that has lasted too long: one of these, or for a deleted pod to go. */
void pod_member_time_out(struct pod_member *m, const struct member_limits *limits, int64_t now_ns);
