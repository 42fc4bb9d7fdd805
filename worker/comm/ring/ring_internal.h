/* Shared by the files of the ring: exchange_ring.c (its life and the communication thread),
 * ring_peer.c (connections), ring_round.c (steps). */
#pragma once

#include "exchange/ring_plan.h"
#include "worker/comm/ring/exchange_ring.h"
#include "worker/comm/mailbox.h"
#include "worker/comm/link/meet.h"

/* A gradient on its way round, with the sum of those before this rank.
 *
 *     FREE ---> ARRIVING ---> ARRIVED ---> ADDED ---> SENDING ---> FREE
 *          place        CRC right    own added   queued     handed to the kernel
 *                                      +--- the owner: applied ----------^ */
enum ring_slot_state { SLOT_FREE, SLOT_ARRIVING, SLOT_ARRIVED, SLOT_ADDED, SLOT_SENDING };

struct ring_slot {
    enum ring_slot_state state;
    float *data; /* (the longest slice) owned */
    uint32_t slice;
    size_t n_added;   /* floats of this rank's own gradient that are in it */
    uint64_t is_gone; /* when so many slices were handed to the kernel */
};

/* One step. Gradients are counted in the order of the plan; parameters go round in any order, the
 * first in the arena first. Credits and counts are of this step. */
struct ring_round {
    uint64_t step;
    const float *grads; /* (slices.n_params) of the step, NULL: the worker has not begun it */
    float *params;      /* the same */
    size_t ready_offset;

    uint32_t n_hops;
    uint32_t n_sent, credit, next_credit; /* to the next rank; the last: for the step after this */
    uint32_t n_received, n_added, n_freed, n_granted; /* from the rank before */
    struct ring_slot *slots;                          /* (n_slots) hop k is in slot k % n_slots */
    uint32_t n_slots;

    bool *is_given;     /* (slices.n) this rank's gradient is in the sum or on its way */
    bool *is_new;       /* (slices.n) its parameters are here */
    bool *is_passed_on; /* (slices.n) and go to the next rank */
    uint32_t *crcs;     /* (slices.n) of the parameters that have come */
    uint32_t n_new, n_passed_on, n_taken; /* the last: by the next rank */
    uint32_t n_came, n_told;              /* from the rank before; and reported to it */
    uint32_t lowest;                      /* slices before it have been passed on, or are not new */
    size_t *own_offsets;                  /* (slices.n / n_ranks) of this rank's slices in apply's
                                           * parameters */

    uint64_t n_queued; /* slices that were handed to the connection, over all steps */
    uint64_t last_hop; /* n_queued after the last gradient of the step */
};

struct ring {
    struct mailbox box;
    struct exchange_ring_params params;

    /* Used by the communication thread only. */
    uint32_t n_ranks;
    struct meet meet; /* its listener: params.gang.listen_fd */
    struct meet_peer next;
    struct meet_peer *prev;        /* owned; NULL: it has not joined */
    bool ready_came, release_came; /* of the barrier */
    bool ready_sent;
    struct ring_round round;
    uint64_t job_bytes_tx, job_bytes_rx;
};

/* ---- ring_peer.c: connections. Faults go to r->meet.fault. ---- */
void ring_peers_init(struct ring *r, const struct net_addr *next);
void ring_peers_done(struct ring *r);
bool ring_all_joined(const struct ring *r);
/* Dials, or reads what has come if `is_readable`. */
int ring_next_turn(struct ring *r, bool is_readable, struct err *err);
int ring_prev_turn(struct ring *r, bool is_readable, struct err *err);
/* Strangers, and the rank before until it has joined; `fds` is what meet_poll has returned. */
int ring_guests_turn(struct ring *r, const struct pollfd *fds, struct err *err);
/* Sends heartbeats and checks for silent neighbours. */
int ring_check_life(struct ring *r, struct err *err);
/* Connections to neighbours that are open: at most two. */
size_t ring_conns(struct ring *r, struct conn *ret[static 2]);

/* ---- ring_round.c: steps ---- */
void ring_round_init(struct ring *r);
void ring_round_done(struct ring *r);
/* Where the payload of a frame of the rank before goes; NULL and *err to reject it. */
void *ring_round_place(struct ring *r, const struct frame *f, struct err *err);
/* Before this rank waits at the barrier: -EPROTO if the rank before has begun
 * the next step already. */
int ring_round_check_barrier(const struct ring *r, struct err *err);
/* The first n bytes of the gradient that arrives are there. */
void ring_round_part(struct ring *r, const struct frame *f, size_t n);
/* The gradient or the parameters are complete. -EPROTO: they are not those that are expected. */
int ring_round_arrived(struct ring *r, const struct frame *f, struct err *err);
/* CREDIT or TAKEN of the next rank. */
int ring_round_told(struct ring *r, const struct frame *f, struct err *err);
/* Adds, applies, and queues what may go; at most a few slices at a time. */
void ring_round_advance(struct ring *r);
/* Grants credit to the rank before. */
void ring_round_tell(struct ring *r);
/* True if the step has ended: everything is here, and with the kernel. The next one may begin. */
bool ring_round_is_done(const struct ring *r);
void ring_round_next(struct ring *r);
/* True if the rank before, or the next one, has nothing more to do with this rank in this step. */
bool ring_round_has_all_of_prev(const struct ring *r);
bool ring_round_has_sent_all(const struct ring *r);
