/* One TCP connection to a peer, see conn.h. */
#include "worker/comm/link/conn.h"

#include <assert.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/link/crc32c.h"
#include "worker/tensor/accumulate.h"

/* A mark is at most this part of the socket's buffer. For a larger one the kernel makes the buffer
 * larger, and then never offers the peer more than the mark (tcp_set_rcvlowat of Linux): a link
 * with latency would be empty most of the time. */
#define ROOM_OF_MARK 4
#define NEAR_US 1000 /* there and back, the best so far */

void conn_init(struct conn *c, int fd, const struct frame_id *self)
{
    *c = (struct conn){.fd = fd, .self = *self};
    frame_parser_init(&c->rx);
}

static struct conn_item *item_at(struct conn_queue *q, size_t i)
{
    return &q->items[(q->head + i) % q->cap];
}

static void pop_item(struct conn_queue *q)
{
    free(item_at(q, 0)->owned);
    q->head = (q->head + 1) % q->cap;
    q->len--;
}

/* Drops every frame but the first `keep` ones. */
static void cut_queue(struct conn_queue *q, size_t keep)
{
    while (q->len > keep) {
        free(item_at(q, --q->len)->owned);
    }
}

void conn_close(struct conn *c)
{
    for (size_t lane = 0; lane < CONN_LANES; lane++) {
        cut_queue(&c->lanes[lane], 0);
        free(c->lanes[lane].items);
        c->lanes[lane] = (struct conn_queue){0};
    }
    free(c->narrowed);
    c->narrowed = NULL;
    c->begun = false;
    if (c->watched != 0) { /* while the number is still this connection's */
        (void)epoll_ctl(c->set_fd, EPOLL_CTL_DEL, c->fd, NULL); /* fails if ADD failed */
        c->watched = 0;
    }
    if (c->fd >= 0) {
        (void)close(c->fd); /* nothing is lost: what matters was acknowledged before */
        c->fd = -1;
    }
}

void conn_secure(struct conn *c, const struct auth_key *tx, const struct auth_key *rx,
                 const struct frame_id *peer, int64_t now_ns)
{
    c->tx_key = *tx;
    c->peer = *peer;
    c->secured = true;
    frame_parser_secure(&c->rx, rx, peer);
    heartbeat_init(&c->heartbeat, now_ns);
}

static struct conn_item *push_item(struct conn_queue *q)
{
    if (q->len == q->cap) {
        size_t cap = q->cap == 0 ? 16 : 2 * q->cap;
        struct conn_item *items = xreallocarray(NULL, cap, sizeof(*items));
        for (size_t i = 0; i < q->len; i++) {
            items[i] = *item_at(q, i);
        }
        free(q->items);
        q->items = items;
        q->cap = cap;
        q->head = 0;
    }
    return item_at(q, q->len++);
}

int conn_beat(struct conn *c, const struct heartbeat_self *self, int64_t now_ns, struct err *err)
{
    if (heartbeat_is_lost(&c->heartbeat, self, now_ns)) {
        return err_set(err, ETIMEDOUT, "silent for %.1f s: it is stopped, hung or unreachable",
                       (double)(now_ns - c->heartbeat.last_heard_ns) / 1e9);
    }
    if (heartbeat_is_due(&c->heartbeat, now_ns)) {
        conn_send(c, FRAME_HEARTBEAT, NULL, 0);
    }
    return 0;
}

void conn_send(struct conn *c, enum frame_type type, const void *payload, size_t len)
{
    assert(len <= FRAME_SMALL_PAYLOAD);
    if (c->tx_dead) {
        return;
    }
    struct conn_item *item = push_item(&c->lanes[CONN_CONTROL]);
    *item = (struct conn_item){
        .frame = {.type = type, .payload_len = (uint32_t)len},
        .keyed = c->secured,
    };
    if (len > 0) {
        item->owned = xmalloc(len);
        memcpy(item->owned, payload, len);
        item->payload = item->owned;
    }
}

void conn_send_count(struct conn *c, enum frame_type type, uint64_t step, uint32_t count)
{
    if (c->tx_dead) {
        return;
    }
    *push_item(&c->lanes[CONN_CONTROL]) = (struct conn_item){
        .frame = {.type = type, .step = step, .slice = count},
        .keyed = true,
    };
}

static struct conn_item *push_slice(struct conn *c, const struct frame *f, const void *payload,
                                    size_t len)
{
    struct conn_item *item = push_item(&c->lanes[CONN_BULK]);
    *item = (struct conn_item){.frame = *f, .payload = payload, .keyed = true};
    item->frame.dtype = frame_dtype_of(c->wire);
    item->frame.payload_len = (uint32_t)len;
    return item;
}

void conn_send_slice(struct conn *c, const struct frame *f, const float *data, size_t n)
{
    if (!c->tx_dead) {
        struct conn_item *item = push_slice(c, f, data, n * frame_wire_bytes(c->wire));
        item->narrows = c->wire == EXCHANGE_WIRE_BF16;
    }
}

void conn_send_payload(struct conn *c, const struct frame *f, const void *payload, size_t len,
                       uint32_t crc)
{
    if (!c->tx_dead) {
        struct conn_item *item = push_slice(c, f, payload, len);
        item->has_crc = true;
        item->frame.payload_crc = crc;
    }
}

size_t conn_n_bulk(const struct conn *c)
{
    return c->lanes[CONN_BULK].len;
}

bool conn_wants_tx(const struct conn *c)
{
    return c->lanes[CONN_CONTROL].len > 0 || c->lanes[CONN_BULK].len > 0;
}

void conn_drop_queue(struct conn *c)
{
    for (size_t lane = 0; lane < CONN_LANES; lane++) {
        cut_queue(&c->lanes[lane], c->begun && (size_t)c->lane == lane ? 1 : 0);
    }
}

static void begin_item(struct conn *c, struct conn_item *item)
{
    struct frame *f = &item->frame;
    f->from = c->self;
    f->sequence = c->tx_sequence++;
    if (item->narrows) {
        c->narrowed =
            xreallocarray(c->narrowed, f->payload_len / sizeof(uint16_t) + 1, sizeof(uint16_t));
        bf16_narrow(c->narrowed, item->payload, f->payload_len / sizeof(uint16_t));
        item->payload = c->narrowed;
    }
    if (!item->has_crc) {
        f->payload_crc = crc32c(0, item->payload, f->payload_len);
    }
    c->begun = true;
    c->sent = 0;
    frame_encode(f, item->keyed ? &c->tx_key : NULL, c->header);
}

/* Sends the rest of the head item with one sendmsg. */
static ssize_t send_item(struct conn *c, const struct conn_item *item)
{
    struct iovec iov[2];
    size_t n = 0;
    size_t payload_sent = 0;
    if (c->sent < FRAME_HEADER_SIZE) {
        iov[n++] = (struct iovec){c->header + c->sent, FRAME_HEADER_SIZE - c->sent};
    } else {
        payload_sent = c->sent - FRAME_HEADER_SIZE;
    }
    if (item->frame.payload_len > payload_sent) {
        iov[n++] = (struct iovec){(uint8_t *)(uintptr_t)item->payload + payload_sent,
                                  item->frame.payload_len - payload_sent};
    }
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n};
    return sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The frame that has begun, or the next one, which then begins. */
static struct conn_item *item_to_send(struct conn *c)
{
    if (!c->begun) {
        c->lane = c->lanes[CONN_CONTROL].len > 0 ? CONN_CONTROL : CONN_BULK;
        begin_item(c, item_at(&c->lanes[c->lane], 0));
    }
    return item_at(&c->lanes[c->lane], 0);
}

int conn_pump_tx(struct conn *c, size_t budget, struct err *err)
{
    size_t done = 0;
    while (conn_wants_tx(c) && done < budget) {
        struct conn_item *item = item_to_send(c);
        ssize_t n = send_item(c, item);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n < 0 && (errno == ENOBUFS || errno == ENOMEM)) {
            return err_set_errno(err, errno, "send");
        }
        if (n < 0) {
            c->tx_dead = true; /* conn_pump_rx reports the reason */
            c->begun = false;
            conn_drop_queue(c);
            return 0;
        }
        c->sent += (size_t)n;
        c->bytes_tx += (size_t)n;
        done += (size_t)n;
        if (c->sent == FRAME_HEADER_SIZE + item->frame.payload_len) {
            pop_item(&c->lanes[c->lane]);
            c->begun = false;
        }
    }
    return 0;
}

/* So many bytes without a whole frame can only be a payload with an authentic header. */
static void note_life(struct conn *c, int event, int64_t now_ns)
{
    if (event == FRAME_COMPLETE || c->unheard_bytes >= CONN_LIFE_BYTES) {
        c->heartbeat.last_heard_ns = now_ns;
        c->unheard_bytes = 0;
    }
}

static bool is_of_wire(const struct conn *c, struct err *err)
{
    const struct frame *f = &c->rx.frame;
    if (f->dtype == frame_dtype_of(c->wire)) {
        return true;
    }
    (void)err_set(err, EPROTO, "%s has the wrong dtype %u, the wire is %s",
                  frame_type_to_string(f->type), f->dtype, exchange_wire_names[c->wire]);
    return false;
}

/* Passes the parser's event to the handler. 1: stop. */
static int handle(struct conn *c, int event, int64_t now_ns, const struct conn_handler *handler,
                  void *ctx, struct err *err)
{
    if (event == FRAME_HEADER_DONE) {
        void *to = NULL;
        if (c->rx.frame.dtype != FRAME_DTYPE_NONE && !is_of_wire(c, err)) {
            return -EPROTO;
        }
        if (c->rx.frame.dtype != FRAME_DTYPE_NONE) {
            to = handler->place(ctx, c, &c->rx.frame, err);
            if (to == NULL) {
                return -EPROTO;
            }
        }
        event = frame_parser_place(&c->rx, to, err);
    }
    if (event >= 0) {
        note_life(c, event, now_ns);
    }
    if (event == FRAME_COMPLETE) {
        return handler->frame(ctx, c, &c->rx.frame, c->rx.payload, err);
    }
    if (event == FRAME_MORE && handler->part != NULL && c->rx.frame.dtype != FRAME_DTYPE_NONE &&
        frame_parser_arrived(&c->rx) > 0) {
        handler->part(ctx, c, frame_parser_arrived(&c->rx));
    }
    return event; /* FRAME_MORE is 0 */
}

static int lost(struct err *err, ssize_t n, int code)
{
    if (n == 0 || code == ECONNRESET || code == EPIPE) {
        return err_set(err, ECONNRESET, "it closed the connection early: it was killed or failed");
    }
    (void)err_set_errno(err, ECONNRESET, "connection lost: %s", strerrordesc_np(code));
    return -ECONNRESET;
}

int conn_pump_rx(struct conn *c, int64_t now_ns, size_t budget, const struct conn_handler *handler,
                 void *ctx, struct err *err)
{
    size_t done = 0;
    while (done < budget) {
        uint8_t *at;
        size_t room = frame_parser_space(&c->rx, &at);
        ssize_t n = recv(c->fd, at, room, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n <= 0) {
            return lost(err, n, n < 0 ? errno : 0);
        }
        c->unheard_bytes += (size_t)n;
        c->bytes_rx += (size_t)n;
        done += (size_t)n;
        int event = frame_parser_advance(&c->rx, (size_t)n, err);
        int r = handle(c, event, now_ns, handler, ctx, err);
        if (r != 0) {
            return r < 0 ? r : 0;
        }
        if ((size_t)n < room) {
            return 0; /* the socket is empty: the caller polls */
        }
    }
    return 0;
}

struct pollfd conn_watch(const struct conn *c)
{
    return (struct pollfd){.fd = c->fd,
                           .events = (short)(POLLIN | (conn_wants_tx(c) ? POLLOUT : 0))};
}

/* Of a far peer each part is read at once: with 20 ms there and back, marks made a
 * call longer by half. */
static bool is_near(struct conn *c)
{
    struct tcp_info info = {.tcpi_min_rtt = UINT32_MAX};
    socklen_t len = sizeof(info);
    if (!c->is_near && getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0) {
        c->is_near = info.tcpi_min_rtt < NEAR_US;
    }
    return c->is_near;
}

void conn_wake_at_frame(struct conn *c)
{
    const size_t arrived = frame_parser_arrived(&c->rx);
    const size_t n = arrived > 0 ? c->rx.frame.payload_len - arrived : 1;
    int room;
    socklen_t len = sizeof(room);
    if (!is_near(c) || getsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &room, &len) < 0) {
        return;
    }
    const size_t most = (size_t)room / ROOM_OF_MARK;
    const int low = n < most ? (int)n : (int)most;
    if (low != c->wake_bytes) {
        (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &low,
                         sizeof(low)); /* or it wakes for less */
        c->wake_bytes = low;
    }
}

void conn_limit_unsent(struct conn *c, size_t n)
{
    const int most = (int)n;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most,
                     sizeof(most)); /* or it holds more */
}

/* Reads and discards. True at the end of the stream. */
static bool drain(int fd)
{
    uint8_t bin[65536];
    for (;;) {
        ssize_t n = recv(fd, bin, sizeof(bin), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
    }
}

/* One turn for one connection; false when it is finished. */
static bool farewell_turn(struct conn *c, bool *is_shut)
{
    struct err err;
    if (conn_pump_tx(c, SIZE_MAX, &err) < 0) {
        return false; /* out of memory: the peer sees the connection close */
    }
    if (!conn_wants_tx(c) && !*is_shut) {
        (void)shutdown(c->fd, SHUT_WR); /* fails only if the peer is gone */
        *is_shut = true;
    }
    return !drain(c->fd);
}

/* Bytes that peers have acknowledged: only more and more. */
static uint64_t delivered_bytes(struct conn *const *conns, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        int unacknowledged = 0;
        if (conns[i]->fd >= 0 && ioctl(conns[i]->fd, SIOCOUTQ, &unacknowledged) == 0) {
            sum += conns[i]->bytes_tx - (uint64_t)unacknowledged;
        }
    }
    return sum;
}

void conn_farewell(struct conn *const *conns, size_t n, int64_t limit_ns)
{
    int64_t end_ns = 0;
    uint64_t delivered = 0;
    _cleanup_(freep) struct pollfd *fds = xnew_array(struct pollfd, n + 1);
    _cleanup_(freep) bool *is_shut = xnew_array(bool, n + 1);
    for (;;) {
        size_t n_open = 0;
        for (size_t i = 0; i < n; i++) {
            struct conn *c = conns[i];
            if (c->fd >= 0 && !farewell_turn(c, &is_shut[i])) {
                conn_close(c);
            }
            fds[i] = conn_watch(c);
            n_open += c->fd >= 0;
        }
        const int64_t now_ns = clock_monotonic_ns();
        const uint64_t before = delivered;
        delivered = delivered_bytes(conns, n);
        if (end_ns == 0 || delivered > before) {
            end_ns = now_ns + limit_ns;
        }
        if (n_open == 0 || now_ns >= end_ns) {
            break;
        }
        /* after an error the loop tries again */
        (void)poll(fds, n, (int)((end_ns - now_ns) / 1000000) + 1);
    }
    for (size_t i = 0; i < n; i++) {
        conn_close(conns[i]);
    }
}
