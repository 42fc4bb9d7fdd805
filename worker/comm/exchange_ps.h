/* The exchange with synchronous parameter servers, seen from a trainer.
 *
 * A communication thread owns the connections: it dials and shakes hands while the trainer still
 * plans its memory, sends life signs while it computes, and moves the slices of a round. A fault is
 * told to the other servers first, then to `on_fault` (from that thread: the trainer may be deep in a
 * step and must be out within 10 s), then to whoever waits in a call. */
#pragma once

#include "worker/comm/exchange.h"
#include "worker/comm/frame.h"
#include "worker/comm/net.h"
#include "worker/comm/slices.h"

struct exchange_ps_params {
    struct frame_id self;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* handshake_digest */
    uint8_t secret[AUTH_SECRET_SIZE];
    const struct net_addr *servers; /* (slices.n_servers) copied */
    struct slices slices;
    int64_t rendezvous_ns; /* how long the servers may take to come */
    void (*on_fault)(void *ctx, const struct exchange_fault *fault, const char *message);
    void *ctx;
};

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret,
                    struct err *err);
