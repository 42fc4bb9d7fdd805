/* Holding a coordination.k8s.io Lease. Sans-I/O: time is a local clock that does not stop in
 * suspend (CLOCK_BOOTTIME), given as now_ns; the dates inside the object are for people and for
 * kube_lease_read, and never decide who leads. They are the server's time as its Date headers tell
 * it, so that a wrong clock here makes nobody look dead or alive.
 *
 *   FOLLOWER --won (201, or 200 of our PUT)--> LEADER --no renewal for renew_deadline--> LOST
 *      ^  '--- held by another: wait ---'         |
 *      '-- given up, after kube_lease_release ----'
 *
 * LOST is final: stop writing, exit with EXIT_LEASE_LOST, start as a new process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "kube/request.h"
#include "kube/status.h"

struct kube_lease_params {
    const char *ns, *name;
    const char *identity;      /* of this process: host name, '_', random */
    const char *address;       /* annotation benchd.io/address: "service" or a URL; NULL: none */
    int64_t duration_ns;       /* 0: 15 s */
    int64_t renew_deadline_ns; /* 0: 10 s */
    int64_t retry_ns;          /* 0: 2 s, jittered by 1.2 */
    uint64_t seed;
};

enum kube_lease_state { KUBE_LEASE_FOLLOWER, KUBE_LEASE_LEADER, KUBE_LEASE_LOST };

struct kube_lease;
struct kube_lease *kube_lease_new(const struct kube_lease_params *params);
void kube_lease_free(struct kube_lease *l);

/* True: send *ret_request (the caller's; URGENT; give up after kube_lease_request_timeout_ns) and
 * feed the answer. False: nothing before *ret_deadline_ns or the answer. unix_ms: the local clock,
 * for the object's dates. */
bool kube_lease_next(struct kube_lease *l, int64_t now_ns, int64_t unix_ms,
                     struct kube_request *ret_request, int64_t *ret_deadline_ns);
void kube_lease_answer(struct kube_lease *l, int64_t now_ns, const struct kube_response *res);
int64_t kube_lease_request_timeout_ns(const struct kube_lease *l);

/* Also notices that the deadline has passed. */
enum kube_lease_state kube_lease_state(struct kube_lease *l, int64_t now_ns);
/* Ask right before every write: leader, renewed recently enough, and not giving up. */
bool kube_lease_may_write(struct kube_lease *l, int64_t now_ns);
/* Who holds it, "" if nobody or not known. */
const char *kube_lease_holder(const struct kube_lease *l);
/* The latest failure while it lasts, NULL when all is well. */
const struct err *kube_lease_error(const struct kube_lease *l);
/* For a clean exit, for good: from now on kube_lease_next gives the Lease up, where it is ours. It
 * waits for the answer to what is in flight: only that tells which version of the object to write. */
void kube_lease_release(struct kube_lease *l, int64_t now_ns);
/* Nothing is in flight, and it is not ours (any more). */
bool kube_lease_is_released(struct kube_lease *l, int64_t now_ns);

/* For others (benchctl): is the lease's holder alive by the server's clock (its Date header), and
 * where. 0; -ENOENT no holder; -ESTALE not renewed within its duration, before or after that time;
 * -EPROTO no lease. */
int kube_lease_read(const json_t *lease, int64_t server_unix_ms, char **ret_address,
                    struct err *err);
