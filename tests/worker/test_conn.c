/* A connection between two ends of a socket pair: what arrives, in which order, and who is gone.
 * The time is the test's. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/link/crc32c.h"

#define S INT64_C(1000000000)
#define LEN (FRAME_MAX_PAYLOAD / sizeof(float))
#define MAX_SEEN 256

struct seen { /* what a connection has read */
    enum frame_type types[MAX_SEEN];
    uint64_t steps[MAX_SEEN];
    size_t n;
    bool stops; /* after each frame */
    float *to;
    size_t n_part; /* bytes of a payload that it was last told of */
};

static void *on_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    (void)c;
    (void)f;
    (void)err;
    return ((struct seen *)ctx)->to;
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct seen *seen = ctx;
    (void)c;
    (void)payload;
    (void)err;
    assert_true(seen->n < MAX_SEEN);
    seen->types[seen->n] = f->type;
    seen->steps[seen->n++] = f->step;
    return seen->stops ? 1 : 0;
}

static void on_part(void *ctx, struct conn *c, size_t n)
{
    (void)c;
    ((struct seen *)ctx)->n_part = n;
}

static const struct conn_handler handler = {on_place, on_frame, on_part};

struct pair { /* a trainer and a server after the handshake, at second 1 */
    struct conn a, b;
    struct seen seen; /* of b */
};

static void open_pair(struct pair *p)
{
    const struct frame_id trainer = {7, 0, ROLE_TRAINER, 0}, server = {7, 0, ROLE_PSERVER, 0};
    const struct auth_key up = {{1}}, down = {{2}};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    *p = (struct pair){0};
    p->seen.to = calloc(LEN, sizeof(float));
    conn_init(&p->a, fds[0], &trainer);
    conn_init(&p->b, fds[1], &server);
    conn_secure(&p->a, &up, &down, &server, S);
    conn_secure(&p->b, &down, &up, &trainer, S);
}

static void close_pair(struct pair *p)
{
    conn_close(&p->a);
    conn_close(&p->b);
    free(p->seen.to);
}

/* Lets b read until there is nothing, at `now_ns`. */
static int read_all(struct pair *p, int64_t now_ns, struct err *err)
{
    return conn_pump_rx(&p->b, now_ns, SIZE_MAX, &handler, &p->seen, err);
}

static void send_slice(struct pair *p, uint64_t step, const float *data, size_t n)
{
    const struct frame f = {.type = FRAME_GRADIENT, .step = step};
    conn_send_slice(&p->a, &f, data, n);
}

/* Rounded when it leaves, half the bytes; the receiver gets them as they are. */
TEST(slices_in_bf16)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    float data[5] = {1, -2, 1.00390625f /* between two: rounds to even */, 3e38f, 0};
    const uint16_t want[5] = {0x3f80, 0xc000, 0x3f80, 0x7f62, 0x4080};
    open_pair(&p);
    p.a.wire = p.b.wire = EXCHANGE_WIRE_BF16;
    send_slice(&p, 0, data, 5);
    data[4] = 4; /* what the transmission finds counts */
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    assert_int_equal(read_all(&p, S, &err), 0);
    assert_int_equal(p.seen.n, 1);
    assert_memory_equal(p.seen.to, want, sizeof(want));
    assert_int_equal(p.a.bytes_tx, FRAME_HEADER_SIZE + sizeof(want));
    const struct frame f = {.type = FRAME_GRADIENT, .step = 1};
    conn_send_payload(&p.a, &f, want, sizeof(want), crc32c(0, want, sizeof(want)));
    send_slice(&p, 2, data, 2);
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    assert_int_equal(read_all(&p, S, &err), 0);
    assert_int_equal(p.seen.n, 3);
}

/* Each side has its own format, whatever the handshake has compared. */
TEST(slices_of_another_wire)
{
    const float data[4] = {1, 2, 3, 4};
    for (int wire = EXCHANGE_WIRE_FP32; wire <= EXCHANGE_WIRE_BF16; wire++) {
        _cleanup_(close_pair) struct pair p;
        struct err err = {0};
        open_pair(&p);
        p.a.wire = (enum exchange_wire)wire;
        p.b.wire = (enum exchange_wire)(1 - wire);
        send_slice(&p, 0, data, 4);
        assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
        assert_int_equal(read_all(&p, S, &err), -EPROTO);
        print_message("# %s\n", err.msg);
        assert_string_equal(err.msg, wire == EXCHANGE_WIRE_FP32
                                         ? "GRADIENT has the wrong dtype 1, the wire is BF16"
                                         : "GRADIENT has the wrong dtype 2, the wire is FP32");
        assert_int_equal(p.seen.n, 0);
    }
}

/* More than the queue begins with, and twice, so that the ring wraps around. */
TEST(frames_keep_their_order)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    const float data[4] = {1, 2, 3, 4};
    open_pair(&p);
    uint64_t step = 0;
    for (int i = 0; i < 5; i++) {
        send_slice(&p, step++, data, 4);
    }
    assert_int_equal(conn_pump_tx(&p.a, 1, &err), 0); /* one leaves, the others stay */
    for (int i = 0; i < 60; i++) {
        send_slice(&p, step++, data, 4);
    }
    assert_true(conn_n_bulk(&p.a) > 0);
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    assert_int_equal(conn_n_bulk(&p.a), 0);
    assert_false(conn_wants_tx(&p.a));
    assert_int_equal(read_all(&p, S, &err), 0);
    assert_int_equal(p.seen.n, step);
    for (size_t i = 0; i < p.seen.n; i++) {
        assert_int_equal(p.seen.steps[i], i);
    }
    assert_memory_equal(p.seen.to, data, sizeof(data));
    assert_int_equal(p.a.bytes_tx, step * (FRAME_HEADER_SIZE + sizeof(data)));
    assert_int_equal(p.b.bytes_rx, p.a.bytes_tx);
}

/* Writes into b's stream past its peer's connection; b reads it at `now_ns`. */
static int trickle(struct pair *p, const uint8_t *bytes, size_t n, int64_t now_ns, struct err *err)
{
    assert_int_equal(send(p->a.fd, bytes, n, MSG_NOSIGNAL), n);
    return read_all(p, now_ns, err);
}

/* The header of a's next frame. */
static void make_frame(struct pair *p, struct frame *f, uint8_t *ret_header)
{
    f->from = p->a.self;
    f->sequence = p->a.tx_sequence++;
    frame_encode(f, &p->a.tx_key, ret_header);
}

/* Bytes that are no whole frame yet are no sign of life: whoever sends them
 * may not know the key. */
TEST(trickling_header)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    uint8_t header[FRAME_HEADER_SIZE];
    open_pair(&p);
    make_frame(&p, &(struct frame){.type = FRAME_HEARTBEAT}, header);
    for (size_t i = 0; i + 1 < sizeof(header); i++) {
        assert_int_equal(trickle(&p, header + i, 1, (int64_t)(2 + i) * S, &err), 0);
        assert_int_equal(p.b.heartbeat.last_heard_ns, S);
    }
    assert_int_equal(trickle(&p, header + sizeof(header) - 1, 1, 90 * S, &err), 0);
    assert_int_equal(p.b.heartbeat.last_heard_ns, 90 * S);
    make_frame(&p, &(struct frame){.type = FRAME_HEARTBEAT}, header);
    header[FRAME_HEADER_SIZE - 1] ^= 1;
    assert_int_equal(trickle(&p, header, sizeof(header), 95 * S, &err), -EPROTO);
    assert_int_equal(p.b.heartbeat.last_heard_ns, 90 * S);
}

/* A slow link must bring 64 KiB of a slice in the time of a silence. */
TEST(trickling_payload)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    uint8_t header[FRAME_HEADER_SIZE];
    _cleanup_(freep) uint8_t *zeros = calloc(1, FRAME_MAX_PAYLOAD);
    open_pair(&p);
    make_frame(&p,
               &(struct frame){.type = FRAME_GRADIENT,
                               .dtype = FRAME_DTYPE_F32,
                               .payload_len = FRAME_MAX_PAYLOAD,
                               .payload_crc = crc32c(0, zeros, FRAME_MAX_PAYLOAD)},
               header);
    assert_int_equal(trickle(&p, header, sizeof(header), 2 * S, &err), 0);
    assert_int_equal(p.seen.n_part, 0);
    assert_int_equal(trickle(&p, zeros, 1, 3 * S, &err), 0);
    assert_int_equal(p.seen.n_part, 1);
    assert_int_equal(trickle(&p, zeros, 1, 4 * S, &err), 0);
    assert_int_equal(p.seen.n_part, 2);
    assert_int_equal(p.b.heartbeat.last_heard_ns, S);
    for (int i = 1; i < 5; i++) {
        for (size_t sent = 0; sent < CONN_LIFE_BYTES; sent += 4096) {
            assert_int_equal(trickle(&p, zeros, 4096, (10 + i) * S, &err), 0);
        }
        assert_int_equal(p.b.heartbeat.last_heard_ns, (10 + i) * S);
        assert_int_equal(p.seen.n_part, 2 + (size_t)i * CONN_LIFE_BYTES);
    }
    assert_int_equal(trickle(&p, zeros, 1, 20 * S, &err), 0);
    assert_int_equal(p.b.heartbeat.last_heard_ns, 14 * S);
    assert_int_equal(p.seen.n, 0);
    for (size_t sent = 3 + 4 * CONN_LIFE_BYTES; sent < FRAME_MAX_PAYLOAD; sent += 4096) {
        const size_t left = FRAME_MAX_PAYLOAD - sent;
        assert_int_equal(trickle(&p, zeros, left < 4096 ? left : 4096, 21 * S, &err), 0);
    }
    assert_int_equal(p.seen.n, 1);
    const size_t n_part = p.seen.n_part;
    assert_true(n_part < FRAME_MAX_PAYLOAD); /* of the whole frame it was told otherwise */
    assert_int_equal(trickle(&p, header, 10, 22 * S, &err), 0);
    assert_int_equal(p.seen.n_part, n_part); /* a header is no payload */
}

/* A whole frame is a sign of life, not only a heartbeat. */
TEST(hears_the_peer)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    open_pair(&p);
    assert_int_equal(read_all(&p, 6 * S, &err), 0);
    assert_int_equal(p.b.heartbeat.last_heard_ns, S); /* nothing came */
    conn_send(&p.a, FRAME_HEARTBEAT, NULL, 0);
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    assert_int_equal(read_all(&p, 6 * S, &err), 0);
    assert_int_equal(p.seen.n, 1);
    assert_int_equal(p.b.heartbeat.last_heard_ns, 6 * S);
}

/* An ABORT overtakes what has not begun, and the frame that has begun is sent to its end. */
TEST(abort_overtakes)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    _cleanup_(freep) float *data = calloc(LEN, sizeof(float));
    open_pair(&p);
    conn_send(&p.a, FRAME_HEARTBEAT, NULL, 0);
    conn_drop_queue(&p.a);
    assert_false(conn_wants_tx(&p.a)); /* it had not begun */
    for (uint64_t step = 0; step < 3; step++) {
        send_slice(&p, step, data, LEN);
    }
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0); /* 1 MiB does not fit at once */
    assert_true(p.a.bytes_tx > 0 && p.a.bytes_tx < sizeof(float) * LEN);
    conn_drop_queue(&p.a);
    const uint8_t cause[12] = {11};
    conn_send(&p.a, FRAME_ABORT, cause, sizeof(cause));
    for (int i = 0; i < 1000 && conn_wants_tx(&p.a); i++) {
        assert_int_equal(read_all(&p, S, &err), 0);
        assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    }
    assert_int_equal(conn_n_bulk(&p.a), 0);
    assert_int_equal(read_all(&p, S, &err), 0);
    assert_int_equal(p.seen.n, 2);
    assert_int_equal(p.seen.types[0], FRAME_GRADIENT);
    assert_int_equal(p.seen.types[1], FRAME_ABORT);
}

/* Life signs and credits wait for the slice that has begun, not for those behind it. */
TEST(small_frames_go_first)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    _cleanup_(freep) float *data = calloc(LEN, sizeof(float));
    open_pair(&p);
    for (uint64_t step = 0; step < 3; step++) {
        send_slice(&p, step, data, LEN);
    }
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0); /* 1 MiB does not fit at once */
    assert_true(p.a.bytes_tx > 0 && p.a.bytes_tx < sizeof(float) * LEN);
    conn_send(&p.a, FRAME_HEARTBEAT, NULL, 0);
    conn_send_count(&p.a, FRAME_TAKEN, 9, 1);
    for (int i = 0; i < 1000 && conn_wants_tx(&p.a); i++) {
        assert_int_equal(read_all(&p, S, &err), 0);
        assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    }
    assert_int_equal(read_all(&p, S, &err), 0);
    static const enum frame_type want[] = {FRAME_GRADIENT, FRAME_HEARTBEAT, FRAME_TAKEN,
                                           FRAME_GRADIENT, FRAME_GRADIENT};
    static const uint64_t steps[] = {0, 0, 9, 1, 2};
    assert_int_equal(p.seen.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(p.seen.types[i], want[i]);
        assert_int_equal(p.seen.steps[i], steps[i]);
    }
}

TEST(budget_ends_a_turn)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    open_pair(&p);
    for (int i = 0; i < 3; i++) {
        conn_send(&p.a, FRAME_HEARTBEAT, NULL, 0);
    }
    assert_int_equal(conn_pump_tx(&p.a, 1, &err), 0);
    assert_int_equal(p.a.bytes_tx, FRAME_HEADER_SIZE);
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    assert_int_equal(conn_pump_rx(&p.b, S, 1, &handler, &p.seen, &err), 0);
    assert_int_equal(p.seen.n, 1);
    p.seen.stops = true; /* the handler ends it, too */
    assert_int_equal(read_all(&p, S, &err), 0);
    assert_int_equal(p.seen.n, 2);
}

/* The peer is gone: its last frames are read before that is reported, also after a failed send. */
TEST(peer_is_gone)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    open_pair(&p);
    conn_send(&p.a, FRAME_GOODBYE, NULL, 0);
    assert_int_equal(conn_pump_tx(&p.a, SIZE_MAX, &err), 0);
    conn_close(&p.a);
    conn_send(&p.b, FRAME_HEARTBEAT, NULL, 0);
    conn_send(&p.b, FRAME_HEARTBEAT, NULL, 0);
    assert_int_equal(conn_pump_tx(&p.b, SIZE_MAX, &err), 0); /* not reported by the sender */
    assert_false(conn_wants_tx(&p.b));
    conn_send(&p.b, FRAME_HEARTBEAT, NULL, 0);
    assert_false(conn_wants_tx(&p.b)); /* nothing is queued for a dead peer */
    assert_int_equal(read_all(&p, S, &err), -ECONNRESET);
    assert_int_equal(p.seen.n, 1);
    assert_int_equal(p.seen.types[0], FRAME_GOODBYE);
    assert_non_null(strstr(err.msg, "it closed the connection early"));
}

/* Queued before the keys were set and sent after: PROOF goes unsigned, and the
 * frame behind it not. */
TEST(handshake_is_not_signed)
{
    static const uint8_t zeros[FRAME_MAC_SIZE] = {0};
    const struct frame_id trainer = {7, 0, ROLE_TRAINER, 0}, server = {7, 0, ROLE_PSERVER, 0};
    const struct auth_key key = {{1}};
    struct err err = {0};
    uint8_t proof[HANDSHAKE_PROOF_SIZE] = {0}, got[FRAME_HEADER_SIZE + sizeof(proof)];
    struct conn c;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    conn_init(&c, fds[0], &trainer);
    conn_send(&c, FRAME_PROOF, proof, sizeof(proof));
    conn_secure(&c, &key, &key, &server, S);
    conn_send(&c, FRAME_HEARTBEAT, NULL, 0);
    assert_int_equal(conn_pump_tx(&c, SIZE_MAX, &err), 0);
    assert_int_equal(recv(fds[1], got, sizeof(got), MSG_WAITALL), sizeof(got));
    assert_memory_equal(got + FRAME_HEADER_SIZE - FRAME_MAC_SIZE, zeros, sizeof(zeros));
    assert_int_equal(recv(fds[1], got, FRAME_HEADER_SIZE, MSG_WAITALL), FRAME_HEADER_SIZE);
    assert_memory_not_equal(got + FRAME_HEADER_SIZE - FRAME_MAC_SIZE, zeros, sizeof(zeros));
    conn_close(&c);
    (void)close(fds[1]);
}

/* A connection over TCP: local sockets know no such mark. */
static void open_tcp(int ret[static 2])
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&addr, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ret[0], (struct sockaddr *)&addr, len), 0);
    ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(ret[1] >= 0);
    (void)close(listener);
}

static void send_bytes(int fd, size_t n)
{
    static const uint8_t zeros[4096];
    assert_int_equal(send(fd, zeros, n, 0), n);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static int option(int fd, int name)
{
    int value;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, name, &value, &len), 0);
    return value;
}

/* As if all but n bytes of a payload had come. */
static void wake_at(struct conn *c, uint32_t n)
{
    c->rx.state = PARSER_PAYLOAD;
    c->rx.got = 1;
    c->rx.frame.payload_len = n + 1;
    conn_wake_at_frame(c);
}

/* Where the kernel makes room for the mark, it never again offers the peer more than the mark. */
TEST(a_mark_leaves_the_window_as_it_is)
{
    static const struct frame_id self;
    int fds[2];
    _cleanup_(conn_close) struct conn c;
    open_tcp(fds);
    conn_init(&c, fds[1], &self);
    const int room = option(c.fd, SO_RCVBUF);
    wake_at(&c, 1 << 20);
    assert_int_equal(option(c.fd, SO_RCVBUF), room);
    assert_in_range(option(c.fd, SO_RCVLOWAT), room / 8, room / 2);
    (void)close(fds[0]);
}

TEST(poll_wakes_when_enough_has_come)
{
    static const struct frame_id self;
    uint8_t byte;
    int fds[2], n_here = 0;
    _cleanup_(conn_close) struct conn c;
    open_tcp(fds);
    conn_init(&c, fds[1], &self);
    wake_at(&c, 3000);
    send_bytes(fds[0], 2999);
    while (n_here < 2999) {
        assert_int_equal(ioctl(c.fd, SIOCINQ, &n_here), 0);
    }
    assert_false(is_readable(c.fd, 0));
    assert_int_equal(recv(c.fd, &byte, 1, MSG_DONTWAIT), 1); /* who looks finds it */
    wake_at(&c, 2999);
    send_bytes(fds[0], 1);
    assert_true(is_readable(c.fd, 120000));
    wake_at(&c, UINT32_MAX - 1);
    assert_false(is_readable(c.fd, 0));
    (void)close(fds[0]);
    assert_true(is_readable(c.fd, 120000));
}

/* The peer reads nothing, so that the kernel sends what its window takes, and keeps the rest. */
TEST(the_kernel_holds_little_that_is_not_sent)
{
    enum { LIMIT = 64 << 10, FLOATS = 256 << 10, N = 16 };
    static const struct frame_id self;
    static float data[FLOATS];
    int fds[2], n_unsent = 0;
    _cleanup_(conn_close) struct conn c;
    struct err err;
    open_tcp(fds);
    conn_init(&c, fds[1], &self);
    conn_limit_unsent(&c, LIMIT);
    for (uint32_t i = 0; i < N; i++) {
        const struct frame f = {.type = FRAME_GRADIENT, .slice = i};
        conn_send_slice(&c, &f, data, FLOATS);
    }
    int64_t end_ns = clock_monotonic_ns() + S / 5;
    do { /* its window may still grow */
        assert_int_equal(conn_pump_tx(&c, SIZE_MAX, &err), 0);
        assert_true(conn_wants_tx(&c));
        assert_int_equal(ioctl(c.fd, SIOCOUTQNSD, &n_unsent), 0);
        assert_in_range(n_unsent, 0, 2 * LIMIT);
    } while (clock_monotonic_ns() < end_ns);
    (void)close(fds[0]);
}

static void *say_farewell(void *conn)
{
    struct conn *conns[] = {conn};
    conn_farewell(conns, 1, 240 * S);
    return NULL;
}

/* It ends its own stream first; otherwise two peers would wait for each other. */
TEST(farewell_ends_the_stream)
{
    _cleanup_(close_pair) struct pair p;
    struct err err = {0};
    pthread_t thread;
    open_pair(&p);
    assert_int_equal(pthread_create(&thread, NULL, say_farewell, &p.a), 0);
    struct pollfd fd = {.fd = p.b.fd, .events = POLLIN};
    const int n_ready = poll(&fd, 1, 120000); /* much less than the farewell waits */
    const int r = read_all(&p, S, &err);
    conn_close(&p.b);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(n_ready, 1);
    assert_int_equal(r, -ECONNRESET);
}

/* The frames of a farewell arrive; a peer that does not close its end is waited for no longer than
 * the limit. */
TEST(farewells)
{
    static const int64_t limit_ns = S / 20;
    struct pair p, gone;
    struct err err = {0};
    open_pair(&p);
    open_pair(&gone);
    conn_close(&gone.a);
    conn_send(&p.a, FRAME_ABORT, "the cause, 12", 12);
    struct conn *conns[] = {&gone.a, &p.a};
    int64_t begin_ns = clock_monotonic_ns();
    conn_farewell(conns, 2, limit_ns);
    const int64_t took_ns = clock_monotonic_ns() - begin_ns;
    print_message("# a farewell of 0.05 s took %.2f s\n", (double)took_ns / 1e9);
    assert_true(took_ns >= limit_ns && took_ns < 120 * S);
    assert_int_equal(p.a.fd, -1);
    assert_int_equal(read_all(&p, S, &err), -ECONNRESET);
    assert_int_equal(p.seen.n, 1);
    close_pair(&p);
    close_pair(&gone);

    open_pair(&p); /* the peer has closed: no wait */
    conn_send(&p.b, FRAME_HEARTBEAT, NULL, 0);
    assert_int_equal(conn_pump_tx(&p.b, SIZE_MAX, &err), 0);
    assert_int_equal(shutdown(p.b.fd, SHUT_WR), 0);
    struct conn *only[] = {&p.a};
    begin_ns = clock_monotonic_ns();
    conn_farewell(only, 1, 240 * S);
    assert_true(clock_monotonic_ns() - begin_ns < 120 * S);
    close_pair(&p);
}

struct reader {
    int fd;
    size_t n;     /* read so far */
    int last_err; /* 0: the stream has ended */
};

/* Says after each part that it is there. */
static void *read_parts(void *ctx)
{
    struct reader *r = ctx;
    static uint8_t part[128 << 10];
    ssize_t n;
    do {
        n = recv(r->fd, part, sizeof(part), MSG_WAITALL);
        r->n += n > 0 ? (size_t)n : 0;
        (void)send(r->fd, "x", 1, MSG_NOSIGNAL);
    } while (n > 0);
    r->last_err = n < 0 ? errno : 0;
    return NULL;
}

/* What is on its way takes 4 s, and the limit is 2 s. A socket that is closed is reset by the next
 * byte that comes, and the rest is lost. */
TEST(farewell_waits_while_data_moves)
{
    enum { FLOATS = 256 << 10, N = 5 }; /* 5 MiB */
    static const struct frame_id self;
    static float data[FLOATS];
    int fds[2];
    struct conn c;
    pthread_t thread;
    open_tcp(fds);
    const int bytes_a_second = 5 << 18; /* of the link, so to speak */
    assert_int_equal(
        setsockopt(fds[1], SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_a_second, sizeof(bytes_a_second)),
        0);
    conn_init(&c, fds[1], &self);
    for (uint32_t i = 0; i < N; i++) {
        const struct frame f = {.type = FRAME_GRADIENT, .slice = i};
        conn_send_slice(&c, &f, data, FLOATS);
    }
    struct reader reader = {.fd = fds[0]};
    assert_int_equal(pthread_create(&thread, NULL, read_parts, &reader), 0);
    struct conn *conns[] = {&c};
    const int64_t begin_ns = clock_monotonic_ns();
    conn_farewell(conns, 1, 2 * S);
    assert_true(clock_monotonic_ns() - begin_ns > 2 * S);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reader.last_err, 0);
    assert_true(reader.n >= N * FLOATS * sizeof(float));
    (void)close(fds[0]);
}
