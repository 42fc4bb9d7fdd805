/* Exchange of gradients and parameters, behind one interface. A trainer sees only this.
 *
 * Synchronous parameter servers: push the gradient arena, wait until every trainer's has been added
 * (in trainer order: the result does not depend on arrival), averaged and applied, pull the new
 * parameters. A communication thread sends heartbeats each second, also while the trainer computes;
 * a peer silent for 6 s is lost; everyone is out within 10 s, naming it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Whom an error is about: filled with the peer that is the cause, "" if none. */
struct exchange_fault {
    int exit_code; /* enum exit_code: 11, 12 or 13 */
    char peer[32]; /* "pserver/0" */
};

struct exchange_times { /* of one round, for the step record */
    int64_t send_ns, wait_ns, receive_ns;
    int64_t update_ns; /* without peers: the optimiser ran here */
    uint64_t bytes_tx, bytes_rx;
};

struct exchange;

struct exchange_ops {
    /* All replicas are ready and warm: returns at the barrier's release. */
    int (*barrier)(struct exchange *x, struct err *err);
    /* One synchronous round: grads (n) in, params (n) overwritten with the new ones. */
    int (*round)(struct exchange *x, const float *grads, float *params, struct exchange_times *ret,
                 struct err *err);
    /* Says goodbye to every peer and closes. */
    int (*goodbye)(struct exchange *x, struct err *err);
    /* Gives up for a reason of our own (bad data, no memory): the peers are told and name us. */
    void (*abandon)(struct exchange *x, int exit_code, const char *why);
    void (*fault)(const struct exchange *x, struct exchange_fault *ret);
    void (*free)(struct exchange *x);
};

struct exchange { /* implementations embed this as their first member */
    const struct exchange_ops *ops;
};

/* No peer at all: barrier and goodbye return at once, round applies the optimiser here. */
typedef void (*exchange_apply_fn)(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                                  const float *grad_sum, float grad_scale);
int exchange_none_new(exchange_apply_fn apply, void *ctx, size_t n, struct exchange **ret,
                      struct err *err);
