/* What the members of one attempt share: addresses, bodies, EndpointSlices, the place in a queue,
 * its pauses for lack of room. */
#pragma once

#include <jansson.h>

#include "run/launcher.h"
#include "run/pods/pod_member.h"
#include "run/pods/pod_queue.h"

struct pods;
struct pod_gang;

/* pod_slices.c: the EndpointSlices of a run, or which host name is which address, for POD_BY_DNS.
 *
 * The run's Service has no selector, so that no controller writes its addresses. The API server's
 * own controllers write the whole list again for each pod that changes, which costs the square of
 * the gang; here a slice is written for the first address, then for all that were added while the
 * last ones were gathered, and at once when it is complete.
 *
 * A slice only grows during an attempt, and the next attempt replaces what is in it. Every write is
 * an apply of the whole slice: after a restart it is repeated. */

/* The API server takes 1,000. */
#define POD_SLICE_MAX 500
#define SLICES_A_GANG (ROLE_COUNT * SPEC_MAX_REPLICAS / POD_SLICE_MAX)
/* Addresses are gathered that long for each pod of the slice, so that the bytes written for a gang
 * grow with its pods and not with their square. */
#define POD_SLICE_GATHER_NS (5 * INT64_C(1000000))

struct pod_slice {
    struct attempt_id attempt; /* of what was written; nothing was, where n is 0 */
    uint32_t n;                /* addresses that the server has taken */
    int64_t gather_until_ns;
};

struct pod_slices {
    struct pod_gang *gang; /* all else is 0 at first */
    /* Two for each POD_SLICE_MAX replicas of a gang, in the order of roles and
     * indices: IPv4, then IPv6. */
    VEC(struct pod_slice) list;
    struct kube_call *call;  /* NULL: none */
    size_t asked;            /* while there is a call: which slice, */
    struct pod_slice asking; /* and what it will be */
    int64_t due_ns;          /* not before, after trouble */
    struct pod_trouble trouble;
};

void pod_slices_done(struct pod_slices *s);
/* Sends what is due, one slice at a time. */
void pod_slices_tick(struct pod_slices *s, int64_t now_ns);
/* Says why pods cannot find each other, if a slice cannot be written. */
void pod_slices_wait(const struct pod_gang *g, struct run_wait *ret);

/* pod_wait.c: what a lane of the pod launcher waits for, and when the status says so: a wait that
 * is usual, for instance for the last attempt's pods to terminate, is not worth a status, also
 * where it interrupts one that is. Pure: the time is passed in. */

#define POD_WAIT_TOLD_NS (5 * INT64_C(1000000000))

struct pod_wait_told {
    struct run_wait now;  /* an empty reason: it waits for nothing; so below */
    int64_t since_ns;     /* since when the reason is this one */
    struct run_wait told; /* what the status may say of it */
};

/* Takes in what it waits for at this moment. */
void pod_wait_look(struct pod_wait_told *w, const struct run_wait *now, int64_t now_ns);
/* Nothing that the status says differs. */
bool pod_wait_is_same(const struct run_wait *a, const struct run_wait *b);
/* A reason, which is CamelCase, and the words of a wait. */
void pod_wait_say(struct run_wait *ret, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Why a deleted object is still there, for the end of a text: `held_by` as object_held_by() has it;
 * "" without one. Owned. */
char *pod_wait_holder(const char *held_by);

#define NO_ROOM_BACKOFF_MIN_NS (10 * INT64_C(1000000000))
#define NO_ROOM_BACKOFF_MAX_NS (300 * INT64_C(1000000000))
/* Attempts that found no room on their nodes or in the quota, or lost it: the next one waits,
 * longer each time, so that pods are not made and deleted again and again. */
struct no_room_backoff {
    unsigned n_times;          /* attempts in a row that found none */
    struct attempt_id attempt; /* the last of them, if n_times > 0 */
    int64_t since_ns;          /* when the first of them did */
    int64_t until_ns;          /* no pod is created before */
    struct run_wait wait;      /* what the status says */
};

struct pod_gang {
    struct pods *owner;
    unsigned number;       /* among those of the launcher */
    struct gang_spec spec; /* prepared last */
    bool has_spec;         /* else it has members of the attempt at most, which were there before */
    bool was_settling;     /* at the last tick */
    bool is_probed;        /* the server accepted a pod of it: post the others side by side */
    int64_t ran_ms;        /* how long its first member has run, at the last tick */
    int64_t quiet_since_ns; /* nothing has happened with it since, and no wait says why */
    struct no_room_backoff room;
    struct pod_wait_told wait;
    struct pod_slices slices;
    struct pod_place place;
    json_t *bodies[ROLE_COUNT];   /* of the pod posted last, to be renumbered; NULL: none yet */
    char **addresses[ROLE_COUNT]; /* by name; owned; NULL with POD_BY_IP */
};
/* A member of it that is not dying. */
static inline bool pod_gang_has(const struct pod_gang *g, const struct pod_member *m)
{
    return m->gang == g && m->life < MEMBER_DYING_POSTING;
}

/* That of the attempt; else one that becomes it: of its point, for the pauses, one that is free, or
 * a new one. After a restart there may be more than lanes: some pods should not be there. */
struct pod_gang *pod_gang_of(struct pods *l, const struct attempt_id *attempt);
/* After pod_slices_done. */
void pod_gang_free(struct pod_gang *g);
/* Another attempt: those of the last one are not needed any more. */
void pod_gang_prepare(struct pod_gang *g, const struct gang_spec *spec);
/* The pservers' addresses by index, if all are known, else NULL. The caller frees them. */
char **pod_gang_servers(const struct pod_gang *g);
void pod_gang_servers_free(const struct pod_gang *g, char **servers);
/* For the pauses: which gangs lack room, lost theirs, or ran whole. `list`: as the driver sees the
 * members. */
void pod_gang_look_for_room(struct pods *l, const struct observed_replica *list, size_t n,
                            int64_t now_ns);
/* How an attempt of a run with a queue came to run, as metrics of its trial (core/metric_set.h):
 * the summary of a member, with what is known of
 *   queue_s         from the creation of the Workload to its admission, by the API server's clock
 *   admission_s     from there to the start of the last container
 * Dates are whole seconds. Nothing where the run has no queue, or `summary` is NULL. */
void pod_gang_add_starts(const struct pods *l, const struct pod_member *m, struct summary *summary);
/* How long the member of the gang that began first has run; 0: none runs. */
int64_t pod_gang_ran_ms(const struct pod_gang *g);

/* Of all gangs: a member that is not dying; NULL: none. */
struct pod_member *pod_gang_find(const struct pods *l, const struct replica_id *id);
/* A dying one by uid; one that has none yet, by its name. */
struct pod_member *pod_gang_find_dying(const struct pods *l, const char *name, const char *uid);
