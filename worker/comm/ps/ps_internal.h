/* Shared by the files of the server's side: ps_server.c (the loop and the connections) and
 * ps_round.c (the rounds). */
#pragma once

#include <pthread.h>

#include "base/vec.h"
#include "exchange/flow.h"
#include "worker/comm/link/meet.h"
#include "worker/comm/link/conn_set.h"
#include "worker/comm/ps/ps_server.h"
#include "worker/comm/ps/ps_single.h"
#include "worker/comm/ps/reduce.h"

struct ps_peer {      /* a trainer that has joined */
    struct conn conn; /* first, for ps_round_place and the like */
    bool ready, gone;
    uint64_t credited; /* slices, over all rounds, that it got credit for */
    uint64_t step;     /* of the next gradient that it sends */
    bool *is_sent;     /* (n_slices) the parameters of the step that it gets; owned */
    size_t next;       /* the next of this server's slices that it sends */
    void *receiving;   /* the buffer of the gradient that is arriving, NULL: none */
};

struct ps_last { /* rounds in which a trainer was the last, see ps_server_stats */
    uint32_t n_rounds;
    int64_t wait_ns;
};

struct ps_server;

struct ps_threads {            /* what the threads of a server share */
    struct ps_server *servers; /* (slices.n_threads) the first one accepts for all */
    uint32_t *n_joined;        /* (n_trainers) connections of a trainer; of the first thread */
    pthread_mutex_t mutex;     /* guards what follows, and `joined` of all threads */
    struct fault fault;        /* the first that one of them has met: it is that of all */
};

struct ps_server { /* one thread */
    struct ps_server_params params;
    struct ps_threads *threads;
    pthread_t thread;
    int wake_fd;                  /* readable when another thread has news for this one */
    VEC(struct ps_peer *) joined; /* trainers that are this thread's from its next turn on */
    uint32_t number;              /* of slices.n_servers */
    size_t first_param;           /* where its slices begin in those of all threads */
    struct meet meet;
    struct ps_peer **trainers; /* (n_trainers) owned; NULL: not connected yet */
    struct conn_set conns;     /* of all trainers that are connected */
    uint32_t n_joined, n_ready, n_gone;

    struct reduce reduce; /* all zero in Async, which has `single` in its place */
    struct ps_single single;
    struct flow up, down;  /* gradients and parameters on their way; a link is a trainer */
    uint32_t n_slices;     /* this server's */
    size_t *param_offsets; /* (n_slices) into params */
    uint16_t
        *narrowed; /* the parameters of the last round in bf16, as they are sent; NULL: in fp32 */
    uint32_t *param_crcs; /* (n_slices) of the parameters of the last round, as they are sent */
    uint32_t n_complete;  /* slices of the current round that are done */
    uint64_t round;       /* completed rounds, including warm-up */

    int64_t arrived_ns;    /* when the last trainer so far was complete in this round */
    uint32_t n_arrived;    /* trainers that are */
    struct ps_last *lasts; /* (n_trainers) owned; of the measured rounds */

    bool measuring;
    int64_t barrier_ns, barrier_cpu_ns, round_began_ns;
    int64_t lap_ns; /* up to where phases are counted */
    uint64_t barrier_bytes_tx, barrier_bytes_rx;
    VEC(int64_t) round_ns;
    struct ps_server_stats stats;      /* of the current phases */
    struct ps_server_stats last_round; /* the same at the end of the last measured round */
};

/* The functions below are defined in ps_round.c; those that count, from
 * ps_round_lap on, in ps_stats.c. */
void ps_round_init(struct ps_server *s);
void ps_round_done(struct ps_server *s);
/* A conn_handler of trainers that have joined. A server that gets -EPROTO blames the sender, unless
 * its meet.fault names another. */
void *ps_round_place(void *server, struct conn *c, const struct frame *f, struct err *err);
void ps_round_part(void *server, struct conn *c, size_t n);
int ps_round_frame(void *server, struct conn *c, const struct frame *f, const uint8_t *payload,
                   struct err *err);
/* Once in a turn: in Async, trainers that are stuck do not hold up the others. */
void ps_round_look(struct ps_server *s);
/* Adds the time since the last call to *phase_ns, one of s->stats. Every moment from the
 * barrier to the end of the last round is counted once. */
void ps_round_lap(struct ps_server *s, int64_t *phase_ns);
/* Trainer t's gradients of the round are complete. Its round is the current one: no trainer offers
 * the next one before it has all parameters of this one. */
void ps_round_note_arrival(struct ps_server *s, uint32_t t);
/* Of all threads, which have ended. */
void ps_round_stats(struct ps_server *threads, uint32_t n, struct ps_server_stats *ret);
/* Bytes of all trainers' connections since they were accepted. */
void ps_round_bytes(const struct ps_server *s, uint64_t *ret_tx, uint64_t *ret_rx);
