/* The EndpointSlices of a run: which host name is which pod's address, for POD_BY_DNS.
 *
 * The run's Service has no selector, so that no controller writes its addresses. The API server's
 * own controllers write the whole list again for each pod that changes, which costs the square of
 * the gang; here a slice is written for the first address, then for all that were added while the
 * last ones were gathered, and at once when it is complete.
 *
 * A slice only grows during an attempt, and the next attempt replaces what is in it. Every write is
 * an apply of the whole slice: after a restart it is repeated. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/replica.h"
#include "run/launcher.h"
#include "run/pods/pod_answer.h"

/* The API server takes 1,000. */
#define POD_SLICE_MAX 500
#define SLICES_A_GANG (ROLE_COUNT * SPEC_MAX_REPLICAS / POD_SLICE_MAX)
/* Addresses are gathered that long for each pod of the slice, so that the bytes written for a gang
 * grow with its pods and not with their square. */
#define POD_SLICE_GATHER_NS (5 * INT64_C(1000000))

struct pod_gang;

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
