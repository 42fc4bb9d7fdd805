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
#include "worker/comm/link/frame.h"
#include "worker/comm/link/net.h"
#include "core/exchange_mode.h"
#include "exchange/slices.h"

struct exchange_ps_params {
    struct frame_id self;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* handshake_digest */
    uint8_t secret[AUTH_SECRET_SIZE];
    const struct net_addr *servers; /* (slices.n_servers / slices.n_threads) copied */
    struct slices slices;
    enum exchange_wire wire;
    struct exchange_mode mode; /* as the servers have it */
    uint32_t n_trainers;
    /* Auto: shared memory with the servers that see the same (lend.h); Tcp: never; SharedMemory:
     * with all, or it fails. */
    enum exchange_transport transport;
    int64_t rendezvous_ns; /* time limit for connecting to all servers */
    int64_t silence_ns;    /* of a peer that is lost; 0: HEARTBEAT_SILENCE_NS */
    bool watches_main;     /* the caller is the main thread and computes; see watchdog.h */
    /* (n_checksums, slices.n) CRC-32Cs that the parameters of the first steps must have, kept by
     * the caller; others are a fault of their server. NULL: not known. */
    const uint32_t *checksums;
    uint64_t n_checksums;
    /* what arrives is not read, and others receive the same into the same memory: it
     * stays as it was sent */
    bool discards_params;
    void (*on_fault)(void *ctx, const struct exchange_fault *fault, const char *message);
    void *ctx;
};

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret,
                    struct err *err);
