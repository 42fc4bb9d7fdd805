/* See meet.h. */
#include "worker/comm/link/meet.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/log.h"

static void be(struct handshake_side *side, struct handshake *h, const struct frame_id *self,
               const uint8_t *secret, const uint8_t *digest)
{
    memcpy(h->secret, secret, AUTH_SECRET_SIZE);
    side->id = *self;
    memcpy(side->digest, digest, AUTH_DIGEST_SIZE);
}

/* ---- who dials ---- */

void meet_dials(struct handshake *h, const struct frame_id *self,
                const uint8_t secret[static AUTH_SECRET_SIZE],
                const uint8_t digest[static AUTH_DIGEST_SIZE])
{
    be(&h->trainer, h, self, secret, digest);
}

int meet_dial(struct dial *d, struct conn *c, struct handshake *h, int64_t now_ns, struct err *err)
{
    const int fd = dial_step(d, now_ns);
    if (fd < 0) {
        return 0;
    }
    int r = net_tune(fd, err);
    conn_init(c, fd, &h->trainer.id);
    if (r >= 0) {
        r = auth_nonce(h->trainer.nonce, err);
    }
    if (r < 0) {
        return r;
    }
    uint8_t hello[HANDSHAKE_HELLO_SIZE];
    handshake_hello(h, hello);
    conn_send(c, FRAME_HELLO, hello, sizeof(hello));
    return 1;
}

int meet_agree(const struct handshake_side *self, const struct handshake_side *peer,
               const char *differs, struct err *err)
{
    const int r = handshake_agree(self, peer, err);
    return r != -EPROTO || differs == NULL
               ? r
               : err_set(err, EPROTO, "%s differ; give all replicas of a run the same settings",
                         differs);
}

int meet_on_challenge(struct conn *c, struct handshake *h, const struct frame_id *peer,
                      const char *differs, const struct frame *f, const uint8_t *payload,
                      int64_t now_ns, struct err *err)
{
    if (f->type != FRAME_CHALLENGE) {
        return err_set(err, EPROTO, "unexpected %s in the handshake",
                       frame_type_to_string(f->type));
    }
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    int r = handshake_on_challenge(h, f, payload, proof, err);
    if (r < 0) {
        return r;
    }
    conn_send(c, FRAME_PROOF, proof, sizeof(proof));
    /* The proof is sent even if the two sides differ, so that the other side also learns the
     * reason. */
    r = meet_agree(&h->trainer, &h->server, differs, err);
    if (r < 0) {
        return -EPROTO;
    }
    const struct frame_id *id = &h->server.id;
    if (id->role != peer->role || id->index != peer->index) {
        char name[32];
        frame_id_name(id, name);
        return err_set(err, EPROTO, "the process at this address is %s; check --%s-addrs", name,
                       role_to_string(peer->role));
    }
    struct handshake_keys keys;
    handshake_keys(h, &keys);
    conn_secure(c, &keys.from_trainer, &keys.from_server, peer, now_ns);
    return 0;
}

/* ---- who accepts ---- */

int meet_accept(struct net_listener *l, bool is_full, int64_t now_ns, struct err *err)
{
    for (;;) {
        const int fd = net_accept(l, now_ns, err);
        if (fd < 0 || (!is_full && net_tune(fd, err) >= 0)) {
            return fd;
        }
        (void)close(fd); /* it has sent nothing that counts */
    }
}

int meet_accepts(struct conn *c, struct handshake *h, int fd, const struct frame_id *self,
                 const uint8_t secret[static AUTH_SECRET_SIZE],
                 const uint8_t digest[static AUTH_DIGEST_SIZE], struct err *err)
{
    conn_init(c, fd, self);
    be(&h->server, h, self, secret, digest);
    return auth_nonce(h->server.nonce, err);
}

int meet_on_guest(struct conn *c, struct handshake *h, const struct frame *f,
                  const uint8_t *payload, int64_t now_ns, struct err *err)
{
    if (f->type == FRAME_HELLO && f->sequence == 0) {
        uint8_t challenge[HANDSHAKE_CHALLENGE_SIZE];
        handshake_on_hello(h, f, payload, challenge);
        conn_send(c, FRAME_CHALLENGE, challenge, sizeof(challenge));
        return 0;
    }
    if (f->type != FRAME_PROOF || f->sequence != 1) {
        return err_set(err, EPROTO, "unexpected %s in the handshake",
                       frame_type_to_string(f->type));
    }
    const int r = handshake_on_proof(h, f, payload, err);
    if (r < 0) {
        return r;
    }
    struct handshake_keys keys;
    handshake_keys(h, &keys);
    conn_secure(c, &keys.from_server, &keys.from_trainer, &h->trainer.id, now_ns);
    return 1;
}

bool meet_is_of_this_attempt(const struct frame_id *self, const struct frame_id *peer)
{
    return peer->run == self->run && peer->attempt == self->attempt;
}

void meet_note_rejected(const struct handshake *h, const char *why,
                        char ret_rejected[static MEET_REJECTED_SIZE])
{
    char claims[32] = "nothing";
    if (h->trainer.id.run != 0) {
        frame_id_name(&h->trainer.id, claims); /* unproved, but useful to know */
    }
    (void)snprintf(ret_rejected, MEET_REJECTED_SIZE, "%s: %s", claims, why); /* may truncate */
    log_event(LOG_LEVEL_WARN, "connection rejected", "claims", claims, "err", why, NULL);
}

void meet_note_failed(const struct handshake *h, int r, const struct err *err,
                      char ret_rejected[static MEET_REJECTED_SIZE])
{
    /* Who accepts proves the secret first, and who dialled leaves if that proof is wrong, or dials
     * again if it does not come (DIAL_ANSWER_NS). */
    const bool has_left = r == -ECONNRESET && h->trainer.id.run != 0;
    meet_note_rejected(
        h,
        has_left ? "it left during the handshake: it failed, dials again or has a different secret"
                 : err->msg,
        ret_rejected);
}

void meet_refuse(struct conn *c, const struct handshake *h, const struct fault *fault,
                 char ret_rejected[static MEET_REJECTED_SIZE])
{
    const struct frame_id *peer = &h->trainer.id;
    struct fault why = {.exit_code = EXIT_WORKER_PROTOCOL, .has_peer = true, .peer = *peer};
    char name[32];
    frame_id_name(peer, name);
    (void)snprintf(why.message, sizeof(why.message),
                   "another process is %s already; give each %s an index of its own", name,
                   role_to_string(peer->role));
    meet_note_rejected(h, "another process has this name already", ret_rejected);
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    const size_t len = fault_to_abort(fault->exit_code != 0 ? fault : &why, &h->server.id, payload);
    conn_send(c, FRAME_ABORT, payload, len);
}
