/* The exchange of gradients and parameters, behind one interface. A trainer uses only this header
 * and the constructor of the exchange that it wants: exchange_none_new below, exchange_ps_new of
 * exchange_ps.h.
 *
 * With synchronous parameter servers a trainer pushes its gradients, waits until the gradients of
 * all trainers have been added (in trainer order, whatever the order of arrival), averaged and
 * applied, and pulls the new parameters. A communication thread sends a heartbeat every second,
 * also while the trainer computes. A peer that is silent for 6 s counts as lost; every replica then
 * exits within 10 s and names that peer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The cause of a failure. */
struct exchange_fault {
    int exit_code; /* enum exit_code: 11, 12 or 13 */
    char peer[32]; /* the peer that caused it, such as "pserver/0"; "": no peer */
};

struct exchange_times { /* of one round, for the step record */
    int64_t send_ns, wait_ns, receive_ns;
    int64_t update_ns; /* the optimiser, if it ran in this process */
    uint64_t bytes_tx, bytes_rx;
};

struct exchange;

struct exchange_ops {
    /* Waits until every trainer has called it. */
    int (*barrier)(struct exchange *x, struct err *err);
    /* One synchronous round: reads grads (n), overwrites params (n) with the new parameters. */
    int (*round)(struct exchange *x, const float *grads, float *params, struct exchange_times *ret,
                 struct err *err);
    /* Tells every peer that this replica is done, and closes the connections. */
    int (*goodbye)(struct exchange *x, struct err *err);
    /* Ends the exchange for a local reason (bad data, no memory) and tells the peers, which then
     * name this replica as the cause. */
    void (*abandon)(struct exchange *x, int exit_code, const char *why);
    void (*fault)(const struct exchange *x, struct exchange_fault *ret);
    void (*free)(struct exchange *x);
};

struct exchange { /* implementations embed this as their first member */
    const struct exchange_ops *ops;
};

/* The exchange of a trainer without peers: barrier and goodbye return immediately, round applies
 * the optimiser in this process. Defined in exchange_none.c. */
typedef void (*exchange_apply_fn)(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                                  const float *grad_sum, float grad_scale);
int exchange_none_new(exchange_apply_fn apply, void *ctx, size_t n, struct exchange **ret,
                      struct err *err);
