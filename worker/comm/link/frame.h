/* Frames of the exchange (docs/contracts/frame.md): 80 bytes of header, then the payload. Sans-I/O.
 *
 * The parser uses no field of a header (length, type, sender) before it has verified the MAC. Only
 * the handshake has no MAC, and there every length is fixed. The parser never copies a payload: it
 * asks where the bytes should go, so gradients are received directly into their place.
 *
 *     while ((room = frame_parser_space(p, &at)) > 0) {
 *         n = recv(fd, at, room);  event = frame_parser_advance(p, n, &err);
 *         FRAME_MORE        go on
 *         FRAME_HEADER_DONE p->frame is valid: call frame_parser_place(p, where the payload goes)
 *         FRAME_COMPLETE    p->frame and p->payload are valid until the next advance
 *         -EPROTO           the frame is invalid or damaged; the parser accepts nothing more
 *     } */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/exchange_kind.h"
#include "core/replica.h"
#include "worker/comm/link/auth.h"

#define FRAME_VERSION 4
#define FRAME_HEADER_SIZE 80
#define FRAME_MAC_SIZE 16
#define FRAME_MAX_PAYLOAD (1u << 20)
#define FRAME_READ_BYTES                                                                           \
    ((size_t)256 << 10)         /* of a payload at a time: the second-level cache holds it */
#define FRAME_SMALL_PAYLOAD 512 /* of every type but GRADIENT and PARAMS */
#define FRAME_MAX_INDEX 65535

enum frame_type {
    FRAME_HELLO = 1, /* trainer: nonce, configuration digest */
    FRAME_CHALLENGE, /* server: nonce, digest, tag */
    FRAME_PROOF,     /* trainer: tag; from here on every header has a MAC */
    FRAME_WELCOME,   /* server: the trainer has joined */
    FRAME_HEARTBEAT, /* both, each second */
    FRAME_GRADIENT,  /* trainer: one slice */
    FRAME_PARAMS,    /* server: one slice */
    FRAME_READY,     /* trainer: warm, waiting at the barrier */
    FRAME_RELEASE,   /* server: all are ready */
    FRAME_ABORT,     /* both: the sender gives up because of this peer */
    FRAME_GOODBYE,   /* trainer: done */
    FRAME_OFFER,     /* trainer: so many gradient slices of the step are ready to be sent */
    FRAME_CREDIT,    /* server: so many of them may have been sent */
    FRAME_TAKEN,     /* trainer: so many parameter slices of the step have arrived */
};
#define FRAME_TYPE_END (FRAME_TAKEN + 1)
const char *frame_type_to_string(enum frame_type type);

enum frame_dtype { FRAME_DTYPE_NONE, FRAME_DTYPE_F32, FRAME_DTYPE_BF16 };
/* Returns the type of the numbers of GRADIENT and PARAMS on a connection with this wire. */
enum frame_dtype frame_dtype_of(enum exchange_wire wire);
/* Returns the bytes of such a number. */
size_t frame_wire_bytes(enum exchange_wire wire);

struct frame_id { /* a sender */
    uint64_t run; /* frame_run_id */
    uint32_t attempt;
    enum role role;
    uint32_t index;
};

struct frame {
    enum frame_type type;
    struct frame_id from;
    uint64_t step;
    uint64_t offset; /* of the slice, in floats from the start of the arena */
    uint32_t slice;  /* OFFER, CREDIT, TAKEN: a number of this server's slices, from the first on */
    enum frame_dtype dtype;
    uint64_t sequence; /* frames sent before this one on this connection and direction */
    uint32_t payload_len;
    uint32_t payload_crc;
};

/* First 8 bytes, little-endian, of SHA-256 of "RUN/POINT/TRIAL". */
uint64_t frame_run_id(const char *run, uint32_t point, uint32_t trial);
/* "trainer/1". */
void frame_id_name(const struct frame_id *id, char ret[static 32]);

/* `key` NULL: a frame of the handshake, its MAC is zero. */
void frame_encode(const struct frame *f, const struct auth_key *key,
                  uint8_t ret[static FRAME_HEADER_SIZE]);

enum frame_event { FRAME_MORE, FRAME_HEADER_DONE, FRAME_COMPLETE };

struct frame_parser {
    struct frame frame;
    const uint8_t *payload; /* where frame_parser_place said */
    /* Private to frame.c: */
    enum { PARSER_HEADER, PARSER_PLACE, PARSER_PAYLOAD, PARSER_DEAD } state;
    uint8_t header[FRAME_HEADER_SIZE];
    uint8_t small[FRAME_SMALL_PAYLOAD];
    uint8_t *at;
    size_t got;
    uint32_t crc; /* of the payload so far */
    bool keyed;
    struct auth_key key;
    struct frame_id from; /* checked once keyed */
    uint64_t sequence;    /* expected next */
};

/* Starts with the handshake: only its frames are accepted, without a MAC. */
void frame_parser_init(struct frame_parser *p);
/* From the next frame on headers must carry a MAC under `key` and come from `from`. Call it between
 * frames only. */
void frame_parser_secure(struct frame_parser *p, const struct auth_key *key,
                         const struct frame_id *from);
/* Where the next bytes go and how many at most. 0 while the parser waits for frame_parser_place, or
 * after an error. */
size_t frame_parser_space(struct frame_parser *p, uint8_t **ret);
/* Call it after n bytes were written there (n <= space). Returns an enum frame_event or -EPROTO. */
int frame_parser_advance(struct frame_parser *p, size_t n, struct err *err);
/* The answer to FRAME_HEADER_DONE: `to` has room for frame.payload_len bytes; NULL: the parser
 * keeps them itself, at most FRAME_SMALL_PAYLOAD. Returns FRAME_COMPLETE if there is no payload. */
int frame_parser_place(struct frame_parser *p, void *to, struct err *err);
/* Bytes of the payload of p->frame that have arrived; 0 while a header arrives. Nothing has
 * verified them yet: a wrong CRC is found when the last one is there. */
size_t frame_parser_arrived(const struct frame_parser *p);
