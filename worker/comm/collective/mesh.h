/* A connection between any two ranks of a collective, over TCP, used by one thread. Shared
 * by collective_mesh.c (calls), mesh_connect.c (rendezvous), mesh_transfer.c and
 * mesh_incoming.c (data), mesh_share.c and mesh_shm.c (data through shared memory), mesh.c
 * (control frames, life, faults).
 *
 * A rank dials those before it, and listens for those after it. Every frame has a MAC, every
 * payload a CRC; the handshake is that of the ring (docs/contracts/frame.md). Each rank has a
 * connection to every other, so the rank that meets a fault reports it to all others itself.
 *
 * While a transfer waits for a peer, the thread polls that peer alone. The others are looked at
 * once in MESH_TICK_MS: their control frames are read, and numbers of a later call are left in the
 * socket until this rank makes that call. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "worker/comm/collective/collective.h"
#include "worker/comm/link/meet.h"
#include "worker/comm/collective/mesh_share.h"

/* Numbers of one frame: the second-level cache holds them while they arrive, are added to and are
 * sent on. Half or twice the number cost more CPU time per byte. */
#define MESH_CHUNK_BYTES ((size_t)512 << 10)
#define MESH_TICK_MS 100

/* What comes from one peer in a step: chunks of `n` floats from `at` on. */
struct mesh_incoming {
    struct meet_peer *peer; /* NULL: nothing comes */
    enum frame_type type;
    float *to;        /* (n) where the result is */
    const float *add; /* (n) is added; may be `to`. NULL: nothing is */
    float *landing;   /* where frames land: `to`, or a buffer of one chunk, or of all */
    bool lands_in_chunk, adds_late;
    bool is_passed_on; /* the next step sends the result, as one frame */
    size_t at, n;      /* of the message, for the headers */
    size_t n_done;     /* in whole chunks */
    size_t n_added;    /* of the chunk that arrives */
    uint32_t n_frames;
    uint32_t crc; /* of the result, if it is passed on: taken while the cache holds it, as it was */
};

struct mesh {
    struct collective base;
    struct collective_params params; /* `addrs` is not kept */
    struct meet meet;                /* its listener: params.gang.listen_fd */
    struct meet_peer *peers;         /* (n_ranks) that of this rank is not used */
    uint32_t n_joined;
    uint64_t step;  /* segments, or rounds (mesh_shm.h), before this one, of all calls */
    size_t message; /* floats of the whole message, of which this segment is one */
    struct mesh_share share;
    struct mesh_incoming incoming;
    float *landing; /* (landing_floats) owned */
    size_t landing_floats;
    int64_t beat_ns;
    bool ended;
};

static inline uint32_t mesh_self(const struct mesh *m)
{
    return m->params.gang.self.index;
}
/* How many of the next n floats come in one frame. */
static inline size_t mesh_chunk(size_t n)
{
    const size_t most = MESH_CHUNK_BYTES / sizeof(float);
    return n < most ? n : most;
}

/* ---- mesh_connect.c ---- */
/* Of params: `meet` and the peers. */
void mesh_peers_init(struct mesh *m, const struct net_addr *addrs);
void mesh_peers_done(struct mesh *m);
/* Returns when all ranks are connected. */
int mesh_connect(struct mesh *m, struct err *err);
/* Ranks that connect late must learn the cause too: they would blame this one, which has gone. */
void mesh_tell_late_comers(struct mesh *m);

/* ---- mesh.c: faults go to m->meet.fault ---- */
/* Reads what has come from a peer, at most about `budget` bytes. Numbers are taken if m->incoming
 * wants them of it, else they stay in the socket. */
int mesh_read(struct mesh *m, struct meet_peer *p, size_t budget, struct err *err);
/* -EPROTO, with blame, if p has said goodbye: it takes no part in another call. */
int mesh_check_gone(struct mesh *m, const struct meet_peer *p, struct err *err);
/* A frame of a peer that has joined. 1: the last number that is wanted of it has come. */
int mesh_on_frame(void *mesh, struct conn *c, const struct frame *f, const uint8_t *payload,
                  struct err *err);
/* Once in MESH_TICK_MS at least: heartbeats, control frames of all peers, and a check for silent
 * ones. Answers who asks for shared memory. */
int mesh_beat(struct mesh *m, struct err *err);
/* Reports the fault to all peers, with e as the reason if none exists yet,
 * and closes everything. */
void mesh_fail(struct mesh *m, int e, struct err *err);
/* The first half of it: for the peers that are connected now. */
void mesh_tell_fault(struct mesh *m);
/* Says goodbye to all peers, and closes everything. */
void mesh_goodbye(struct mesh *m);

/* ---- mesh_incoming.c: for conn_handler, of the peer of m->incoming ---- */
void *mesh_place(void *mesh, struct conn *c, const struct frame *f, struct err *err);
void mesh_part(void *mesh, struct conn *c, size_t n_bytes);
/* True if that was the last one. */
bool mesh_arrived(struct mesh *m, const struct frame *f);

/* ---- mesh_transfer.c ---- */
/* A call over TCP: all steps of the plan. */
int mesh_all_reduce(struct mesh *m, const float *from, float *to, size_t n, struct err *err);
