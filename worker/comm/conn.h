/* One TCP connection to a peer: frames out, frames in, never blocking.
 *
 * Outgoing payloads are borrowed until sent: nothing is copied. Header, sequence and CRC are made
 * when a frame's turn comes, so an ABORT can overtake what has not begun. Not thread-safe: one
 * thread owns it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/comm/frame.h"
#include "worker/comm/handshake.h"
#include "worker/comm/heartbeat.h"

struct conn;

struct conn_handler {
    /* Where the payload of this GRADIENT or PARAMS goes; NULL and *err: it is not welcome. */
    void *(*place)(void *ctx, struct conn *c, const struct frame *f, struct err *err);
    /* A whole frame. 0: go on; 1: stop reading for now; -Exxx: passed up. */
    int (*frame)(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                 struct err *err);
};

struct conn_item {
    struct frame frame;
    const void *payload; /* borrowed, or `owned` */
    uint8_t *owned;
    bool has_crc;
    bool keyed; /* queued after the handshake: signed */
};

struct conn {
    int fd; /* owned; -1: closed */
    struct frame_id self, peer;
    struct heartbeat heartbeat;
    bool secured;
    uint64_t bytes_tx, bytes_rx;
    /* private */
    struct frame_parser rx;
    struct auth_key tx_key;
    uint64_t tx_sequence;
    struct conn_item *items; /* a ring: items[(head + i) % cap] */
    size_t head, len, cap;
    size_t n_bulk;
    uint8_t header[FRAME_HEADER_SIZE];
    bool begun;  /* the head item has its header and sequence */
    size_t sent; /* bytes of it, header included */
    bool tx_dead;
};

/* Takes over a connected, non-blocking socket. */
void conn_init(struct conn *c, int fd, const struct frame_id *self);
void conn_close(struct conn *c);

/* After the handshake: keys both ways, and the life signs begin. */
void conn_secure(struct conn *c, const struct auth_key *tx, const struct auth_key *rx,
                 const struct frame_id *peer, int64_t now_ns);

/* Queues a frame with a small payload, which is copied. */
void conn_send(struct conn *c, enum frame_type type, const void *payload, size_t len);
/* Queues a slice, *f with step, slice, offset, priority; `data` is borrowed until conn_has_bulk is false. `crc` NULL: computed in turn. */
void conn_send_slice(struct conn *c, const struct frame *f, const float *data, size_t n,
                     const uint32_t *crc);
/* Slices queued or on their way. */
bool conn_has_bulk(const struct conn *c);
bool conn_wants_tx(const struct conn *c);
/* Drops every frame that has not begun. */
void conn_drop_queue(struct conn *c);

/* Sends what the socket takes, at most about `budget` bytes. A peer that is gone is not reported
 * here: what it said last is still to be read. */
int conn_pump_tx(struct conn *c, size_t budget, struct err *err);
/* Reads what is there, at most about `budget` bytes. -ECONNRESET: the peer is gone; -EPROTO. */
int conn_pump_rx(struct conn *c, int64_t now_ns, size_t budget, const struct conn_handler *handler,
                 void *ctx, struct err *err);

/* Queues ABORT or GOODBYE before: sends the rest, ends the stream, and waits till the peers have
 * ended theirs, all within `limit_ns`. Then closes. Connections with fd -1 are passed over. */
void conn_farewell(struct conn *const *conns, size_t n, int64_t limit_ns);
