/* The handshake: both sides prove that they know the run's secret, over fresh nonces. Sans-I/O.
 *
 *     trainer                                server
 *     HELLO     nonce_t, digest_t      ->
 *                                      <-    CHALLENGE  nonce_s, digest_s, tag_s
 *     PROOF     tag_t                  ->
 *                                      <-    WELCOME, or ABORT with the reason; both with a MAC
 *
 * Tags and the two session keys (one per direction) are HMACs over everything that was sent, so a
 * recorded handshake cannot be replayed. Run, attempt and configuration are compared only after
 * both sides have proved the secret (handshake_agree), so a stranger learns nothing and can break
 * nothing. */
#pragma once

#include "worker/comm/link/frame.h"

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

/* The digest of what all replicas of a trial must agree on. */
struct exchange_mode;
struct slices;
void handshake_digest(const char *model, uint64_t seed, const struct exchange_mode *mode,
                      enum exchange_wire wire, uint32_t n_trainers, const struct slices *slices,
                      uint8_t ret[static AUTH_DIGEST_SIZE]);

/* The trainer's side. The caller fills h->secret and h->trainer, with a fresh nonce. */
void handshake_hello(const struct handshake *h, uint8_t ret[static HANDSHAKE_HELLO_SIZE]);
/* -EPROTO: the server does not know the secret. */
int handshake_on_challenge(struct handshake *h, const struct frame *f, const uint8_t *payload,
                           uint8_t ret_proof[static HANDSHAKE_PROOF_SIZE], struct err *err);

/* The server's side. The caller fills h->secret and h->server, with a fresh nonce. */
void handshake_on_hello(struct handshake *h, const struct frame *f, const uint8_t *payload,
                        uint8_t ret_challenge[static HANDSHAKE_CHALLENGE_SIZE]);
/* -EPROTO: the trainer does not know the secret, or PROOF is not from the sender of HELLO. */
int handshake_on_proof(const struct handshake *h, const struct frame *f, const uint8_t *payload,
                       struct err *err);

/* Compares run, attempt and digest, after the proofs. `peer` and `self` are the two sides of h.
 * -ESTALE: another run or attempt (a stale process, not a fault of this run); -EPROTO: another
 * configuration. */
int handshake_agree(const struct handshake_side *self, const struct handshake_side *peer,
                    struct err *err);
void handshake_keys(const struct handshake *h, struct handshake_keys *ret);
