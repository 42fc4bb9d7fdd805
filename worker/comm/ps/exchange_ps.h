/* A trainer's exchange with synchronous parameter servers.
 *
 * A communication thread owns the connections. It connects and performs the handshakes while the
 * trainer still plans its memory, sends heartbeats while the trainer computes, and transfers the
 * slices of a round. It reports a fault to the other servers first, then through `on_fault` (called
 * in that thread, because the trainer may be in the middle of a long step and must exit within 10
 * s), then as the error of the call that waits. One such fault is a main thread that is stuck
 * outside of these calls. */
#pragma once

#include <stdbool.h>

#include "worker/comm/exchange.h"
#include "worker/comm/link/meet.h"
#include "exchange/slices.h"

struct exchange_ps_params {
    struct meet_params gang;        /* its digest: handshake_digest */
    const struct net_addr *servers; /* (slices.n_servers / slices.n_threads) copied */
    struct slices slices;
    enum exchange_wire wire;
    /* What arrives is not read, and others receive the same into the same memory, so it stays as
     * it was sent. */
    bool discards_params;
    struct exchange_owner owner;
};

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret,
                    struct err *err);
