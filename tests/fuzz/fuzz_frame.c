/* Fuzzing of the frame parser. With clang -fsanitize=fuzzer this file is the target; with
 * FUZZ_SMOKE it brings its own driver: random damage to honest frames, from a printed seed.
 *
 * The first byte of an input says how: bit 0 under keys, bit 1 signed here (so that what comes
 * after the MAC is reached: the sequence, types, lengths), bits 2-7 the size of the pieces. Holds:
 * never a place outside the given buffers, never a payload longer than allowed, dead means dead. */
#include "fuzz.h"

#include <inttypes.h>

#include "base/parse.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/link/frame.h"

static const struct auth_key key = {{1, 2, 3}};
static const struct frame_id from = {.run = 77, .role = ROLE_TRAINER, .index = 1};
static uint8_t slice[FRAME_MAX_PAYLOAD];
static size_t n_complete; /* frames that came through whole */

/* Takes one piece; false when the parser is dead. */
static bool take(struct frame_parser *p, const uint8_t **data, size_t *len, size_t piece)
{
    struct err err = {0};
    uint8_t *at;
    size_t room = frame_parser_space(p, &at);
    must(room > 0, "a live parser wants no bytes");
    size_t n = room < piece ? room : piece;
    n = n < *len ? n : *len;
    memcpy(at, *data, n);
    *data += n;
    *len -= n;
    int event = frame_parser_advance(p, n, &err);
    if (event == FRAME_HEADER_DONE) {
        bool is_bulk = p->frame.dtype != FRAME_DTYPE_NONE;
        must(p->frame.payload_len <= (is_bulk ? FRAME_MAX_PAYLOAD : FRAME_SMALL_PAYLOAD),
             "a length that is too large was believed");
        must(p->frame.from.role < ROLE_COUNT, "a role that does not exist");
        event = frame_parser_place(p, is_bulk ? slice : NULL, &err);
    }
    n_complete += event == FRAME_COMPLETE;
    if (event < 0) {
        must(err.msg[0] != '\0', "an error without a reason");
        must(frame_parser_space(p, &at) == 0, "a dead parser wants more");
    }
    return event >= 0;
}

/* Gives every header its MAC, and every payload that is there its CRC. */
static void sign(uint8_t *data, size_t len)
{
    while (len >= FRAME_HEADER_SIZE) {
        const uint8_t *at = data + 48; /* docs/contracts/frame.md: length, CRC, sequence, MAC */
        size_t n = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        const size_t left = len - FRAME_HEADER_SIZE;
        const uint32_t crc = crc32c(0, data + FRAME_HEADER_SIZE, n < left ? n : left);
        for (int i = 0; i < 4; i++) {
            data[52 + i] = (uint8_t)(crc >> (8 * i));
        }
        uint8_t tag[AUTH_TAG_SIZE];
        auth_hmac(key.bytes, sizeof(key.bytes), data, 64, tag);
        memcpy(data + 64, tag, FRAME_MAC_SIZE);
        n = FRAME_HEADER_SIZE + (n < left ? n : left);
        data += n;
        len -= n;
    }
}

static void feed(const uint8_t *data, size_t len, uint8_t how)
{
    struct frame_parser p;
    frame_parser_init(&p);
    if ((how & 1) != 0) {
        frame_parser_secure(&p, &key, &from);
    }
    const size_t piece = (size_t)(how >> 2) * 6 + 1;
    while (len > 0 && take(&p, &data, &len, piece)) {
        continue;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    _cleanup_(freep) uint8_t *copy = malloc(len);
    must(copy != NULL, "no memory");
    memcpy(copy, data + 1, len - 1);
    if ((data[0] & 3) == 3) {
        sign(copy, len - 1);
    }
    feed(copy, len - 1, data[0]);
    return 0;
}

#ifdef FUZZ_SMOKE

static uint64_t state;

static uint32_t next(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* An honest stream: a few frames, as a trainer would send them. */
static size_t honest(uint8_t *out, bool keyed)
{
    size_t at = 0;
    out[at++] = (uint8_t)(next(64) << 2 | keyed);
    for (uint64_t i = 0; i < 3; i++) {
        uint8_t payload[64] = {(uint8_t)i};
        bool is_bulk = keyed && next(2) == 0;
        struct frame f = {
            .type = !keyed    ? FRAME_HELLO
                    : is_bulk ? FRAME_GRADIENT
                              : FRAME_HEARTBEAT,
            .from = from,
            .dtype = is_bulk ? FRAME_DTYPE_F32 : FRAME_DTYPE_NONE,
            .sequence = i,
            .payload_len = !keyed || is_bulk ? sizeof(payload) : 0,
        };
        f.payload_crc = crc32c(0, payload, f.payload_len);
        frame_encode(&f, keyed ? &key : NULL, out + at);
        at += FRAME_HEADER_SIZE;
        memcpy(out + at, payload, f.payload_len);
        at += f.payload_len;
    }
    return at;
}

int main(void)
{
    enum { ROUNDS = 20000 };
    const char *text = getenv("FUZZ_SEED");
    uint64_t seed = 20261120;
    must(text == NULL || parse_u64(text, &seed) == 0, "FUZZ_SEED is not a number");
    state = seed;
    size_t whole = 0, damaged = 0, past = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t bytes[1024];
        size_t len = honest(bytes, i % 2 == 0);
        n_complete = 0;
        (void)LLVMFuzzerTestOneInput(bytes, len);
        must(n_complete == 3, "an honest frame was refused");
        whole += n_complete;
        uint8_t before[sizeof(bytes)];
        memcpy(before, bytes, len);
        for (uint32_t n = 1 + next(4); n > 0; n--) {
            bytes[1 + next((uint32_t)len - 1)] ^= (uint8_t)(1u << next(8));
        }
        if (memcmp(before, bytes, len) == 0) {
            continue; /* two flips of one bit */
        }
        n_complete = 0;
        (void)LLVMFuzzerTestOneInput(bytes, len - next(2) * next(40));
        must(i % 2 != 0 || n_complete < 3, "a damaged frame under keys came through");
        damaged += 3 - n_complete;
        if (i % 2 == 0) {
            bytes[0] |= 2;
            n_complete = 0;
            (void)LLVMFuzzerTestOneInput(bytes, len);
            past += n_complete;
        }
    }
    must(past > 0, "nothing gets past the MAC");
    printf("1..1\n# seed %" PRIu64 ": %d streams, %zu frames whole, %zu stopped by damage, "
           "%zu damaged, then signed and taken\n"
           "ok 1 - fuzz_frame\n",
           seed, ROUNDS, whole, damaged, past);
    return 0;
}

#endif
