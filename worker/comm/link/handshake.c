/* The handshake, see handshake.h and docs/contracts/frame.md. */
#include "worker/comm/link/handshake.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "core/exchange_kind.h"
#include "exchange/slices.h"
#include "worker/comm/link/little_endian.h"

static const char label[] = "benchd-frame-4";

/* side: run 8, attempt 4, role 1, index 4, nonce, digest */
#define ID_SIZE 17
#define SIDE_SIZE (ID_SIZE + AUTH_NONCE_SIZE + AUTH_DIGEST_SIZE)
#define TRANSCRIPT_SIZE (1 + sizeof(label) - 1 + 2 * SIDE_SIZE)

static void put_claim(const struct handshake_side *side, uint8_t *ret)
{
    memcpy(ret, side->nonce, AUTH_NONCE_SIZE);
    memcpy(ret + AUTH_NONCE_SIZE, side->digest, AUTH_DIGEST_SIZE);
}

static uint8_t *put_side(uint8_t *at, const struct handshake_side *side)
{
    put64(at, side->id.run);
    put32(at + 8, side->id.attempt);
    at[12] = (uint8_t)side->id.role;
    put32(at + 13, side->id.index);
    put_claim(side, at + ID_SIZE);
    return at + SIDE_SIZE;
}

/* HMAC(secret, purpose || label || trainer's side || server's side). */
static void derive(const struct handshake *h, char purpose, uint8_t ret[AUTH_TAG_SIZE])
{
    uint8_t transcript[TRANSCRIPT_SIZE];
    transcript[0] = (uint8_t)purpose;
    memcpy(transcript + 1, label, sizeof(label) - 1);
    uint8_t *at = put_side(transcript + sizeof(label), &h->trainer);
    (void)put_side(at, &h->server); /* ends the transcript */
    auth_hmac(h->secret, sizeof(h->secret), transcript, sizeof(transcript), ret);
}

static void take_side(struct handshake_side *side, const struct frame *f, const uint8_t *payload)
{
    side->id = f->from;
    memcpy(side->nonce, payload, AUTH_NONCE_SIZE);
    memcpy(side->digest, payload + AUTH_NONCE_SIZE, AUTH_DIGEST_SIZE);
}

void handshake_digest(const char *model, uint64_t seed, const struct exchange_mode *mode,
                      enum exchange_wire wire, uint32_t n_trainers, const struct slices *slices,
                      uint8_t ret[static AUTH_DIGEST_SIZE])
{
    char mode_text[EXCHANGE_MODE_TEXT_MAX];
    exchange_mode_text(mode, mode_text);
    _cleanup_(freep) char *text =
        xasprintf("PServer %s %s model=%s seed=%" PRIu64 " params=%zu trainers=%" PRIu32
                  " pservers=%" PRIu32 " threads=%" PRIu32 " slices=%" PRIu32,
                  mode_text, exchange_wire_names[wire], model, seed, slices->n_params, n_trainers,
                  slices->n_servers, slices->n_threads, slices->n);
    auth_sha256(text, strlen(text), ret);
}

void handshake_hello(const struct handshake *h, uint8_t ret[static HANDSHAKE_HELLO_SIZE])
{
    put_claim(&h->trainer, ret);
}

int handshake_on_challenge(struct handshake *h, const struct frame *f, const uint8_t *payload,
                           uint8_t ret_proof[static HANDSHAKE_PROOF_SIZE], struct err *err)
{
    take_side(&h->server, f, payload);
    uint8_t tag[AUTH_TAG_SIZE];
    derive(h, 'S', tag);
    if (!auth_equal(tag, payload + AUTH_NONCE_SIZE + AUTH_DIGEST_SIZE, sizeof(tag))) {
        return err_set(err, EPROTO, "it does not know this run's secret");
    }
    derive(h, 'T', ret_proof);
    return 0;
}

void handshake_on_hello(struct handshake *h, const struct frame *f, const uint8_t *payload,
                        uint8_t ret_challenge[static HANDSHAKE_CHALLENGE_SIZE])
{
    take_side(&h->trainer, f, payload);
    put_claim(&h->server, ret_challenge);
    derive(h, 'S', ret_challenge + AUTH_NONCE_SIZE + AUTH_DIGEST_SIZE);
}

int handshake_on_proof(const struct handshake *h, const struct frame *f, const uint8_t *payload,
                       struct err *err)
{
    const struct frame_id *said = &h->trainer.id;
    uint8_t tag[AUTH_TAG_SIZE];
    derive(h, 'T', tag);
    if (!auth_equal(tag, payload, sizeof(tag))) {
        return err_set(err, EPROTO, "it does not know this run's secret");
    }
    if (f->from.run != said->run || f->from.attempt != said->attempt ||
        f->from.role != said->role || f->from.index != said->index) {
        return err_set(err, EPROTO, "it changed its identity during the handshake");
    }
    return 0;
}

int handshake_agree(const struct handshake_side *self, const struct handshake_side *peer,
                    struct err *err)
{
    if (peer->id.run != self->id.run) {
        return err_set(err, ESTALE, "it belongs to another run, point or trial");
    }
    if (peer->id.attempt != self->id.attempt) {
        return err_set(err, ESTALE, "it belongs to attempt %" PRIu32 ", this is attempt %" PRIu32,
                       peer->id.attempt, self->id.attempt);
    }
    if (memcmp(peer->digest, self->digest, AUTH_DIGEST_SIZE) != 0) {
        return err_set(err, EPROTO,
                       "its model, seed, wire, mode or numbers of replicas or of server "
                       "threads differ; give all replicas of a run the same settings");
    }
    return 0;
}

void handshake_keys(const struct handshake *h, struct handshake_keys *ret)
{
    derive(h, 't', ret->from_trainer.bytes);
    derive(h, 's', ret->from_server.bytes);
}
