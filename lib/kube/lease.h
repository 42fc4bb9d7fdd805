/* Leader election with a coordination.k8s.io Lease. Used by daemon/cluster/elector.c. Does no I/O:
 * now_ns is a local clock that does not stop in suspend (CLOCK_BOOTTIME). The dates inside the
 * object are for people and for kube_lease_read, and never decide who leads. They are the server's
 * time, taken from its Date headers, so that a wrong local clock makes no leader look dead or
 * alive.
 *
 *   FOLLOWER --acquired (201, or 200 of our PUT)--> LEADER --renew deadline passed--> LOST
 *      ^  '--- another process holds it: wait        |  '--another process holds it---^
 *      '-- released, after kube_lease_release -------'
 *
 * A leader whose acknowledged renewals the server has forgotten (a backup was restored) is LOST,
 * too. kube_lease_answer acquires and releases; kube_lease_state notices a deadline that has
 * passed. LOST is final: stop writing, exit with EXIT_LEASE_LOST, start as a new process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "kube/request.h"
#include "kube/status.h"

/* An address: the Service, which speaks https. */
#define KUBE_TLS_SERVICE "https:service"
#define KUBE_LEASE_MAX_S 3600 /* longer durations in a record are ignored */

struct kube_lease_params {
    const char *ns, *name;
    const char *identity; /* no other living process has it */
    const char *address;  /* annotation benchd.io/address: "service", KUBE_TLS_SERVICE or a
                                  URL; NULL: none */
    const char *read_key; /* annotation benchd.io/read-key, in hexadecimal; NULL: none */
    int64_t duration_ns;  /* 0: 15 s; at most KUBE_LEASE_MAX_S */
    int64_t retry_ns;     /* 0: 2 s, jittered by 1.2 */
    uint64_t seed;
};

enum kube_lease_state { KUBE_LEASE_FOLLOWER, KUBE_LEASE_LEADER, KUBE_LEASE_LOST };

struct kube_lease;
struct kube_lease *kube_lease_new(const struct kube_lease_params *params);
void kube_lease_free(struct kube_lease *l);

/* True: send *ret_request (owned by the caller; URGENT; time out after
 * kube_lease_request_timeout_ns) and pass the answer to kube_lease_answer. False: nothing to do
 * before *ret_deadline_ns or the answer. unix_ms: a local date that setting the clock does not
 * change (clock_steady_unix_ms), for the object's dates: else the renewals until the next answer
 * would have a wrong one. */
bool kube_lease_next(struct kube_lease *l, int64_t now_ns, int64_t unix_ms,
                     struct kube_request *ret_request, int64_t *ret_deadline_ns);
void kube_lease_answer(struct kube_lease *l, int64_t now_ns, const struct kube_response *res);
int64_t kube_lease_request_timeout_ns(const struct kube_lease *l);

/* Becomes LOST when the renew deadline has passed. */
enum kube_lease_state kube_lease_state(struct kube_lease *l, int64_t now_ns);
/* Call right before every write: leader, renewed recently enough, and not releasing. */
bool kube_lease_may_write(struct kube_lease *l, int64_t now_ns);
/* The holder identity, "" if no process holds it or it is unknown. */
const char *kube_lease_holder(const struct kube_lease *l);
/* The latest failure, NULL after the next success. */
const struct err *kube_lease_error(const struct kube_lease *l);
/* By how much the server's clock is ahead of the local one, by its latest Date header; 0: they
 * agree within the header's precision, or it sent none. */
int64_t kube_lease_skew_ms(const struct kube_lease *l);
/* For a clean exit, and final: from now on kube_lease_next releases the Lease if we hold
 * it. A request in flight must be answered first: only its answer says which version of
 * the object to write. */
void kube_lease_release(struct kube_lease *l, int64_t now_ns);
/* Nothing is in flight, and we do not hold it (any more). */
bool kube_lease_is_released(struct kube_lease *l, int64_t now_ns);

/* For benchctl: 0 and the holder's address if the holder is alive by the server's clock (its Date
 * header). -ENOENT no holder; -ESTALE its last renewal is older than the Lease's duration, or too
 * far in the future; -EPROTO not a Lease. */
int kube_lease_read(const json_t *lease, int64_t server_unix_ms, char **ret_address,
                    struct err *err);
/* What the holder wants to see from readers: hexadecimal digits. Borrowed; NULL: nothing. */
const char *kube_lease_read_key(const json_t *lease);
