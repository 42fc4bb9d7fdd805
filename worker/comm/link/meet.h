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

/* Of a connection to another process.
 *
 *     DIAL ---------> HANDSHAKE ---------> JOINED ---------> GONE
 *       ^  meet_dial      |  WELCOME              GOODBYE
 *       +---- closed -----+  (a guest: meet_guests_turn) */
enum meet_state { MEET_DIAL, MEET_HANDSHAKE, MEET_JOINED, MEET_GONE };

struct meet_peer {
    struct conn conn; /* first: meet_peer_of */
    enum meet_state state;
    struct frame_id id; /* the process that it must be; of a guest: that it has proved to be */
    struct handshake handshake; /* who dials has the trainer's side */
    struct dial dial;           /* of a process that is dialled only */
    int64_t joins_by_ns;        /* of a guest: the time limit of the handshake */
    bool is_refused;            /* it learns the reason and closes; it never joins */
    uint32_t number;            /* of a guest that has joined: what WELCOME says, from 0 */
};

/* For handlers of frames. */
static inline struct meet_peer *meet_peer_of(struct conn *c)
{
    return (struct meet_peer *)c;
}

/* Strangers at a time: more are closed again. */
#define MEET_STRANGERS 64
#define MEET_HANDSHAKE_NS INT64_C(10000000000)
#define MEET_LATE "the handshake took too long"
/* The last connection that was rejected: claimed name and reason, as messages end with it. */
#define MEET_REJECTED_SIZE 240

/* Who a process is, and how it meets the others of its gang. */
struct meet_params {
    struct frame_id self;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* of what all must agree on */
    uint8_t secret[AUTH_SECRET_SIZE];
    int listen_fd; /* -1: it does not accept. Whoever gets these takes it over, failing or not */
    int64_t rendezvous_ns; /* the time limit for all to be connected */
    int64_t silence_ns;    /* of a peer that is lost; 0: HEARTBEAT_SILENCE_NS */
};

/* A process among the others of its gang. */
struct meet {
    struct meet_params params;
    struct heartbeat_self life;
    int64_t now_ns; /* of this turn */
    int64_t rendezvous_by_ns;
    struct fault fault; /* the first that this process has met */
    /* The ABORT that reported it, to be passed on in the words of the process that met it; length
     * 0: the fault was met here, or this process does not relay. */
    bool relays;
    uint8_t relayed[FRAME_SMALL_PAYLOAD];
    size_t relayed_len;

    /* Of a process that accepts: */
    struct net_listener listener;
    int64_t handshake_ns;              /* the time limit of a guest, */
    const char *late;                  /* and the reason of one that is rejected at it */
    VEC(struct meet_peer *) guests;    /* those that have not joined; owned */
    bool has_all;                      /* that may join; set by the owner of this */
    char rejected[MEET_REJECTED_SIZE]; /* "": none */
};
/* The limits of guests are those above. */
void meet_init(struct meet *m, const struct meet_params *params);
/* The rendezvous begins. */
void meet_begin(struct meet *m);
/* Closes the connections of guests. */
void meet_done(struct meet *m);

/* ---- life and faults ---- */

/* -ETIMEDOUT: this process did not run for so long that its peers have given it up. Call it once in
 * each turn. */
int meet_check_self(struct meet *m, struct err *err);
/* Call it before a peer is blamed for r: true if this process was stopped itself. */
bool meet_were_away(struct meet *m, int r, struct err *err);
/* Puts the peer's name into the text, with its address unless that is NULL, and into the fault,
 * unless one is known. Returns r. */
int meet_blame(struct meet *m, const struct frame_id *peer, const char *addr, int r,
               struct err *err);
/* conn_beat, with blame; not before the handshake is done. */
int meet_beat(struct meet *m, struct conn *c, const char *addr, struct err *err);
/* Ends connections (conn_farewell). There is no wait for the peer that has caused the fault. */
void meet_farewell(const struct meet *m, struct conn **conns, size_t n, int64_t limit_ns);
/* Says goodbye to these peers, and ends the connections. */
void meet_goodbye(const struct meet *m, struct conn **conns, size_t n);
/* ABORT has come. is_joining: perhaps in place of WELCOME, and then it may say that this process
 * must not join, which is exit 12. Returns -ECANCELED with the fault as text, or -EPROTO. */
int meet_on_abort(struct meet *m, bool is_joining, const struct frame *f, const uint8_t *payload,
                  struct err *err);
/* Reports the fault to these peers, in place of what is queued. */
void meet_send_fault(const struct meet *m, struct conn *const *conns, size_t n);
#define MEET_FAREWELL_NS INT64_C(1000000000) /* after it */

/* ---- the time limit ---- */

/* Those that have not come: names, of which the first few are kept. Zeros: none. */
struct meet_absent {
    struct meet_names {
        struct buf list;
        uint32_t n;
    } dialled, awaited;
    struct frame_id first, last;
};
bool meet_is_due(const struct meet *m);
/* Once for each that is missing, in order; `dial`: this process dials it. NULL: it must dial. */
void meet_absent_add(struct meet_absent *a, const struct frame_id *id, const struct dial *dial);
/* -ETIMEDOUT if any was added: blames the first, and names all. Frees the list. */
int meet_absent_check(struct meet *m, struct meet_absent *a, struct err *err);

/* ---- who dials ---- */

/* A process that this one dials at `addr`; NULL: it is not dialled. */
void meet_peer_init(const struct meet *m, struct meet_peer *p, enum role role, uint32_t index,
                    const struct net_addr *addr);
void meet_peer_done(struct meet_peer *p);
/* In MEET_DIAL. 1: connected, HELLO is queued, and the handshake begins; 0: not yet. */
int meet_dial(struct meet *m, struct meet_peer *p, struct err *err);
/* The peer is starting, ending, or not what the name means any more. */
void meet_dial_anew(const struct meet *m, struct meet_peer *p, const char *why);
/* Dials anew if the peer has said nothing for DIAL_ANSWER_NS. */
bool meet_dial_silent(const struct meet *m, struct meet_peer *p);
/* The first frame, which must be CHALLENGE: proves the secret too, and secures the connection.
 * -EPROTO: it is not p->id, or not of this run. */
int meet_on_challenge(const struct meet *m, struct meet_peer *p, const struct frame *f,
                      const uint8_t *payload, struct err *err);

/* ---- who accepts ---- */

struct meet_host {
    /* The guest has proved the secret. 1: it may join, 2: as the second connection of its name, and
     * so on; 0: its name is taken, or this process ends; -EPROTO: it does not fit together with
     * this process. */
    int (*admit)(void *ctx, const struct frame_id *id, struct err *err);
    /* It has joined: WELCOME is on its way, and the guest is the host's. */
    void (*welcome)(void *ctx, struct meet_peer *guest);
    void *ctx;
};
/* What to poll: 1 + guests.len. Returns how many. */
size_t meet_poll(const struct meet *m, struct pollfd *ret);
/* Reads what the guests have sent, and accepts new ones. `fds` is what meet_poll has returned. Less
 * than 0: a guest does not fit together with this process, before all have joined; or there is no
 * room for a connection that the rendezvous may need. */
int meet_guests_turn(struct meet *m, const struct meet_host *host, const struct pollfd *fds,
                     struct err *err);
/* The connection of a guest that has joined. Frees the guest. */
struct conn meet_take_conn(struct meet_peer *guest);
