/* The requests of a member, and what their answers mean for it.
 *
 * Deterministic names make every request safe to repeat: a second POST is answered
 * AlreadyExists, and the owner's uid in the existing pod says whether it is ours. Deletions
 * carry the pod's uid. */
#pragma once

#include <stdint.h>

#include "run/pods/pod_member.h"

/* A quota that refuses a pod so often, while others of its gang exist, ends the attempt: for lack
 * of room. The pauses between are 14 s together. */
#define NO_ROOM_BACKOFF_TRIES 3
/* In place of a pod's own grace period when its run is cancelled or deleted. */
#define POD_HURRIED_GRACE_S 5

/* At most that many deletions of pods that are over at a time. Nothing waits for them, and requests
 * are sent in order: the next trial's pods must not queue after those of the last one. */
#define DELETIONS_AHEAD 16
#define DELETIONS_BESIDE_POSTS 2
/* Sends each GET and DELETE that is due, the latter within these limits. */
void pod_requests_send_due(struct pods *l, int64_t now_ns);
/* Sends the POST, which must be due. `servers`: the pservers' addresses by index; NULL: pods
 * find each other by name. */
void pod_requests_post(struct pod_member *m, char **servers, int64_t now_ns);
/* A wanted member cannot be created. */
void pod_requests_refuse(struct pod_member *m, const char *message, int64_t now_ns);
