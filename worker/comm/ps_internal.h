/* What ps_server.c (who is there) and ps_round.c (what they exchange) share. */
#pragma once

#include "base/vec.h"
#include "worker/comm/conn.h"
#include "worker/comm/ps_server.h"
#include "worker/comm/reduce.h"

struct ps_peer { /* a connection: a stranger until `joined` */
    struct conn conn;
    struct handshake handshake;
    int64_t joins_by_ns; /* a stranger's time limit */
    bool joined, ready, gone;
    uint64_t step;    /* of the gradients that it sends next */
    size_t next;      /* own slice that it sends next */
    float *receiving; /* buffer of the gradient on its way, NULL: none */
};

struct ps_server {
    struct ps_server_params params;
    int listen_fd;
    struct heartbeat_self self;
    int64_t now_ns;
    int64_t rendezvous_by_ns;
    VEC(struct ps_peer *) peers; /* strangers and trainers; owned */
    struct ps_peer **trainers;   /* (n_trainers) NULL: not there yet */
    uint32_t n_joined, n_ready, n_gone;
    char turned_away[192]; /* the last one: whom it claimed to be, and why; "": nobody */

    struct reduce reduce;
    uint32_t n_slices;     /* own */
    size_t *param_offsets; /* (n_slices) into params */
    uint32_t n_complete;   /* own slices of the present round that are done */
    uint64_t round;        /* rounds completed, warm-up too */

    bool measuring;
    int64_t barrier_ns, round_began_ns;
    uint64_t barrier_bytes_tx, barrier_bytes_rx;
    VEC(int64_t) round_ns;
    struct ps_server_stats stats;
    struct fault fault;
};

void ps_round_init(struct ps_server *s);
void ps_round_done(struct ps_server *s);
/* Frame handlers of a trainer's connection, for conn_pump_rx. `peer` is the sender. */
void *ps_round_place(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                     struct err *err);
int ps_round_gradient(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                      struct err *err);
/* -EPROTO, and the fault: someone said goodbye while others have begun a round. */
int ps_round_check_left(struct ps_server *s, struct err *err);
int ps_round_ready(struct ps_server *s, struct ps_peer *peer, struct err *err);
/* Bytes of all trainers' connections since they began. */
void ps_round_bytes(const struct ps_server *s, uint64_t *ret_tx, uint64_t *ret_rx);
