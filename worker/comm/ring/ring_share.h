/* Whether the ranks of a ring reach each other's numbers through shared memory. All do or none
 * does, so they agree on it before the first step: a frame goes round three times from rank 0, and
 * each rank that passes it on adds what it cannot do.
 *
 *     LISTEN   every rank has a segment and gives it on request (shm_pass.h)
 *     ASK      each rank in turn has asked all others, and has mapped their segments
 *     VERDICT  all of them did: shared memory; or not, with the first reason: TCP
 *
 * The TCP connections stay, for life signs, faults, the barrier and the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/exchange_kind.h"
#include "worker/comm/shm/share_token.h"
#include "worker/comm/shm/shm_peers.h"

struct ring;

struct ring_share {
    bool is_open;            /* shared memory is wanted, and not yet decided */
    bool is_shared;          /* the verdict */
    struct share_token came; /* to be passed on */
    bool has_come;           /* it is here, until this rank has added its own */
    enum share_round sent;   /* the last round that this rank has sent; 0: none */
    struct shm_peers shm;
};

/* Makes the segment, unless the transport is Tcp. If this rank cannot, it says so when the others
 * ask: with SharedMemory all of them then end. */
void ring_share_init(struct ring *r);
/* SHARE of the rank before. */
int ring_share_on_frame(struct ring *r, const struct frame *f, const uint8_t *payload,
                        struct err *err);
/* Passes on what has come. Call it when both neighbours have joined. */
int ring_share_turn(struct ring *r, struct err *err);
