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
    struct gang_spec spec; /* prepared last */
    bool has_spec;
    bool is_probed; /* the server accepted a pod of it: post the others side by side */
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

void pod_gang_init(struct pod_gang *g, struct pods *owner);
void pod_gang_done(struct pod_gang *g);
/* Another attempt: those of the last one are not needed any more. */
void pod_gang_prepare(struct pod_gang *g, const struct gang_spec *spec);
/* The pservers' addresses by index, if all are known, else NULL. The caller frees them. */
char **pod_gang_servers(const struct pod_gang *g);
void pod_gang_servers_free(const struct pod_gang *g, char **servers);
