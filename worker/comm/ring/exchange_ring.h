/* The exchange of workers that form a ring: all-reduce without a server. Rank r sends to rank r + 1
 * and receives from rank r - 1; ring_plan.h says what and when.
 *
 * Each rank owns 1/N of the parameters. It alone applies the optimiser to them, when their
 * gradients are added up, and then they go round: so a rank keeps 1/N of the optimiser's state.
 *
 * A communication thread owns the connections, adds, and applies the optimiser. It connects and
 * performs the handshakes while the worker still plans its memory, and sends heartbeats while the
 * worker computes. It reports a fault to both neighbours first, who pass it on, so it goes both
 * ways round; then through `on_fault` (called in that thread, because the worker may be in the
 * middle of a long step and must exit within 10 s); then as the error of the call that waits. One
 * rank alone is a ring without connections. */
#pragma once

#include <stdbool.h>

#include "worker/comm/exchange.h"
#include "worker/comm/link/meet.h"
#include "exchange/ring_plan.h"

struct exchange_ring_params {
    struct meet_params gang; /* role worker; its digest: exchange_ring_digest */
    struct slices slices;    /* ring_slices */
    struct net_addr next;    /* of the next rank; not read if there is only one */
    size_t window_bytes;     /* RING_WINDOW_BYTES; RING_BUFFERS_MIN slices may always come */
    exchange_apply_fn apply; /* called in the communication thread; `offset` counts in the
                                * parameters of this rank, of slices_server_params */
    void *apply_ctx;
    struct exchange_owner owner;
};

/* Of what all ranks must agree on. */
void exchange_ring_digest(const char *model, uint64_t seed, const struct slices *slices,
                          enum exchange_transport transport, uint8_t ret[static AUTH_DIGEST_SIZE]);

int exchange_ring_new(const struct exchange_ring_params *params, struct exchange **ret,
                      struct err *err);
