/* How two processes of a gang meet: one dials, the other accepts, and both prove the secret
 * (handshake.h). Trainers, servers, the ring and the mesh meet this way; who may join is theirs to
 * decide. Strangers (wrong secret, another run or attempt, garbage) change nothing. For the thread
 * that owns the connections.
 *
 *     dials                                        accepts
 *     meet_dials, meet_dial    -- HELLO     -->    meet_accept, meet_accepts, meet_on_guest
 *     meet_on_challenge        <- CHALLENGE --
 *                              -- PROOF     -->    meet_on_guest: 1
 *                              <- WELCOME, or ABORT of meet_refuse */
#pragma once

#include "worker/comm/link/conn.h"
#include "worker/comm/link/fault.h"
#include "worker/comm/link/net.h"

/* ---- who dials ---- */

void meet_dials(struct handshake *h, const struct frame_id *self,
                const uint8_t secret[static AUTH_SECRET_SIZE],
                const uint8_t digest[static AUTH_DIGEST_SIZE]);
/* 1: connected, and HELLO is queued; 0: not yet. */
int meet_dial(struct dial *d, struct conn *c, struct handshake *h, int64_t now_ns, struct err *err);
/* The first frame, which must be CHALLENGE: proves the secret too, and secures the connection.
 * -EPROTO: it is not `peer`, or not of this run. `differs` is what is wrong with another digest;
 * NULL: as handshake_agree says it. */
int meet_on_challenge(struct conn *c, struct handshake *h, const struct frame_id *peer,
                      const char *differs, const struct frame *f, const uint8_t *payload,
                      int64_t now_ns, struct err *err);
/* handshake_agree in these words. */
int meet_agree(const struct handshake_side *self, const struct handshake_side *peer,
               const char *differs, struct err *err);

/* ---- who accepts ---- */

/* Strangers at a time: more are closed again. */
#define MEET_STRANGERS 64
/* The last connection that was rejected: claimed name and reason; "": none. */
#define MEET_REJECTED_SIZE 192

/* A tuned connection, or as net_accept. With `is_full` it is closed, and those after it too: a
 * flood; a process of the gang dials again. */
int meet_accept(struct net_listener *l, bool is_full, int64_t now_ns, struct err *err);
/* Takes ownership of fd. */
int meet_accepts(struct conn *c, struct handshake *h, int fd, const struct frame_id *self,
                 const uint8_t secret[static AUTH_SECRET_SIZE],
                 const uint8_t digest[static AUTH_DIGEST_SIZE], struct err *err);
/* A frame before the end of the handshake. 1: the peer has proved the secret, the connection is
 * secured, and h->trainer.id is who it is; 0: go on. */
int meet_on_guest(struct conn *c, struct handshake *h, const struct frame *f,
                  const uint8_t *payload, int64_t now_ns, struct err *err);
bool meet_is_of_this_attempt(const struct frame_id *self, const struct frame_id *peer);
/* Sends ABORT in place of WELCOME: the peer's name is taken. It then stops and blames itself, where
 * a closed connection would make it connect again. After a fault, the reason is that fault. */
void meet_refuse(struct conn *c, const struct handshake *h, const struct fault *fault,
                 char ret_rejected[static MEET_REJECTED_SIZE]);
/* Logs it, too. */
void meet_note_rejected(const struct handshake *h, const char *why,
                        char ret_rejected[static MEET_REJECTED_SIZE]);
/* The handshake failed with r. */
void meet_note_failed(const struct handshake *h, int r, const struct err *err,
                      char ret_rejected[static MEET_REJECTED_SIZE]);
