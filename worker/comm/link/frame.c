/* Frames of the exchange, see frame.h. Numbers are little-endian; offsets are those of the table in
 * docs/contracts/frame.md. */
#include "worker/comm/link/frame.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/link/little_endian.h"

static const uint8_t magic[4] = {'b', 'n', 'c', 'X'};

/* offsets in the header */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_TYPE = 5,
    AT_ROLE = 6,
    AT_DTYPE = 7,
    AT_INDEX = 8,
    AT_ATTEMPT = 12,
    AT_RUN = 16,
    AT_STEP = 24,
    AT_OFFSET = 32,
    AT_SLICE = 40,
    AT_ZERO = 44,
    AT_PAYLOAD_LEN = 48,
    AT_PAYLOAD_CRC = 52,
    AT_SEQUENCE = 56,
    AT_MAC = 64,
};

/* What is allowed for each type; everything else is rejected. */
static const struct {
    const char *name;
    bool handshake;    /* allowed before the keys are set, and only then */
    uint32_t min, max; /* payload bytes */
    bool is_slice;     /* of numbers; all others are bytes */
} types[FRAME_TYPE_END] = {
    [FRAME_HELLO] = {"HELLO", true, 64, 64, false},
    [FRAME_CHALLENGE] = {"CHALLENGE", true, 96, 96, false},
    [FRAME_PROOF] = {"PROOF", true, 32, 32, false},
    [FRAME_WELCOME] = {"WELCOME", false, 0, 0, false},
    [FRAME_HEARTBEAT] = {"HEARTBEAT", false, 0, 0, false},
    [FRAME_GRADIENT] = {"GRADIENT", false, 0, FRAME_MAX_PAYLOAD, true},
    [FRAME_PARAMS] = {"PARAMS", false, 0, FRAME_MAX_PAYLOAD, true},
    [FRAME_READY] = {"READY", false, 0, 0, false},
    [FRAME_RELEASE] = {"RELEASE", false, 0, 0, false},
    [FRAME_ABORT] = {"ABORT", false, 12, FRAME_SMALL_PAYLOAD, false},
    [FRAME_GOODBYE] = {"GOODBYE", false, 0, 0, false},
    [FRAME_OFFER] = {"OFFER", false, 0, 0, false},
    [FRAME_CREDIT] = {"CREDIT", false, 0, 0, false},
    [FRAME_TAKEN] = {"TAKEN", false, 0, 0, false},
};

const char *frame_type_to_string(enum frame_type type)
{
    return type > 0 && type < FRAME_TYPE_END ? types[type].name : "?";
}

enum frame_dtype frame_dtype_of(enum exchange_wire wire)
{
    return wire == EXCHANGE_WIRE_BF16 ? FRAME_DTYPE_BF16 : FRAME_DTYPE_F32;
}

size_t frame_wire_bytes(enum exchange_wire wire)
{
    return wire == EXCHANGE_WIRE_BF16 ? sizeof(uint16_t) : sizeof(float);
}

uint64_t frame_run_id(const char *run, uint32_t point, uint32_t trial)
{
    _cleanup_(freep) char *text = xasprintf("%s/%" PRIu32 "/%" PRIu32, run, point, trial);
    uint8_t digest[AUTH_DIGEST_SIZE];
    auth_sha256(text, strlen(text), digest);
    return get64(digest);
}

void frame_id_name(const struct frame_id *id, char ret[static 32])
{
    (void)snprintf(ret, 32, "%s/%" PRIu32, role_to_string(id->role), id->index); /* fits */
}

static void compute_mac(const struct auth_key *key, const uint8_t *header,
                        uint8_t ret[FRAME_MAC_SIZE])
{
    uint8_t tag[AUTH_TAG_SIZE];
    auth_hmac(key->bytes, sizeof(key->bytes), header, AT_MAC, tag);
    memcpy(ret, tag, FRAME_MAC_SIZE);
}

void frame_encode(const struct frame *f, const struct auth_key *key,
                  uint8_t ret[static FRAME_HEADER_SIZE])
{
    memcpy(ret + AT_MAGIC, magic, sizeof(magic));
    ret[AT_VERSION] = FRAME_VERSION;
    ret[AT_TYPE] = (uint8_t)f->type;
    ret[AT_ROLE] = (uint8_t)f->from.role;
    ret[AT_DTYPE] = (uint8_t)f->dtype;
    put32(ret + AT_INDEX, f->from.index);
    put32(ret + AT_ATTEMPT, f->from.attempt);
    put64(ret + AT_RUN, f->from.run);
    put64(ret + AT_STEP, f->step);
    put64(ret + AT_OFFSET, f->offset);
    put32(ret + AT_SLICE, f->slice);
    put32(ret + AT_ZERO, 0);
    put32(ret + AT_PAYLOAD_LEN, f->payload_len);
    put32(ret + AT_PAYLOAD_CRC, f->payload_crc);
    put64(ret + AT_SEQUENCE, f->sequence);
    memset(ret + AT_MAC, 0, FRAME_MAC_SIZE);
    if (key != NULL) {
        compute_mac(key, ret, ret + AT_MAC);
    }
}

void frame_parser_init(struct frame_parser *p)
{
    *p = (struct frame_parser){.state = PARSER_HEADER};
}

void frame_parser_secure(struct frame_parser *p, const struct auth_key *key,
                         const struct frame_id *from)
{
    assert(p->state == PARSER_HEADER && p->got == 0);
    p->keyed = true;
    p->key = *key;
    p->from = *from;
}

size_t frame_parser_space(struct frame_parser *p, uint8_t **ret)
{
    size_t room;
    switch (p->state) {
    case PARSER_HEADER:
        *ret = p->header + p->got;
        return FRAME_HEADER_SIZE - p->got;
    case PARSER_PAYLOAD:
        *ret = p->at + p->got;
        room = p->frame.payload_len - p->got;
        return room < FRAME_READ_BYTES ? room : FRAME_READ_BYTES;
    default:
        return 0;
    }
}

/* Verifies the MAC, then the sender. */
static int check_sender(struct frame_parser *p, struct err *err)
{
    uint8_t mac[FRAME_MAC_SIZE];
    compute_mac(&p->key, p->header, mac);
    if (!auth_equal(mac, p->header + AT_MAC, sizeof(mac))) {
        return err_set(err, EPROTO, "frame %" PRIu64 ": the MAC of the header is wrong",
                       p->sequence);
    }
    const struct frame_id *from = &p->frame.from;
    if (from->run != p->from.run || from->attempt != p->from.attempt ||
        from->role != p->from.role || from->index != p->from.index) {
        char name[32];
        frame_id_name(from, name);
        return err_set(err, EPROTO, "frame %" PRIu64 ": signed by another sender (%s)", p->sequence,
                       name);
    }
    return 0;
}

static int check_type(const struct frame_parser *p, uint8_t type, uint8_t dtype, struct err *err)
{
    if (type == 0 || type >= FRAME_TYPE_END || types[type].handshake == p->keyed) {
        return err_set(err, EPROTO, "frame %" PRIu64 ": type %u (%s) is not expected %s",
                       p->sequence, type, frame_type_to_string(type),
                       p->keyed ? "after the handshake" : "in the handshake");
    }
    uint32_t len = p->frame.payload_len;
    if (len < types[type].min || len > types[type].max) {
        return err_set(err, EPROTO,
                       "frame %" PRIu64 ": %s has a payload of %" PRIu32 " bytes, "
                       "allowed are %" PRIu32 " to %" PRIu32,
                       p->sequence, types[type].name, len, types[type].min, types[type].max);
    }
    const bool is_slice = dtype == FRAME_DTYPE_F32 || dtype == FRAME_DTYPE_BF16;
    if (is_slice != types[type].is_slice || (!is_slice && dtype != FRAME_DTYPE_NONE)) {
        return err_set(err, EPROTO, "frame %" PRIu64 ": %s has the wrong dtype %u", p->sequence,
                       types[type].name, dtype);
    }
    return 0;
}

/* The header is complete: rejects it or fills p->frame. */
static int check_header(struct frame_parser *p, struct err *err)
{
    const uint8_t *h = p->header;
    if (memcmp(h + AT_MAGIC, magic, sizeof(magic)) != 0) {
        return err_set(err, EPROTO, "not a frame of benchd: it begins %02x %02x %02x %02x", h[0],
                       h[1], h[2], h[3]);
    }
    if (h[AT_VERSION] != FRAME_VERSION) {
        return err_set(err, EPROTO,
                       "another version of benchworker: its frames are of version %u, ours of %d; "
                       "give all replicas the same one",
                       h[AT_VERSION], FRAME_VERSION);
    }
    struct frame *f = &p->frame;
    *f = (struct frame){
        .type = h[AT_TYPE],
        .from = {get64(h + AT_RUN), get32(h + AT_ATTEMPT), h[AT_ROLE], get32(h + AT_INDEX)},
        .step = get64(h + AT_STEP),
        .offset = get64(h + AT_OFFSET),
        .slice = get32(h + AT_SLICE),
        .dtype = h[AT_DTYPE],
        .payload_len = get32(h + AT_PAYLOAD_LEN),
        .payload_crc = get32(h + AT_PAYLOAD_CRC),
        .sequence = get64(h + AT_SEQUENCE),
    };
    if (h[AT_ROLE] >= ROLE_COUNT || f->from.index > FRAME_MAX_INDEX) {
        return err_set(err, EPROTO, "frame %" PRIu64 ": invalid sender: role %u, index %" PRIu32,
                       p->sequence, h[AT_ROLE], f->from.index);
    }
    int r = p->keyed ? check_sender(p, err) : 0;
    if (r < 0) {
        return r;
    }
    if (f->sequence != p->sequence) {
        return err_set(err, EPROTO, "frame %" PRIu64 " arrived, expected frame %" PRIu64,
                       f->sequence, p->sequence);
    }
    return check_type(p, h[AT_TYPE], h[AT_DTYPE], err);
}

static int finish_payload(struct frame_parser *p, struct err *err)
{
    if (p->crc != p->frame.payload_crc) {
        p->state = PARSER_DEAD;
        return err_set(err, EPROTO,
                       "frame %" PRIu64 ": %s: CRC of the payload is %08" PRIx32
                       ", the header says %08" PRIx32,
                       p->sequence, frame_type_to_string(p->frame.type), p->crc,
                       p->frame.payload_crc);
    }
    p->sequence++;
    p->got = 0;
    p->state = PARSER_HEADER;
    return FRAME_COMPLETE;
}

size_t frame_parser_arrived(const struct frame_parser *p)
{
    return p->state == PARSER_PAYLOAD ? p->got : 0;
}

int frame_parser_advance(struct frame_parser *p, size_t n, struct err *err)
{
    if (p->state == PARSER_PAYLOAD) { /* now, while the cache holds it */
        p->crc = crc32c(p->crc, p->at + p->got, n);
    }
    p->got += n;
    if (p->state == PARSER_HEADER) {
        assert(p->got <= FRAME_HEADER_SIZE);
        if (p->got < FRAME_HEADER_SIZE) {
            return FRAME_MORE;
        }
        int r = check_header(p, err);
        p->state = r < 0 ? PARSER_DEAD : PARSER_PLACE;
        return r < 0 ? r : FRAME_HEADER_DONE;
    }
    assert(p->state == PARSER_PAYLOAD && p->got <= p->frame.payload_len);
    return p->got < p->frame.payload_len ? FRAME_MORE : finish_payload(p, err);
}

int frame_parser_place(struct frame_parser *p, void *to, struct err *err)
{
    assert(p->state == PARSER_PLACE);
    assert(to != NULL || p->frame.payload_len <= sizeof(p->small));
    p->at = to != NULL ? to : p->small;
    p->payload = p->at;
    p->got = 0;
    p->crc = 0;
    p->state = PARSER_PAYLOAD;
    return p->frame.payload_len == 0 ? finish_payload(p, err) : FRAME_MORE;
}
