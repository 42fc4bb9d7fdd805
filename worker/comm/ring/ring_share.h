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

#include "core/exchange.h"
#include "worker/comm/shm/doorbell.h"
#include "worker/comm/link/frame.h"
#include "worker/comm/shm/shm_pass.h"
#include "worker/comm/shm/shm_segment.h"
#include "worker/comm/shm/share_token.h"

struct ring;

struct ring_share {
    bool is_open;            /* shared memory is wanted, and not yet decided */
    bool is_shared;          /* the verdict */
    struct share_token own;  /* what this rank can; `why` of the verdict later */
    struct share_token came; /* to be passed on */
    bool has_come;           /* it is here, until this rank has added its own */
    struct shm_ask ask;      /* of rank n_asked; it may take many turns */
    uint32_t n_asked;
    int64_t asks_until_ns; /* 0: this rank does not ask */
    enum share_round sent; /* the last round that this rank has sent; 0: none */
    struct auth_key key;
    struct net_listener listener; /* fd -1: none */
    struct shm_layout layout;
    struct shm_segment segment; /* this rank's own; at NULL: none */
    struct shm_segment *peers;  /* (n_ranks) at NULL: this rank's, or none */
    int *doorbells;             /* (n_ranks) -1: none */
    struct doorbell bell;       /* others ring it when this rank sleeps */
};

/* Nothing to end. */
#define RING_SHARE_NONE                                                                            \
    ((struct ring_share){.listener = {.fd = -1},                                                   \
                         .bell = DOORBELL_INIT,                                                    \
                         .segment = {.fd = -1},                                                    \
                         .ask = SHM_ASK_INIT})

/* Makes the segment, unless the transport is Tcp. If this rank cannot, it says so when the others
 * ask: with SharedMemory all of them then end. */
void ring_share_init(struct ring *r);
void ring_share_done(struct ring *r);
/* SHARE of the rank before. */
int ring_share_on_frame(struct ring *r, const struct frame *f, const uint8_t *payload,
                        struct err *err);
/* Answers who asks, when the listener is readable. */
void ring_share_answer(struct ring *r);
/* True if a rank that was asked has hung up, and is to be asked again soon: no
 * descriptor signals when. */
bool ring_share_asks_again(const struct ring *r);
/* Passes on what has come. Call it when both neighbours have joined. */
int ring_share_turn(struct ring *r, struct err *err);
