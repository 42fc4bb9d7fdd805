/* The exchange of gradients and parameters, as one interface. A trainer uses only this
 * header and the constructor of the exchange that it wants: exchange_none_new below, or
 * exchange_ps_new, exchange_ring_new or exchange_nccl_new of the headers of these names.
 *
 * With synchronous parameter servers a trainer pushes its gradients; the gradients of all trainers
 * are added (in trainer order, whatever the order of arrival), averaged and applied; and it pulls
 * the new parameters. Both go while it computes, range by range:
 *
 *     begin   ->   ready, ready, ... ready(0)   ->   need, need, ...   ->   end
 *             backward, last layers first            the next forward
 *
 * A communication thread sends a heartbeat every second,
 * also while the trainer computes. A peer that is silent for 6 s counts as lost; every replica then
 * exits within 10 s and names that peer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/exchange_kind.h"

/* The cause of a failure. */
struct exchange_fault {
    int exit_code; /* enum exit_code: 11, 12 or 13 */
    char peer[32]; /* the peer that caused it, such as "pserver/0"; "": no peer */
};

/* Of an exchange with a communication thread: who calls it. */
struct exchange_owner {
    bool watches_main; /* the caller is the main thread and computes; see struct watchdog */
    /* (n_checksums, slices.n) CRC-32Cs that the parameters of the first steps must have, kept by
     * the caller; the exchange checks each slice when it arrives. The peer that sends different
     * parameters is reported as the cause: a server, or the rank before, which owns the slice or
     * passed it on unchecked. NULL if the caller knows none. */
    const uint32_t *checksums;
    uint64_t n_checksums;
    void (*on_fault)(void *ctx, const struct exchange_fault *fault, const char *message);
    void *ctx;
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
    /* A step begins, in which the caller writes grads (n) and gets new params (n). */
    int (*begin)(struct exchange *x, const float *grads, float *params, struct err *err);
    /* The gradients from `offset` on are final, and the parameters from there on are not read until
     * need: the exchange reads and overwrites them. Each offset is less than the one before. */
    void (*ready)(struct exchange *x, size_t offset);
    /* Waits until the n parameters from `offset` on are new. Returns 0 outside of a step. */
    int (*need)(struct exchange *x, size_t offset, size_t n, struct err *err);
    /* Waits for all parameters. The times include the waits in need(). */
    int (*end)(struct exchange *x, struct exchange_times *ret, struct err *err);
    /* Reports to every peer that this replica is done, and closes the connections. */
    int (*goodbye)(struct exchange *x, struct err *err);
    /* Ends the exchange for a local reason (bad data, no memory) and reports it to the peers, which
     * then name this replica as the cause. */
    void (*abandon)(struct exchange *x, int exit_code, const char *why);
    void (*fault)(const struct exchange *x, struct exchange_fault *ret);
    void (*free)(struct exchange *x);
};

struct exchange { /* implementations embed this as their first member */
    const struct exchange_ops *ops;
};

/* A step without any computation: all gradients are ready. Defined in exchange_none.c. */
int exchange_round(struct exchange *x, const float *grads, float *params,
                   struct exchange_times *ret, struct err *err);

/* The exchange of a trainer without peers: barrier and goodbye return immediately, end applies
 * the optimiser in this process, and need is for a step that has ended. Defined in
 * exchange_none.c. */
typedef void (*exchange_apply_fn)(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                                  const float *grad_sum, float grad_scale);
struct exchange *exchange_none_new(exchange_apply_fn apply, void *ctx, size_t n);
