/* What a step over TCP sends while others send to it. Rank 1 of two is real; the test is rank 0, at
 * the other end of a socket pair, which holds less than a message. */
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/test.h"
#include "base/clock.h"
#include "worker/comm/collective/mesh.h"

#define CHUNK (MESH_CHUNK_BYTES / sizeof(float))
#define N (COLLECTIVE_DOUBLING_MOST_BYTES / sizeof(float))
#define WAIT_NS INT64_C(120000000000)
#define FRAMES_MAX 2

static const struct auth_key up = {{1}}, down = {{2}};

struct seen { /* what rank 0 has read */
    struct frame frames[FRAMES_MAX];
    size_t n;
    float numbers[CHUNK]; /* of the last one */
};

struct rig {
    struct mesh mesh;
    struct conn other; /* rank 0 */
    struct seen seen;
    float *numbers; /* (N) of rank 1, reduced in place */
    pthread_t thread;
    int result;
};

static struct frame_id rank_id(uint32_t i)
{
    return (struct frame_id){7, 0, ROLE_WORKER, i};
}

static void join(struct rig *r)
{
    int fds[2];
    const struct frame_id self = rank_id(1), other = rank_id(0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    struct meet_peer *p = &r->mesh.peers[0];
    conn_init(&p->conn, fds[0], &self);
    conn_init(&r->other, fds[1], &other);
    conn_secure(&p->conn, &up, &down, &other, clock_monotonic_ns());
    conn_secure(&r->other, &down, &up, &self, clock_monotonic_ns());
    p->state = MEET_JOINED;
}

static void *call(void *arg)
{
    struct rig *r = arg;
    struct err err;
    r->result = mesh_all_reduce(&r->mesh, r->numbers, r->numbers, N, &err);
    return NULL;
}

static struct rig *rig_new(void)
{
    static const struct net_addr nowhere[2];
    struct rig *r = calloc(1, sizeof(*r));
    r->mesh.params.gang.self = r->mesh.meet.params.self = rank_id(1);
    r->mesh.params.n_ranks = 2;
    r->mesh.params.algorithm = COLLECTIVE_DOUBLING;
    mesh_peers_init(&r->mesh, nowhere);
    mesh_share_init(&r->mesh);
    r->mesh.landing = calloc(CHUNK, sizeof(float));
    meet_begin(&r->mesh.meet);
    join(r);
    r->numbers = calloc(N, sizeof(float));
    for (size_t i = 0; i < N; i++) {
        r->numbers[i] = (float)(i % 1000);
    }
    assert_int_equal(pthread_create(&r->thread, NULL, call, r), 0);
    return r;
}

static void rig_free(struct rig *r)
{
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    assert_int_equal(r->result, 0);
    conn_close(&r->other);
    mesh_share_done(&r->mesh);
    mesh_peers_done(&r->mesh);
    for (size_t i = 0; i < N; i++) {
        assert_true(r->numbers[i] == (float)(i % 1000) + 0.5f);
    }
    free(r->mesh.landing);
    free(r->numbers);
    free(r);
}

static void *on_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    (void)c;
    (void)f;
    (void)err;
    return ((struct seen *)ctx)->numbers;
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct seen *seen = ctx;
    (void)c;
    (void)payload;
    (void)err;
    if (f->type == FRAME_GRADIENT || f->type == FRAME_PARAMS) {
        assert_true(seen->n < FRAMES_MAX);
        seen->frames[seen->n++] = *f;
    }
    return 1;
}

/* Until rank 0 has a frame of numbers. */
static void read_frame(struct rig *r)
{
    const struct conn_handler handler = {on_place, on_frame, NULL};
    const int64_t until_ns = clock_monotonic_ns() + WAIT_NS;
    struct err err;
    while (r->seen.n == 0 && clock_monotonic_ns() < until_ns) {
        struct pollfd p = {.fd = r->other.fd, .events = POLLIN};
        (void)poll(&p, 1, 100);
        assert_true(conn_pump_rx(&r->other, clock_monotonic_ns(), MESH_CHUNK_BYTES, &handler,
                                 &r->seen, &err) >= 0);
    }
    assert_int_equal(r->seen.n, 1);
}

/* Rank 0 sends its message, of numbers that are all `x`, and rank 1 takes all of
 * it out of the socket. */
static void send_message(struct rig *r, float x)
{
    static float numbers[N];
    const int64_t until_ns = clock_monotonic_ns() + WAIT_NS;
    const struct frame f = {.type = FRAME_GRADIENT, .message = N};
    struct err err;
    for (size_t i = 0; i < N; i++) {
        numbers[i] = x;
    }
    conn_send_slice(&r->other, &f, numbers, N);
    while (conn_wants_tx(&r->other) && clock_monotonic_ns() < until_ns) {
        struct pollfd p = {.fd = r->other.fd, .events = POLLOUT};
        (void)poll(&p, 1, 100);
        assert_true(conn_pump_tx(&r->other, SIZE_MAX, &err) >= 0);
    }
    assert_false(conn_wants_tx(&r->other));
    int n_left = 1;
    while (n_left > 0 && clock_monotonic_ns() < until_ns) {
        assert_int_equal(ioctl(r->other.fd, SIOCOUTQ, &n_left), 0);
        (void)sched_yield(); /* cannot fail */
    }
    assert_int_equal(n_left, 0);
}

/* Rank 0 reads nothing until all that it sends has come. */
TEST(what_is_doubled_leaves_before_it_changes)
{
    struct rig *r = rig_new();
    send_message(r, 0.5f);
    read_frame(r);
    for (size_t i = 0; i < N; i++) {
        assert_true(r->seen.numbers[i] == (float)(i % 1000));
    }
    rig_free(r);
}
