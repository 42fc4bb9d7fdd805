/* The requests of a member: which one its state asks for, and what the answer means to it.
 *
 * Deterministic names make every request safe to repeat: a second POST answers AlreadyExists, and
 * the owner's uid in the pod that is there tells whether it is ours. Deletions carry the uid. */
#pragma once

#include <stdint.h>

#include "run/pod_member.h"

/* The GET or DELETE that is due, if one is. */
void pod_requests_send(struct pod_member *m, int64_t now_ns);
/* The POST of one that is due. `servers`: the pservers' addresses by number, or NULL with names. */
void pod_requests_post(struct pod_member *m, char **servers, int64_t now_ns);
/* One that is wanted cannot be created. */
void pod_requests_refuse(struct pod_member *m, const char *message, int64_t now_ns);
