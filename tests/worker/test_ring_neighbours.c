/* One worker of a ring, between two neighbours that are the test: what each of them is told, and when. Rings that are whole:
 * test_ring.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ring_rig.h"
#include "worker/comm/conn.h"
#include "worker/comm/fault.h"
#include "worker/comm/handshake.h"
#include "worker/comm/net.h"

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
    conn_init(&n->conn, fd, &self->self);
    memcpy(n->handshake.secret, self->secret, sizeof(self->secret));
}

/* Worker `index` accepts the one before it, which has proved the secret and waits for WELCOME. */
static void be_dialled(struct neighbour *n, const struct ring_rig *rig, uint32_t index)
{
    const struct exchange_ring_params self = ring_rig_params(rig, index);
    wait_for(self.listen_fd, POLLIN);
    take(n, accept(self.listen_fd, NULL, NULL), &self);
    n->handshake.server.id = self.self;
    memcpy(n->handshake.server.digest, self.digest, sizeof(self.digest));
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
    n->handshake.trainer.id = self.self;
    memcpy(n->handshake.trainer.digest, self.digest, sizeof(self.digest));
    handshake_hello(&n->handshake, hello);
    say(n, FRAME_HELLO, hello, sizeof(hello));
    assert_true(hears(n, FRAME_WELCOME));
}

/* A worker whose neighbour dies without a word while the other one has not welcomed it yet: that one would name this worker,
 * which ends. */
static void who_welcomes_late_hears_who_died(void **state)
{
    (void)state;
    struct ring_rig rig;
    struct exchange *x;
    struct neighbour prev, next;
    struct exchange_fault fault;
    struct err err = {0};
    ring_rig_init(&rig, 64, 3, 0);
    const struct exchange_ring_params p = ring_rig_params(&rig, 1);
    assert_int_equal(exchange_ring_new(&p, &x, &err), 0);
    be_dialled(&next, &rig, 2);
    dial(&prev, &rig, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_welcomes_late_hears_who_died),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
