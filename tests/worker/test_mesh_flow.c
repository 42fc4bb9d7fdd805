/* What a call over TCP sends while others send to it. By the ring it flows: no step waits until its numbers have left, and
 * none sends what has not come. By doubling nothing changes before it has left. Rank 1 of three, or of two, is real; the
 * test is its neighbours, at the other ends of socket pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "worker/comm/mesh.h"

#define CHUNK (MESH_CHUNK_BYTES / sizeof(float))
#define BLOCK (COLLECTIVE_BLOCK_BYTES / sizeof(float))
#define N (3 * BLOCK)
#define N_DOUBLED (COLLECTIVE_DOUBLING_MOST_BYTES / sizeof(float)) /* more than a socket holds */
#define WAIT_NS INT64_C(10000000000)
#define FRAMES_MAX 16

static const struct auth_key up = {{1}}, down = {{2}};

struct seen { /* what rank 2 has read */
    struct frame frames[FRAMES_MAX];
    size_t n;
    float numbers[CHUNK]; /* of the last one */
};

struct rig {
    struct mesh mesh;
    struct conn before, after; /* ranks 0 and 2; of two ranks the same one, which is `after` */
    struct seen seen;
    size_t n;
    float *numbers; /* (n) of rank 1, reduced in place */
    pthread_t thread;
    int result;
};

static struct frame_id rank_id(uint32_t i)
{
    return (struct frame_id){7, 0, ROLE_WORKER, i};
}

static void join(struct rig *r, uint32_t i, struct conn *end)
{
    int fds[2];
    const struct frame_id self = rank_id(1), other = rank_id(i);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    struct mesh_peer *p = &r->mesh.peers[i];
    conn_init(&p->conn, fds[0], &self);
    conn_init(end, fds[1], &other);
    conn_secure(&p->conn, &up, &down, &other, clock_monotonic_ns());
    conn_secure(end, &down, &up, &self, clock_monotonic_ns());
    p->state = MESH_JOINED;
}

static void *call(void *arg)
{
    struct rig *r = arg;
    struct err err;
    r->result = mesh_all_reduce(&r->mesh, r->numbers, r->numbers, r->n, &err);
    return NULL;
}

static struct rig *rig_new(uint32_t n_ranks, size_t n)
{
    static const struct net_addr nowhere[3];
    struct rig *r = calloc(1, sizeof(*r));
    r->n = n;
    r->mesh.params.self = rank_id(1);
    r->mesh.params.n_ranks = n_ranks;
    r->mesh.params.algorithm = n_ranks == 2 ? COLLECTIVE_DOUBLING : COLLECTIVE_RING;
    mesh_peers_init(&r->mesh, nowhere);
    mesh_share_init(&r->mesh);
    r->mesh.landing = calloc(CHUNK, sizeof(float));
    heartbeat_begin(&r->mesh.self, clock_monotonic_ns());
    r->before.fd = -1;
    join(r, 0, n_ranks == 2 ? &r->after : &r->before);
    if (n_ranks == 3) {
        join(r, 2, &r->after);
    }
    r->numbers = calloc(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        r->numbers[i] = (float)(i % 1000);
    }
    assert_int_equal(pthread_create(&r->thread, NULL, call, r), 0);
    return r;
}

/* The neighbours leave, which ends a call that has not ended. */
static void rig_free(struct rig *r)
{
    conn_close(&r->before);
    conn_close(&r->after);
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    assert_int_equal(r->result < 0, r->mesh.params.n_ranks == 3);
    mesh_share_done(&r->mesh);
    mesh_peers_done(&r->mesh);
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

/* Until rank 2 has n frames of numbers, for at most `limit_ns`. */
static void read_for(struct rig *r, size_t n, int64_t limit_ns)
{
    const struct conn_handler handler = {on_place, on_frame, NULL};
    const int64_t until_ns = clock_monotonic_ns() + limit_ns;
    struct err err;
    while (r->seen.n < n && clock_monotonic_ns() < until_ns) {
        struct pollfd p = {.fd = r->after.fd, .events = POLLIN};
        (void)poll(&p, 1, 100);
        assert_true(conn_pump_rx(&r->after, clock_monotonic_ns(), MESH_CHUNK_BYTES, &handler,
                                 &r->seen, &err) >= 0);
    }
}

static void read_frames(struct rig *r, size_t n)
{
    read_for(r, n, WAIT_NS);
    assert_int_equal(r->seen.n, n);
}

/* A neighbour sends n numbers from `at` on, which are all `x`, in chunks. */
static void send_numbers(struct rig *r, struct conn *c, size_t at, size_t n, float x)
{
    static float numbers[BLOCK];
    const int64_t until_ns = clock_monotonic_ns() + WAIT_NS;
    struct err err;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = x;
    }
    for (size_t k = 0; k * CHUNK < n; k++) {
        const struct frame f = {.type = FRAME_GRADIENT,
                                .offset = at + k * CHUNK,
                                .slice = (uint32_t)k,
                                .message = (uint32_t)r->n};
        conn_send_slice(c, &f, numbers + k * CHUNK, n < CHUNK ? n : CHUNK);
    }
    while (conn_wants_tx(c) && clock_monotonic_ns() < until_ns) {
        struct pollfd p = {.fd = c->fd, .events = POLLOUT};
        (void)poll(&p, 1, 100);
        assert_true(conn_pump_tx(c, SIZE_MAX, &err) >= 0);
    }
    assert_false(conn_wants_tx(c));
}

static void send_block(struct rig *r, size_t block, float x)
{
    send_numbers(r, &r->before, block * BLOCK, BLOCK, x);
}

/* Rank 2 reads nothing, so nothing leaves rank 1, but for what the socket holds, which is less than a block. */
static void a_step_ends_though_its_numbers_have_not_left(void **state)
{
    (void)state;
    struct rig *r = rig_new(3, N);
    send_block(r, 2, 0.5f);
    send_block(r, 1, 0.25f);
    read_frames(r, 3 * BLOCK / CHUNK); /* its own of block 0, and the sums of 2 and 1 */
    const struct frame *f = &r->seen.frames[3 * BLOCK / CHUNK - 1];
    assert_int_equal(f->type, FRAME_PARAMS);
    assert_int_equal(f->offset, 2 * BLOCK - CHUNK);
    for (size_t i = 0; i < CHUNK; i++) {
        assert_true(r->seen.numbers[i] == (float)((2 * BLOCK - CHUNK + i) % 1000) + 0.25f);
    }
    rig_free(r);
}

static void nothing_goes_on_before_it_has_come(void **state)
{
    (void)state;
    struct rig *r = rig_new(3, N);
    read_for(r, BLOCK / CHUNK + 1, INT64_C(200000000));
    assert_int_equal(r->seen.n, BLOCK / CHUNK); /* its own numbers of block 0 */
    send_block(r, 2, 0.5f);
    read_frames(r, 2 * BLOCK / CHUNK);
    const struct frame *f = &r->seen.frames[2 * BLOCK / CHUNK - 1];
    assert_int_equal(f->type, FRAME_GRADIENT);
    assert_int_equal(f->offset, 3 * BLOCK - CHUNK);
    assert_true(r->seen.numbers[0] == (float)((3 * BLOCK - CHUNK) % 1000) + 0.5f);
    rig_free(r);
}

/* The other rank reads nothing until all that it sends has come. */
static void what_is_doubled_leaves_before_it_changes(void **state)
{
    (void)state;
    struct rig *r = rig_new(2, N_DOUBLED);
    send_numbers(r, &r->after, 0, N_DOUBLED, 0.5f);
    read_frames(r, 1);
    for (size_t i = 0; i < N_DOUBLED; i++) {
        assert_true(r->seen.numbers[i] == (float)(i % 1000));
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_ends_though_its_numbers_have_not_left),
        cmocka_unit_test(nothing_goes_on_before_it_has_come),
        cmocka_unit_test(what_is_doubled_leaves_before_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
