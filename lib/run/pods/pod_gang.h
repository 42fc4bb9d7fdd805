/* What the members of one attempt share: addresses, bodies, EndpointSlices, the place in a queue,
 * its pauses for lack of room. */
#pragma once

#include <jansson.h>

#include "run/pods/no_room_backoff.h"
#include "run/pods/pod_member.h"
#include "run/pods/pod_queue.h"
#include "run/pods/pod_slices.h"

struct pods;

struct pod_gang {
    struct pods *owner;
    unsigned number;       /* among those of the launcher */
    struct gang_spec spec; /* prepared last */
    bool has_spec;         /* else it has members of the attempt at most, which were there before */
    bool was_settling;     /* at the last tick */
    bool is_probed;        /* the server accepted a pod of it: post the others side by side */
    int64_t ran_ms;        /* how long its first member has run, at the last tick */
    struct no_room_backoff room;
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

/* Of all gangs: a member that is not dying; NULL: none. */
struct pod_member *pod_gang_find(const struct pods *l, const struct replica_id *id);
/* A dying one by uid; one that has none yet, by its name. */
struct pod_member *pod_gang_find_dying(const struct pods *l, const char *name, const char *uid);
