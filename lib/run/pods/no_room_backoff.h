/* Attempts that found no room on their nodes or in the quota, or lost it: the next one waits,
 * longer each time, so that pods are not made and deleted again and again. Pure: the time is
 * passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/replica.h"
#include "decide/policy_wait.h"

#define NO_ROOM_BACKOFF_MIN_NS (10 * INT64_C(1000000000))
#define NO_ROOM_BACKOFF_MAX_NS (300 * INT64_C(1000000000))

struct no_room_backoff {
    unsigned n_times;          /* attempts in a row that found none */
    struct attempt_id attempt; /* the last of them, if n_times > 0 */
    int64_t since_ns;          /* when the first of them did */
    int64_t until_ns;          /* no pod is created before */
    struct run_wait wait;      /* what the status says */
};

/* A member of `attempt` found no room; noted once an attempt. `reason`: CamelCase. */
void no_room_backoff_lacks(struct no_room_backoff *room, const struct attempt_id *attempt,
                           const char *reason, const char *words, int64_t now_ns);
/* A gang has found room. */
void no_room_backoff_found(struct no_room_backoff *room);
/* True: the next attempt waits; *ret says why. */
bool no_room_backoff_must_wait(const struct no_room_backoff *room, int64_t now_ns,
                               struct run_wait *ret);
/* *ret: what the last attempt lacked; unchanged if it lacked nothing. */
void no_room_backoff_tell(const struct no_room_backoff *room, struct run_wait *ret);
