/* One worker of a ring, between two neighbours that are the test: what each of them is told, and
 * when. Rings that are whole: test_ring.c. */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "ring_rig.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/link/fault.h"
#include "worker/comm/link/handshake.h"
#include "worker/comm/link/net.h"

#define PATIENCE_MS 60000

struct neighbour {
    struct conn conn;
    struct handshake handshake; /* worker/0 dials worker/1, which dials worker/2 */
    bool seen[FRAME_TYPE_END];  /* frames that have come */
    struct fault told;          /* by ABORT */
};

static void wait_for(int fd, short events)
{
    struct pollfd it = {.fd = fd, .events = events};
    assert_int_equal(poll(&it, 1, PATIENCE_MS), 1);
}

static void say(struct neighbour *n, enum frame_type type, const void *payload, size_t len)
{
    struct err err;
    conn_send(&n->conn, type, payload, len);
    assert_true(conn_pump_tx(&n->conn, SIZE_MAX, &err) >= 0);
    assert_false(conn_wants_tx(&n->conn)); /* these are a few bytes */
}

/* ---- the handshake ---- */

static void on_challenge(struct neighbour *n, const struct frame *f, const uint8_t *payload)
{
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    struct handshake_keys keys;
    struct err err;
    assert_int_equal(handshake_on_challenge(&n->handshake, f, payload, proof, &err), 0);
    say(n, FRAME_PROOF, proof, sizeof(proof));
    handshake_keys(&n->handshake, &keys);
    conn_secure(&n->conn, &keys.from_trainer, &keys.from_server, &f->from, 0);
}

static void on_hello(struct neighbour *n, const struct frame *f, const uint8_t *payload)
{
    uint8_t challenge[HANDSHAKE_CHALLENGE_SIZE];
    handshake_on_hello(&n->handshake, f, payload, challenge);
    say(n, FRAME_CHALLENGE, challenge, sizeof(challenge));
}

/* No WELCOME: the test says when. */
static void on_proof(struct neighbour *n, const struct frame *f, const uint8_t *payload)
{
    struct handshake_keys keys;
    struct err err;
    assert_int_equal(handshake_on_proof(&n->handshake, f, payload, &err), 0);
    handshake_keys(&n->handshake, &keys);
    conn_secure(&n->conn, &keys.from_server, &keys.from_trainer, &f->from, 0);
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct neighbour *n = ctx;
    n->seen[f->type] = true;
    switch (f->type) {
    case FRAME_CHALLENGE:
        on_challenge(n, f, payload);
        break;
    case FRAME_HELLO:
        on_hello(n, f, payload);
        break;
    case FRAME_PROOF:
        on_proof(n, f, payload);
        break;
    case FRAME_ABORT:
        assert_int_equal(fault_from_abort(&n->told, f, payload, &c->self, err), 0);
        break;
    default:
        break;
    }
    return 0;
}

/* ---- what it hears ---- */

/* False at the end of the connection. */
static bool listen_once(struct neighbour *n)
{
    static const struct conn_handler handler = {.frame = on_frame};
    struct err err;
    wait_for(n->conn.fd, POLLIN);
    return conn_pump_rx(&n->conn, 0, SIZE_MAX, &handler, n, &err) >= 0;
}

/* False if the connection ends before. */
static bool hears(struct neighbour *n, enum frame_type type)
{
    while (!n->seen[type] && listen_once(n)) {
    }
    return n->seen[type];
}

static void hears_the_end(struct neighbour *n)
{
    while (listen_once(n)) {
    }
}

/* ---- its two kinds ---- */

static void take(struct neighbour *n, int fd, const struct exchange_ring_params *self)
{
    struct err err;
    assert_true(fd >= 0);
    assert_int_equal(net_tune(fd, &err), 0);
    *n = (struct neighbour){.seen = {false}};
    conn_init(&n->conn, fd, &self->gang.self);
    memcpy(n->handshake.secret, self->gang.secret, sizeof(self->gang.secret));
}

/* Worker `index` accepts the one before it, which has proved the secret and waits for WELCOME. */
static void be_dialled(struct neighbour *n, const struct ring_rig *rig, uint32_t index)
{
    const struct exchange_ring_params self = ring_rig_params(rig, index);
    wait_for(self.gang.listen_fd, POLLIN);
    take(n, accept(self.gang.listen_fd, NULL, NULL), &self);
    n->handshake.server.id = self.gang.self;
    memcpy(n->handshake.server.digest, self.gang.digest, sizeof(self.gang.digest));
    assert_true(hears(n, FRAME_PROOF));
}

/* Worker `index` joins the next one. */
static void dial(struct neighbour *n, const struct ring_rig *rig, uint32_t index)
{
    const struct exchange_ring_params self = ring_rig_params(rig, index);
    const int listener = rig->listen_fds[ring_next(rig->n_ranks, index)];
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in addr;
    socklen_t len = sizeof(addr);
    uint8_t hello[HANDSHAKE_HELLO_SIZE];
    assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
    take(n, fd, &self);
    n->handshake.trainer.id = self.gang.self;
    memcpy(n->handshake.trainer.digest, self.gang.digest, sizeof(self.gang.digest));
    handshake_hello(&n->handshake, hello);
    say(n, FRAME_HELLO, hello, sizeof(hello));
    assert_true(hears(n, FRAME_WELCOME));
}

/* worker/1 between two neighbours, of which the one before has joined. */
static struct exchange *stand_between(struct ring_rig *rig, struct neighbour *prev,
                                      struct neighbour *next)
{
    struct exchange *x;
    struct err err = {0};
    ring_rig_init(rig, 64, 3, 0);
    const struct exchange_ring_params p = ring_rig_params(rig, 1);
    assert_int_equal(exchange_ring_new(&p, &x, &err), 0);
    be_dialled(next, rig, 2);
    dial(prev, rig, 0);
    return x;
}

/* A worker whose neighbour dies without a word while the other one has not welcomed it yet: that
 * one would name this worker, which ends. */
TEST(who_welcomes_late_hears_who_died)
{
    struct ring_rig rig;
    struct neighbour prev, next;
    struct exchange_fault fault;
    struct err err = {0};
    struct exchange *x = stand_between(&rig, &prev, &next);
    assert_int_equal(shutdown(prev.conn.fd, SHUT_WR), 0);
    hears_the_end(&prev); /* so worker/1 has met it */
    say(&next, FRAME_WELCOME, NULL, 0);
    assert_true(hears(&next, FRAME_ABORT));
    print_message("# worker/2 is told: %s\n", next.told.message);
    assert_true(next.told.has_peer);
    assert_int_equal(next.told.peer.role, ROLE_WORKER);
    assert_int_equal(next.told.peer.index, 0);
    conn_close(&prev.conn);
    conn_close(&next.conn);
    assert_true(x->ops->barrier(x, &err) < 0);
    x->ops->fault(x, &fault);
    assert_int_equal(fault.exit_code, 11);
    assert_string_equal(fault.peer, "worker/0");
    x->ops->free(x);
}

/* The step after the last number is not this one, the first. */
TEST(parameters_of_no_step_are_not_taken)
{
    struct ring_rig rig;
    struct neighbour prev, next;
    struct err err = {0};
    struct exchange *x = stand_between(&rig, &prev, &next);
    say(&next, FRAME_WELCOME, NULL, 0);
    conn_send_count(&next.conn, FRAME_TAKEN, UINT64_MAX, 1);
    assert_true(conn_pump_tx(&next.conn, SIZE_MAX, &err) >= 0);
    assert_true(hears(&prev, FRAME_ABORT));
    print_message("# worker/0 is told: %s\n", prev.told.message);
    assert_non_null(strstr(prev.told.message, "TAKEN of 1 slices of step 18446744073709551615 is"));
    assert_int_equal(prev.told.peer.index, 2);
    conn_close(&prev.conn);
    conn_close(&next.conn);
    assert_true(x->ops->barrier(x, &err) < 0);
    x->ops->free(x);
}

/* ---- a frame that comes slowly ---- */

#define N_PARAMS 100000

/* The first gradient that n has to send, as the bytes of its frame: owned. */
static uint8_t *first_gradient(struct neighbour *n, const struct ring_rig *rig, size_t *ret_len)
{
    static const float zeros[N_PARAMS];
    const uint32_t id = ring_hop_at(&rig->slices, 0, 0).slice;
    const struct slice slice = slices_get(&rig->slices, id);
    const struct frame f = {.type = FRAME_GRADIENT, .slice = id, .offset = slice.offset};
    const int fd = n->conn.fd;
    struct err err;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    n->conn.fd = pair[0];
    conn_send_slice(&n->conn, &f, zeros, slice.len);
    assert_true(conn_pump_tx(&n->conn, SIZE_MAX, &err) >= 0);
    assert_false(conn_wants_tx(&n->conn)); /* it is less than a local socket holds */
    n->conn.fd = fd;
    *ret_len = FRAME_HEADER_SIZE + slice.len * sizeof(float);
    uint8_t *bytes = malloc(*ret_len);
    assert_int_equal(recv(pair[1], bytes, *ret_len, MSG_WAITALL), *ret_len);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return bytes;
}

/* The other end of a connection within this process. */
static int other_end(int fd)
{
    struct sockaddr_in self, peer;
    socklen_t len = sizeof(self);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&self, &len), 0);
    for (int other = 0; other < 1024; other++) {
        len = sizeof(peer);
        if (getpeername(other, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == self.sin_port) {
            return other;
        }
    }
    fail_msg("nobody in this process has the other end");
    return -1;
}

static void send_part(int fd, const uint8_t *bytes, size_t n)
{
    assert_int_equal(send(fd, bytes, n, 0), n);
    const int other = other_end(fd);
    int unsent = 1, unread = 1;
    for (int i = 0; (unsent > 0 || unread > 0) && i < PATIENCE_MS; i++) {
        assert_int_equal(ioctl(fd, SIOCOUTQ, &unsent), 0);
        assert_int_equal(ioctl(other, SIOCINQ, &unread), 0);
        (void)poll(NULL, 0, 1); /* nothing announces it */
    }
    assert_int_equal(unread, 0);
}

#define SOON_NS (HEARTBEAT_SILENCE_NS / 2)
#define TRIES 5 /* on a machine that stands still */

static int64_t time_to_read_parts(void)
{
    struct ring_rig rig;
    struct exchange *x;
    struct neighbour prev, next;
    struct err err = {0};
    size_t len;
    ring_rig_init(&rig, N_PARAMS, 3, 0);
    const struct exchange_ring_params p = ring_rig_params(&rig, 1);
    assert_int_equal(exchange_ring_new(&p, &x, &err), 0);
    be_dialled(&next, &rig, 2);
    dial(&prev, &rig, 0);
    say(&next, FRAME_WELCOME, NULL, 0);
    _cleanup_(freep) uint8_t *bytes = first_gradient(&prev, &rig, &len);
    const int64_t begin_ns = clock_monotonic_ns();
    send_part(prev.conn.fd, bytes, len / 2);
    send_part(prev.conn.fd, bytes + len / 2, len / 4);
    const int64_t took_ns = clock_monotonic_ns() - begin_ns;
    conn_close(&prev.conn);
    conn_close(&next.conn);
    assert_true(x->ops->barrier(x, &err) < 0);
    x->ops->free(x);
    return took_ns;
}

/* Nobody wakes for a part of a frame; who does not read it takes a slow
 * neighbour for a silent one. */
TEST(parts_of_a_frame_are_read)
{
    int64_t took_ns = SOON_NS;
    for (int i = 0; i < TRIES && took_ns >= SOON_NS; i++) {
        took_ns = time_to_read_parts();
    }
    assert_in_range(took_ns, 0, SOON_NS - 1);
}
