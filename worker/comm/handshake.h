/* Who is there: mutual proof of the run's secret over fresh nonces of both sides. Sans-I/O.
 *
 *     trainer                                server
 *     HELLO     nonce_t, digest_t      ->
 *                                      <-    CHALLENGE  nonce_s, digest_s, tag_s
 *     PROOF     tag_t                  ->
 *                                      <-    WELCOME, or ABORT with the reason; both under the keys
 *
 * Tags and the two session keys (one a direction) are HMACs over everything that was said, so a
 * recorded handshake is worth nothing later. Only after both have proved the secret are run, attempt
 * and configuration compared (handshake_agree): a stranger learns nothing and can break nothing. */
#pragma once

#include "worker/comm/frame.h"

#define HANDSHAKE_HELLO_SIZE 64
#define HANDSHAKE_CHALLENGE_SIZE 96
#define HANDSHAKE_PROOF_SIZE 32

struct handshake_side {
    struct frame_id id;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* of model, seed, counts: what both must agree on */
    uint8_t nonce[AUTH_NONCE_SIZE];
};

struct handshake {
    uint8_t secret[AUTH_SECRET_SIZE];
    struct handshake_side trainer, server;
};

struct handshake_keys {
    struct auth_key from_trainer, from_server;
};

/* What all replicas of a trial must agree on, in one number. */
struct slices;
void handshake_digest(const char *model, uint64_t seed, uint32_t n_trainers,
                      const struct slices *slices, uint8_t ret[static AUTH_DIGEST_SIZE]);

/* The trainer's side: self in h->trainer, with a fresh nonce. */
void handshake_hello(const struct handshake *h, uint8_t ret[static HANDSHAKE_HELLO_SIZE]);
/* -EPROTO: the server does not know the secret. */
int handshake_on_challenge(struct handshake *h, const struct frame *f, const uint8_t *payload,
                           uint8_t ret_proof[static HANDSHAKE_PROOF_SIZE], struct err *err);

/* The server's side: self in h->server, with a fresh nonce. */
void handshake_on_hello(struct handshake *h, const struct frame *f, const uint8_t *payload,
                        uint8_t ret_challenge[static HANDSHAKE_CHALLENGE_SIZE]);
/* -EPROTO: the trainer does not know the secret, or the frame is not from the one who said HELLO. */
int handshake_on_proof(const struct handshake *h, const struct frame *f, const uint8_t *payload,
                       struct err *err);

/* After the proofs: run, attempt and digest. `peer` and `self` are the two sides of h. -ESTALE:
 * another run or attempt (a stale process, not our gang's fault); -EPROTO: another configuration. */
int handshake_agree(const struct handshake_side *self, const struct handshake_side *peer,
                    struct err *err);
void handshake_keys(const struct handshake *h, struct handshake_keys *ret);
