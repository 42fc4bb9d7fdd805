/* One member of an attempt as a pod: what is known of it, and what that makes due. Nothing is sent
 * from here and no clock of the machine decides: times are passed in.
 *
 * Whoever hears something (an answer, the watch, the driver) calls the function of it below. The
 * tick of pods.c asks pod_member_due() of every member, sends, and says so by pod_member_sent().
 *
 *   wanted
 *     WANTED ----sent POST---> POSTING ---created---> MADE ---sent GET---> LOOKING
 *       ^  ^                    |    '--name taken--> TAKEN --sent GET--> CHECKING
 *       |  '----try again-------'                                          |
 *       '--------------------- try again, not found -----------------------'
 *     POSTING, CHECKING, LOOKING --seen---> SHOWN -----any answer------> THERE
 *     WANTED, TAKEN, MADE ---------seen---------------------------------> THERE
 *     CHECKING, LOOKING -----------found--------------------------------> THERE
 *     LOOKING ---------------------try again----------------------------> MADE
 *     LOOKING ---------------------not found----------------------------> LOST
 *     SHOWN, THERE ----------------vanished-----------------------------> LOST
 *     WANTED, POSTING, CHECKING, LOOKING --failed-----------------------> REFUSED
 *   removed, or forgotten
 *     WANTED, REFUSED, LOST -------remove, forget-----------------------> GONE
 *     SHOWN, THERE ----------------forget-------------------------------> GONE
 *     POSTING ---------------------remove-----> DYING_POSTING
 *     TAKEN, MADE -----------------remove-----> DYING_UNKNOWN
 *     CHECKING, LOOKING -----------remove-----> DYING_LOOKING
 *     SHOWN, THERE ----------------remove-----> DYING_DUE
 *   dying
 *     DYING_POSTING ---created, name taken, try again---> DYING_UNKNOWN
 *     DYING_UNKNOWN <--try again-- DYING_LOOKING <--sent GET-- DYING_UNKNOWN
 *     DYING_POSTING, DYING_LOOKING --seen---> DYING_SHOWN --any answer--> DYING_DUE
 *     DYING_UNKNOWN -----------------seen-------------------------------> DYING_DUE
 *     DYING_LOOKING -----------------found------------------------------> DYING_DUE
 *     DYING_DUE --sent DELETE--> DYING_DELETING --deleted--> DYING_DELETED
 *     DYING_DUE <---try again--- DYING_DELETING
 *     DYING_LOOKING -----------------not found--------------------------> GONE
 *     DYING_POSTING, DYING_LOOKING, DYING_DELETING --failed-------------> GONE
 *     DYING_DELETED -----------------timed out--------------------------> GONE
 *     any dying ---------------------vanished---------------------------> GONE
 *
 * The functions: "sent" is pod_member_sent; created, name taken, not found, try again, failed and
 * deleted are pod_member_answered; found is pod_member_found; seen is pod_member_seen; vanished is
 * pod_member_vanished; remove and forget are pod_member_remove; timed out is pod_member_timed_out. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "pod/state.h"
#include "run/capture.h"

#define POD_RETRY_NS (2 * INT64_C(1000000000))
/* Made, and the watch does not show it: asked for. */
#define POD_UNSEEN_NS (15 * INT64_C(1000000000))
/* Deleted and not gone: its node is slow, or lost; nobody waits for it any longer. */
#define POD_GONE_WAIT_NS (30 * INT64_C(1000000000))
/* Its containers have ended. Its phase says so soon, and a pod that is deleted then goes at once;
 * deleted before, it takes its kubelet two seconds. */
#define POD_OVER_WAIT_NS (3 * INT64_C(1000000000))

enum member_life {
    MEMBER_WANTED,   /* to be created, not before due_ns */
    MEMBER_POSTING,  /* call: the POST */
    MEMBER_TAKEN,    /* a pod of its name is there: whose is it? */
    MEMBER_CHECKING, /* call: a GET, which will tell */
    MEMBER_SHOWN,    /* call: as before, but the watch was faster: it is there; uid */
    MEMBER_MADE,     /* created by us; to be asked for at due_ns unless the watch shows it */
    MEMBER_LOOKING,  /* call: a GET, since the watch does not show it */
    MEMBER_THERE,    /* the watch tells the rest; uid */
    MEMBER_REFUSED,  /* the server takes no such pod; observed as Failed */
    MEMBER_LOST,     /* somebody deleted it before its end; observed as Lost */

    /* Removed: not observed any more, but waited for while something of it may run. */
    MEMBER_DYING_POSTING,  /* call: the POST, which may have its effect */
    MEMBER_DYING_UNKNOWN,  /* it may be there: to be asked for at due_ns */
    MEMBER_DYING_LOOKING,  /* call: a GET */
    MEMBER_DYING_SHOWN,    /* call: as before, but the watch has shown it; uid */
    MEMBER_DYING_DUE,      /* to be deleted at due_ns; uid */
    MEMBER_DYING_DELETING, /* call: the DELETE; uid */
    MEMBER_DYING_DELETED,  /* until the watch says that it is gone, or due_ns; uid */

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
    MEMBER_TRY_AGAIN,  /* any of them: the answer says nothing about the pod */
    MEMBER_FAILED,     /* any of them: refused for good, or somebody else's pod */
    MEMBER_DELETED,    /* the DELETE: 200 */
    MEMBER_SEEN,       /* the watch shows it */
    MEMBER_VANISHED,   /* the watch says that it is gone */
    MEMBER_REMOVE,
    MEMBER_FORGET, /* it has ended: remove it, but leave its pod */
    MEMBER_TIMED_OUT,
};
#define MEMBER_EVENT_COUNT (MEMBER_TIMED_OUT + 1)

/* The arrows above; -1: that event cannot come in that state. */
int member_life_next(enum member_life life, enum member_event event);
bool member_life_is_dying(enum member_life life); /* GONE is not */
bool member_life_has_call(enum member_life life);
bool member_life_has_uid(enum member_life life);

/* May something of the pod still run? */
enum pod_remains {
    POD_MAY_RUN,
    POD_STOPPED, /* all its containers have ended, */
    POD_OVER,    /* and its phase says so: the next ones may come */
};

/* Its log, kept by pod_logs.c. */
struct pod_log {
    enum pod_log_step {
        POD_LOG_NONE,
        POD_LOG_WANTED,    /* to be read once */
        POD_LOG_FOLLOWING, /* follow, capture */
        POD_LOG_FETCHING,  /* call, capture */
        POD_LOG_THERE,     /* capture: as much as will ever be */
        POD_LOG_CLOSED,
    } step;
    union {
        struct kube_follow *follow;
        struct kube_call *call;
    };
    struct capture capture;
};

struct pods;
struct pod_member {
    struct pods *owner;
    struct replica_id id;
    char *name; /* owned */
    enum member_life life;
    struct kube_call *call; /* in the states that say so, NULL in others */
    char *uid;              /* owned; in the states that say so, NULL in others but LOST, GONE */
    int64_t due_ns;         /* in the states that say so */
    bool has_news;          /* since the last tick, for on_change */

    struct pod_state state;   /* as observed */
    int64_t waiting_since_ns; /* since when state.wait is what it is */
    int64_t ended_unix_ms;
    enum pod_remains remains;
    char *container;        /* owned, NULL until the pod was read */
    char *environment_json; /* of the start record; owned, NULL: none */
    struct pod_log log;
};

struct pod_member *pod_member_new(struct pods *owner, const char *run, const struct replica_id *id);
/* A pod that was there before its member. */
struct pod_member *pod_member_adopt(struct pods *owner, const char *run,
                                    const struct replica_id *id, const char *uid, const json_t *pod,
                                    int64_t now_ns);
/* Cancels its call. Its log is closed already. */
void pod_member_free(struct pod_member *m);

/* Succeeded, Failed, Lost. */
bool pod_member_has_ended(const struct pod_member *m);

enum member_action { MEMBER_DO_NOTHING, MEMBER_DO_POST, MEMBER_DO_GET, MEMBER_DO_DELETE };
/* What time and its state make due. A POST also needs the leave of its gang, see pods.c. */
enum member_action pod_member_due(const struct pod_member *m, int64_t now_ns);

void pod_member_sent(struct pod_member *m, enum member_action action, struct kube_call *call);
/* The call is over. `answer` is not FOUND, and FAILED only after a DELETE. */
void pod_member_answered(struct pod_member *m, enum member_event answer, int64_t now_ns);
void pod_member_found(struct pod_member *m, const char *uid, const json_t *pod, int64_t now_ns);
/* The call failed for good; before a POST: there is none to send. One that is wanted is observed as
 * Failed with that message. */
void pod_member_refused(struct pod_member *m, const char *message, int64_t now_ns);

void pod_member_seen(struct pod_member *m, const char *uid, const json_t *pod, int64_t now_ns);
void pod_member_vanished(struct pod_member *m, int64_t now_ns);

/* With `leave_pod` one that has ended is only forgotten. */
void pod_member_remove(struct pod_member *m, bool leave_pod, int64_t now_ns);

/* How long a pod may wait for a node, and for its image. */
struct member_limits {
    int64_t node_wait_ms, image_wait_ms;
};
/* Ends waits that have lasted too long: for a node or an image, and for a deleted pod to go. */
void pod_member_time_out(struct pod_member *m, const struct member_limits *limits, int64_t now_ns);
