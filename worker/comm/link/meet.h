/* How two processes of a gang meet: one dials, the other accepts, and both prove the secret
 * (handshake.h). Trainers, servers and workers of a ring meet this way; who may join is theirs to
 * decide (meet_host). Strangers (wrong secret, another run or attempt, garbage, a second process of
 * a name) change nothing. For the thread that owns the connections.
 *
 *     dials                                        accepts
 *     meet_dial                -- HELLO     -->    meet_guests_turn
 *     meet_on_challenge        <- CHALLENGE --
 *                              -- PROOF     -->
 *                              <- WELCOME, or ABORT: the name is taken */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/link/fault.h"
#include "worker/comm/link/net.h"

/* The states of a connection to another process.
 *
 *     DIAL ---------> HANDSHAKE ---------> JOINED ---------> GONE
 *       ^  meet_dial      |  WELCOME              GOODBYE
 *       +---- closed -----+  (a guest: meet_guests_turn) */
enum meet_state { MEET_DIAL, MEET_HANDSHAKE, MEET_JOINED, MEET_GONE };

struct meet_peer {
    struct conn conn; /* first: meet_peer_of */
    enum meet_state state;
    struct frame_id id;         /* the process that it must be, or that a guest has proved to be */
    struct handshake handshake; /* the dialling process has the trainer's side */
    struct dial dial;           /* used if this process dials the peer */
    int64_t joins_by_ns;        /* the time limit of a guest's handshake */
    bool is_refused;            /* this guest gets the reason, closes, and never joins */
    uint32_t number;            /* the number in the WELCOME of a guest, from 0 */
};

/* For handlers of frames. */
static inline struct meet_peer *meet_peer_of(struct conn *c)
{
    return (struct meet_peer *)c;
}

/* This many strangers may be connected at a time; others are closed again. */
#define MEET_STRANGERS 64
#define MEET_HANDSHAKE_NS INT64_C(10000000000)
/* A message may end with the claimed name of the last rejected connection, and the reason. */
#define MEET_REJECTED_SIZE 240

/* Who a process is, and how it meets the others of its gang. */
struct meet_params {
    struct frame_id self;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* the settings that all must have */
    uint8_t secret[AUTH_SECRET_SIZE];
    int listen_fd;         /* -1 if it accepts no one. The callee owns it, also after a failure */
    int64_t rendezvous_ns; /* the time limit for all to be connected */
    int64_t silence_ns;    /* after it a peer is lost; 0 means HEARTBEAT_SILENCE_NS */
    int64_t handshake_ns;  /* the time limit of a guest; 0 means MEET_HANDSHAKE_NS */
};

/* A process among the others of its gang. */
struct meet {
    struct meet_params params;
    struct heartbeat_self life;
    int64_t now_ns; /* the time of this turn */
    int64_t rendezvous_by_ns;
    struct fault fault; /* the first that this process has met */
    /* The payload of the ABORT that reported the fault, which a process that relays sends on. Its
     * length is 0 if this process met the fault itself, or does not relay. */
    bool relays;
    uint8_t relayed[FRAME_SMALL_PAYLOAD];
    size_t relayed_len;

    /* The rest is used by a process that accepts. */
    struct net_listener listener;
    VEC(struct meet_peer *) guests;    /* connections that have not joined; owned */
    bool has_all;                      /* all have joined; the owner of this struct sets it */
    char rejected[MEET_REJECTED_SIZE]; /* "" if no connection was rejected */
};
void meet_init(struct meet *m, const struct meet_params *params);
/* Begins the rendezvous. */
void meet_begin(struct meet *m);
/* Closes the connections of guests. */
void meet_done(struct meet *m);

/* ---- life and faults ---- */

/* Call it once in each turn. Returns -ETIMEDOUT if this process did not run for so long that its
 * peers have given it up. */
int meet_check_self(struct meet *m, struct err *err);
/* Call it before a peer is blamed for r. Returns true if this process was stopped itself. */
bool meet_were_away(struct meet *m, int r, struct err *err);
/* Puts the peer's name into the text, with its address unless that is NULL, and into the fault,
 * unless one is known. Returns r. */
int meet_blame(struct meet *m, const struct frame_id *peer, const char *addr, int r,
               struct err *err);
/* Calls conn_beat, and blames a silent peer. Call it only after the handshake. */
int meet_beat(struct meet *m, struct conn *c, const char *addr, struct err *err);
/* Ends connections (conn_farewell), without waiting for the peer that has caused the fault. */
void meet_farewell(const struct meet *m, struct conn **conns, size_t n, int64_t limit_ns);
/* Says goodbye to these peers, and ends the connections. */
void meet_goodbye(const struct meet *m, struct conn **conns, size_t n);
/* Handles an ABORT. If is_joining, it may have come in place of WELCOME and refuse this process,
 * which is exit 12. Returns -ECANCELED with the fault as text, or -EPROTO. */
int meet_on_abort(struct meet *m, bool is_joining, const struct frame *f, const uint8_t *payload,
                  struct err *err);
/* Reports the fault to these peers, in place of what is queued. */
void meet_send_fault(const struct meet *m, struct conn *const *conns, size_t n);
#define MEET_FAREWELL_NS INT64_C(1000000000) /* the wait after that */

/* ---- the time limit ---- */

/* Collects the processes that have not come, and the names of the first few. Begin with zeros. */
struct meet_absent {
    struct meet_names {
        struct buf list;
        uint32_t n;
    } dialled, awaited;
    struct frame_id first, last;
};
bool meet_is_due(const struct meet *m);
/* Call it for each missing process, in order. `dial` is NULL if that process must dial. */
void meet_absent_add(struct meet_absent *a, const struct frame_id *id, const struct dial *dial);
/* Blames the first process that was added, names all, and returns -ETIMEDOUT; 0 if none was added.
 * Frees the list. */
int meet_absent_check(struct meet *m, struct meet_absent *a, struct err *err);

/* ---- who dials ---- */

/* Prepares a peer, which this process dials at `addr` unless that is NULL. */
void meet_peer_init(const struct meet *m, struct meet_peer *p, enum role role, uint32_t index,
                    const struct net_addr *addr);
void meet_peer_done(struct meet_peer *p);
/* Call it in MEET_DIAL. Returns 1 if it is connected, HELLO is queued and the handshake begins,
 * and 0 if it is not connected yet. */
int meet_dial(struct meet *m, struct meet_peer *p, struct err *err);
/* Dials again: the peer is starting or ending, or its name has moved to another process. */
void meet_dial_anew(const struct meet *m, struct meet_peer *p, const char *why);
/* Dials anew if the peer has said nothing for DIAL_ANSWER_NS. */
bool meet_dial_silent(const struct meet *m, struct meet_peer *p);
/* Handles the first frame, which must be CHALLENGE: proves the secret too, and secures the
 * connection. Returns -EPROTO if the peer is not p->id, or belongs to another run. */
int meet_on_challenge(const struct meet *m, struct meet_peer *p, const struct frame *f,
                      const uint8_t *payload, struct err *err);

/* ---- who accepts ---- */

struct meet_host {
    /* Decides about a guest that has proved the secret. Returns n > 0 if it may join as the n-th
     * connection of its name, 0 if its name is taken or this process ends, and -EPROTO if it does
     * not fit together with this process. */
    int (*admit)(void *ctx, const struct frame_id *id, struct err *err);
    /* Takes a guest that has joined, to which WELCOME is on its way. */
    void (*welcome)(void *ctx, struct meet_peer *guest);
    void *ctx;
};
/* Writes what to poll, and returns how many they are: 1 + guests.len. */
size_t meet_poll(const struct meet *m, struct pollfd *ret);
/* Reads what the guests have sent, and accepts new ones. `fds` is what meet_poll has written.
 * Fails if a guest does not fit together with this process before all have joined, or if there is
 * no room for a connection that the rendezvous may need. */
int meet_guests_turn(struct meet *m, const struct meet_host *host, const struct pollfd *fds,
                     struct err *err);
/* Returns the connection of a guest that has joined, and frees the guest. */
struct conn meet_take_conn(struct meet_peer *guest);
