/* Fuzzing of what is said before replicas know each other, and of how they say goodbye in
 * anger: the payloads of HELLO, CHALLENGE and PROOF, that of ABORT, and the text of an address.
 * The first byte says which:
 *
 *     H, C, P    an honest handshake, of which that payload was changed on the way: the rest is
 *                what it is xored with
 *     A          the payload of an ABORT
 *     N          an address
 *
 * Holds: a handshake is agreed upon if and only if nothing was changed; an ABORT names a replica
 * that can be, in text that can be printed; an address reads back as itself. */
#include "fuzz.h"

#include "base/parse.h"
#include "worker/comm/link/fault.h"
#include "worker/comm/link/handshake.h"
#include "worker/comm/link/net.h"

struct change {
    char of; /* which payload */
    const uint8_t *with;
    size_t len;
};

/* Returns true if it has changed something. */
static bool apply(const struct change *c, char of, uint8_t *payload, size_t len)
{
    bool has_changed = false;
    for (size_t i = 0; c->of == of && i < len && i < c->len; i++) {
        payload[i] ^= c->with[i];
        has_changed = has_changed || c->with[i] != 0;
    }
    return has_changed;
}

static void shake_hands(const struct change *c)
{
    const struct frame_id trainer = {.run = 7, .role = ROLE_TRAINER, .index = 1};
    const struct frame_id server = {.run = 7, .role = ROLE_PSERVER, .index = 0};
    struct handshake ours = {.secret = {1},
                             .trainer = {.id = trainer, .digest = {2}, .nonce = {3}}};
    struct handshake theirs = {.secret = {1},
                               .server = {.id = server, .digest = {2}, .nonce = {4}}};
    const struct frame from_trainer = {.from = trainer}, from_server = {.from = server};
    uint8_t hello[HANDSHAKE_HELLO_SIZE], challenge[HANDSHAKE_CHALLENGE_SIZE],
        proof[HANDSHAKE_PROOF_SIZE] = {0};
    struct err err = {0};

    handshake_hello(&ours, hello);
    bool has_changed = apply(c, 'H', hello, sizeof(hello));
    handshake_on_hello(&theirs, &from_trainer, hello, challenge);
    has_changed = apply(c, 'C', challenge, sizeof(challenge)) || has_changed;
    bool is_agreed = handshake_on_challenge(&ours, &from_server, challenge, proof, &err) >= 0;
    must(is_agreed || err.msg[0] != '\0', "a refusal without a reason");
    has_changed = apply(c, 'P', proof, sizeof(proof)) || has_changed;
    is_agreed = is_agreed && handshake_on_proof(&theirs, &from_trainer, proof, &err) >= 0 &&
                handshake_agree(&theirs.server, &theirs.trainer, &err) >= 0;
    must(is_agreed == !has_changed, "a changed handshake is agreed upon, or an honest one is not");
    if (is_agreed) {
        struct handshake_keys a, b;
        handshake_keys(&ours, &a);
        handshake_keys(&theirs, &b);
        must(memcmp(&a, &b, sizeof(a)) == 0, "both sides have other keys");
    }
}

static void read_abort(const uint8_t *payload, size_t len)
{
    const struct frame_id self = {.run = 7, .role = ROLE_WORKER, .index = 2};
    const struct frame f = {.from = {.run = 7, .role = ROLE_WORKER, .index = 1},
                            .payload_len = (uint32_t)len};
    struct fault fault = {0};
    struct err err;
    if (fault_from_abort(&fault, &f, payload, &self, &err) < 0) {
        must(fault.exit_code == 0, "a refused ABORT is a fault");
        return;
    }
    must(fault.has_peer && fault.peer.role < ROLE_COUNT && fault.peer.index <= FRAME_MAX_INDEX,
         "it names nobody who can be");
    must(strlen(fault.message) < sizeof(fault.message), "a text without an end");
    for (const char *p = fault.message; *p != '\0'; p++) {
        must((unsigned char)*p >= ' ' && *p != 0x7f, "a text that cannot be printed");
    }
}

static void read_address(const uint8_t *data, size_t len)
{
    char text[600];
    len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
    memcpy(text, data, len);
    text[len] = '\0';
    struct net_addr addr, again;
    struct err err;
    if (net_addr_parse(text, &addr, &err) < 0) {
        return;
    }
    int64_t port;
    must(addr.host[0] != '\0' && parse_i64_in(addr.port, 0, 65535, &port) == 0,
         "no host, or no port");
    must(strlen(addr.text) < NET_ADDR_SIZE, "a text without an end");
    char whole[NET_ADDR_SIZE + 16];
    (void)snprintf(whole, sizeof(whole), "[%s]:%s", addr.host, addr.port);
    must(net_addr_parse(whole, &again, &err) >= 0 && strcmp(again.host, addr.host) == 0 &&
             strcmp(again.port, addr.port) == 0,
         "it reads back as another one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    uint8_t payload[FRAME_SMALL_PAYLOAD] = {0};
    const size_t n = len - 1 < sizeof(payload) ? len - 1 : sizeof(payload);
    memcpy(payload, data + 1, n);
    const struct change change = {.of = (char)data[0], .with = payload, .len = n};
    switch (data[0]) {
    case 'A':
        read_abort(payload, n < 12 ? 12 : n); /* the parser lets no shorter one through */
        break;
    case 'N':
        read_address(data + 1, len - 1);
        break;
    default:
        shake_hands(&change);
    }
    return 0;
}
