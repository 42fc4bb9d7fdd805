/* One TCP connection to a peer: sends and receives frames and never blocks.
 *
 * Payloads of slices are borrowed until they are sent, not copied. Header, sequence number and CRC
 * of a frame are made when its transmission begins. Small frames go first: life signs, credits and
 * ABORT wait for the rest of at most one slice. Not thread-safe: one thread owns the connection. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/comm/link/frame.h"
#include "worker/comm/link/handshake.h"
#include "worker/comm/link/heartbeat.h"

/* What counts as a sign of life: a whole frame that is authentic, or this much of the payload after
 * a header that is. Any byte would let a peer hold up everyone; only whole slices would give up a
 * peer with a slow or crowded link. */
#define CONN_LIFE_BYTES ((size_t)64 << 10)

struct conn;

struct conn_handler {
    /* Returns where the payload of this GRADIENT or PARAMS goes; NULL and *err to reject it. */
    void *(*place)(void *ctx, struct conn *c, const struct frame *f, struct err *err);
    /* Takes a complete frame. 0: continue; 1: stop reading for now; -Exxx:
     * conn_pump_rx returns it. */
    int (*frame)(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                 struct err *err);
    /* More of the payload of this GRADIENT or PARAMS is where `place` said: n bytes by
     * now, not all, and not verified: a wrong CRC makes conn_pump_rx fail
     * later. NULL: not reported. */
    void (*part)(void *ctx, struct conn *c, size_t n);
};

struct conn_item {
    struct frame frame;
    const void *payload; /* borrowed, or `owned` */
    uint8_t *owned;
    bool has_crc;
    bool narrows; /* `payload` is fp32 and becomes bf16 when the transmission begins */
    bool keyed;   /* queued after the handshake, so its header is signed */
};

struct conn_queue { /* a ring: items[(head + i) % cap] */
    struct conn_item *items;
    size_t head, len, cap;
};

/* Frames of a lane keep their order; those of the first lane go before those of the second. */
enum conn_lane { CONN_CONTROL, CONN_BULK };
#define CONN_LANES 2

struct conn {
    int fd; /* owned; -1: closed */
    struct frame_id self, peer;
    struct heartbeat heartbeat;
    bool secured;            /* the handshake is done */
    enum exchange_wire wire; /* of slices, in both directions; set it after conn_init */
    uint64_t bytes_tx, bytes_rx;
    bool is_near;   /* the peer answers within a millisecond */
    int wake_bytes; /* the mark of conn_wake_at_frame; 0 before the first call */
    short watched;  /* the events that a conn_set waits for; 0 if no set has the connection */
    int set_fd;     /* if one has: borrowed */
    /* Private to conn.c: */
    struct frame_parser rx;
    size_t unheard_bytes; /* received since the last sign of life */
    struct auth_key tx_key;
    uint64_t tx_sequence;
    struct conn_queue lanes[CONN_LANES];
    uint8_t header[FRAME_HEADER_SIZE];
    uint16_t *narrowed;  /* owned: the payload of the frame that has begun, if it narrows */
    bool begun;          /* the first frame of `lane` has its header and sequence */
    enum conn_lane lane; /* if so */
    size_t sent;         /* bytes of it, header included */
    bool tx_dead;
};

/* Takes ownership of a connected, non-blocking socket. */
void conn_init(struct conn *c, int fd, const struct frame_id *self);
void conn_close(struct conn *c);

/* Call it after the handshake: sets the keys of both directions and starts the heartbeats. */
void conn_secure(struct conn *c, const struct auth_key *tx, const struct auth_key *rx,
                 const struct frame_id *peer, int64_t now_ns);

/* Queues a life sign if one is due. -ETIMEDOUT: the peer has been silent for too long; `self` is
 * this process's own life. */
int conn_beat(struct conn *c, const struct heartbeat_self *self, int64_t now_ns, struct err *err);

/* Queues a frame with a small payload, which is copied. */
void conn_send(struct conn *c, enum frame_type type, const void *payload, size_t len);
/* Queues a frame whose `slice` is a number of slices of `step`: OFFER, CREDIT or TAKEN. */
void conn_send_count(struct conn *c, enum frame_type type, uint64_t step, uint32_t count);
/* Queues a slice; *f holds step, slice and offset. `data` is borrowed until
 * conn_n_bulk is 0. The numbers of the connection's wire and their CRC are computed when the
 * transmission begins. */
void conn_send_slice(struct conn *c, const struct frame *f, const float *data, size_t n);
/* The same with a payload that is in the format of the wire already, and its CRC. */
void conn_send_payload(struct conn *c, const struct frame *f, const void *payload, size_t len,
                       uint32_t crc);
/* The number of slices that are queued or being sent. */
size_t conn_n_bulk(const struct conn *c);
bool conn_wants_tx(const struct conn *c);
/* Drops every queued frame whose transmission has not begun. */
void conn_drop_queue(struct conn *c);

/* Sends what the socket accepts, at most about `budget` bytes. Does not report that the peer is
 * gone: its last frames may still be unread, and conn_pump_rx reports it after them. */
int conn_pump_tx(struct conn *c, size_t budget, struct err *err);
/* Reads what has arrived, at most about `budget` bytes. -ECONNRESET: the peer is gone; -EPROTO: it
 * sent something wrong; or what the handler returned. */
int conn_pump_rx(struct conn *c, int64_t now_ns, size_t budget, const struct conn_handler *handler,
                 void *ctx, struct err *err);

/* What to poll for: to read, and to send what is queued. */
struct pollfd conn_watch(const struct conn *c);
/* From now on poll wakes a reader when the frame that has begun is whole, or as much of it has come
 * as the socket's buffer holds well, or the next frame begins, or the stream has ended; before the
 * first call, and where the peer is far away, when any byte has come. A wake-up costs more than to
 * read 64 KiB. Read at each tick all the same: a part is a sign of life. */
void conn_wake_at_frame(struct conn *c);

/* From now on the kernel holds little more than n bytes that it has not sent. Without a limit it
 * holds megabytes when the link is slow, and no frame can overtake them. Each n bytes cost a
 * wake-up, so set no limit where nothing needs to overtake. */
void conn_limit_unsent(struct conn *c, size_t n);

/* Sends what is queued (the caller has queued ABORT or GOODBYE), ends the stream, waits until the
 * peers have ended theirs, at most `limit_ns` since one of them last acknowledged data, and closes:
 * a socket that is closed sooner may take with it what a peer has not read. Skips connections with
 * fd -1. */
void conn_farewell(struct conn *const *conns, size_t n, int64_t limit_ns);
