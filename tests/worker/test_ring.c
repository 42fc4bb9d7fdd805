/* Ring all-reduce as a whole: rings of threads on loopback. Sums to the bit, the bound against the
 * order of one process, tiny sockets, the barrier, and who is named when something is wrong. Dead
 * and stopped processes: test_ring_faults.py. */
#include <float.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "ring_rig.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/link/handshake.h"

/* The linker puts it in the place of net_tune for the exchange (--wrap). */
int __real_net_tune(int fd, struct err *err);
int __wrap_net_tune(int fd, struct err *err);
static atomic_bool has_tiny_sockets;

int __wrap_net_tune(int fd, struct err *err)
{
    if (atomic_load(&has_tiny_sockets)) {
        const int least = 16 << 10;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least,
                         sizeof(least)); /* a new socket: cannot fail */
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
    }
    return __real_net_tune(fd, err);
}

/* All ended well, with these parameters. */
static void check_all(struct ring_rig *rig, const float *want)
{
    size_t n_applied = 0;
    for (uint32_t i = 0; i < rig->n_ranks; i++) {
        const struct ring_worker *w = &rig->workers[i];
        print_message("# worker %u: %s\n", i, w->err.msg);
        assert_int_equal(w->result, 0);
        assert_int_equal(w->after_the_end, -EPIPE);
        assert_memory_equal(w->params, want, rig->n_params * sizeof(float));
        assert_int_equal(w->n_applied, slices_server_params(&rig->slices, i));
        n_applied += w->n_applied;
    }
    assert_int_equal(n_applied,
                     rig->n_params); /* each rank updates its part, and nobody another's */
}

TEST(sums_in_the_order_of_the_ring)
{
    static const struct {
        const char *name;
        size_t n;
        uint32_t ranks;
        size_t slice_bytes, window_bytes;
    } rows[] = {
        {"one", 10000, 1, 0, RING_WINDOW_BYTES},
        {"two", 10000, 2, 4096, RING_WINDOW_BYTES},
        {"three", 100003, 3, 0, RING_WINDOW_BYTES},
        {"five, and the fewest buffers", 50001, 5, 512, 1},
        {"eight, many small slices", 50000, 8, 256, 4096},
        {"more ranks than floats", 5, 8, 0, RING_WINDOW_BYTES},
        {"one float", 1, 2, 0, RING_WINDOW_BYTES},
        {"slices of 256 KiB", IS_SANITIZED ? 600003 : 2000003, 4, 0, RING_WINDOW_BYTES},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(ring_rig_done) struct ring_rig rig;
        ring_rig_init(&rig, rows[i].n, rows[i].ranks, rows[i].slice_bytes);
        rig.window_bytes = rows[i].window_bytes;
        ring_rig_run(&rig);
        _cleanup_(freep) float *want = ring_rig_want(&rig, rig.warmup + rig.steps, false);
        check_all(&rig, want);
        const double part = (double)(rows[i].ranks - 1) / rows[i].ranks;
        const double bytes = (double)rows[i].n * sizeof(float);
        const double moved = (double)rig.workers[0].times.bytes_tx;
        print_message("# %.0f bytes of %.0f\n", moved, bytes);
        /* Of a few floats most ranks own none. */
        assert_true(rows[i].n < 1000 || moved >= 2 * part * bytes * 0.9);
        assert_true(rows[i].n < 1000000 || moved <= 2 * part * bytes * 1.1);
    }
}

/* Both directions of all connections are full all the time, and nobody stops reading. */
TEST(tiny_sockets_do_not_get_stuck)
{
    static const struct {
        uint32_t ranks;
        size_t slice_bytes, window_bytes;
    } rows[] = {{2, 0, RING_WINDOW_BYTES}, {3, 65536, 4096}, {4, 65536, 1}};
    atomic_store(&has_tiny_sockets, true);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(ring_rig_done) struct ring_rig rig;
        ring_rig_init(&rig, 100003, rows[i].ranks, rows[i].slice_bytes);
        rig.window_bytes = rows[i].window_bytes;
        rig.warmup = rig.steps = 1;
        for (uint32_t k = 0; k < rig.n_ranks; k++) {
            const int short_segment =
                1024; /* else TCP waits for its timers: one would fill the buffer */
            assert_int_equal(setsockopt(rig.listen_fds[k], IPPROTO_TCP, TCP_MAXSEG, &short_segment,
                                        sizeof(short_segment)),
                             0);
        }
        ring_rig_run(&rig);
        _cleanup_(freep) float *want = ring_rig_want(&rig, rig.warmup + rig.steps, false);
        check_all(&rig, want);
    }
    atomic_store(&has_tiny_sockets, false);
}

/* N additions in two orders differ by at most 2 gamma(N - 1) times the sum of the magnitudes, where
 * gamma(k) = k u / (1 - k u) and u is half the distance of 1 to the next float
 * (Higham, section 4.2). */
TEST(equals_one_process_within_rounding)
{
    const double u = FLT_EPSILON / 2.0;
    size_t n_different = 0;
    for (uint32_t ranks = 2; ranks <= RING_MAX; ranks += 2) {
        _cleanup_(ring_rig_done) struct ring_rig rig;
        const size_t n = 30011;
        ring_rig_init(&rig, n, ranks, 1024);
        rig.warmup = 0;
        rig.steps = 1;
        ring_rig_run(&rig);
        float *want = ring_rig_want(&rig, 1, true), *grad = calloc(n, sizeof(float));
        _cleanup_(freep) double *magnitude = calloc(n, sizeof(double));
        for (uint32_t r = 0; r < ranks; r++) {
            rig_gradient(grad, n, r, 0);
            for (size_t i = 0; i < n; i++) {
                magnitude[i] += fabs((double)grad[i]);
            }
        }
        const double gamma = (ranks - 1) * u / (1 - (ranks - 1) * u);
        for (size_t i = 0; i < n; i++) {
            const double got = (double)rig.workers[0].params[i];
            const double factor = 0.5 / ranks; /* of rig_apply: three roundings each */
            const double bound = factor * magnitude[i] * (2 * gamma + 6 * u * (1 + gamma)) +
                                 4 * u * fabs((double)want[i]);
            if (!(fabs(got - (double)want[i]) <= bound)) {
                fail_msg("%u ranks, float %zu: %.9g, expected %.9g within %.3g", ranks, i, got,
                         (double)want[i], bound);
            }
            n_different += got != (double)want[i];
        }
        free(want);
        free(grad);
    }
    print_message("# %zu floats differ\n", n_different);
    assert_true(n_different > 0); /* or the orders were not compared */
}

/* Gradients leave and parameters come while others are not ready yet. */
TEST(overlaps)
{
    enum { PARTS = 5, RANKS = 2 };
    const size_t n = 100003, slice = 4096 / sizeof(float);
    struct ring_rig rig;
    struct exchange *x[RANKS];
    struct err err = {0};
    float *grads[RANKS], *params[RANKS], *final[RANKS];
    ring_rig_init(&rig, n, RANKS, 4096);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct exchange_ring_params p = ring_rig_params(&rig, i);
        assert_int_equal(exchange_ring_new(&p, &x[i], &err), 0);
        assert_int_equal(x[i]->ops->need(x[i], 0, n, &err), 0); /* there is nothing to wait for */
        grads[i] = calloc(n, sizeof(float));
        params[i] = calloc(n, sizeof(float));
        final[i] = calloc(n, sizeof(float));
        rig_init_params(params[i], n);
    }
    for (uint64_t step = 0; step < 3; step++) {
        _cleanup_(freep) float *want = ring_rig_want(&rig, step + 1, false);
        for (uint32_t i = 0; i < RANKS; i++) {
            rig_gradient(final[i], n, i, step);
            memset(grads[i], 0xff, n * sizeof(float)); /* NaN */
            assert_int_equal(x[i]->ops->begin(x[i], grads[i], params[i], &err), 0);
        }
        for (size_t part = PARTS; part-- > 0;) {
            const size_t from = part * n / PARTS, to = (part + 1) * n / PARTS;
            const float first = params[0][0];
            for (uint32_t i = 0; i < RANKS; i++) {
                memcpy(grads[i] + from, final[i] + from, (to - from) * sizeof(float));
                x[i]->ops->ready(x[i], from);
            }
            /* Groups that lie within what is ready come back, though the rest is not. */
            const size_t at = from + 4 * slice, len = to - at;
            for (uint32_t i = 0; i < RANKS; i++) {
                assert_int_equal(x[i]->ops->need(x[i], at, len, &err), 0);
                assert_memory_equal(params[i] + at, want + at, len * sizeof(float));
            }
            assert_true(part == 0 || params[0][0] == first); /* which is still read */
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            struct exchange_times times = {0};
            assert_int_equal(x[i]->ops->end(x[i], &times, &err), 0);
            assert_memory_equal(params[i], want, n * sizeof(float));
            assert_true(times.receive_ns > 0);
        }
    }
    x[0]->ops->free(x[0]); /* without a goodbye: it gives up */
    assert_true(x[1]->ops->barrier(x[1], &err) < 0);
    assert_non_null(strstr(err.msg, "worker/0 reports: it left before the end"));
    x[1]->ops->free(x[1]);
    for (uint32_t i = 0; i < RANKS; i++) {
        free(grads[i]);
        free(params[i]);
        free(final[i]);
    }
}

/* A rank that is late holds up the others where the window says so, and they
 * get on when it comes. */
TEST(a_late_rank_is_waited_for)
{
    enum { RANKS = 3 };
    const size_t n = 50000;
    struct ring_rig rig;
    struct exchange *x[RANKS];
    struct err err = {0};
    float *grads[RANKS], *params[RANKS];
    ring_rig_init(&rig, n, RANKS, 1024);
    rig.window_bytes = 4096;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct exchange_ring_params p = ring_rig_params(&rig, i);
        assert_int_equal(exchange_ring_new(&p, &x[i], &err), 0);
        grads[i] = calloc(n, sizeof(float));
        params[i] = calloc(n, sizeof(float));
        rig_init_params(params[i], n);
        rig_gradient(grads[i], n, i, 0);
    }
    for (uint32_t i = RANKS; i-- > 0;) { /* the last to come is rank 0 */
        assert_int_equal(x[i]->ops->begin(x[i], grads[i], params[i], &err), 0);
        x[i]->ops->ready(x[i], 0);
    }
    _cleanup_(freep) float *want = ring_rig_want(&rig, 1, false);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct exchange_times times;
        assert_int_equal(x[i]->ops->end(x[i], &times, &err), 0);
        assert_memory_equal(params[i], want, n * sizeof(float));
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        x[i]->ops->free(x[i]);
        free(grads[i]);
        free(params[i]);
    }
}

/* One worker does something wrong: what it says itself, and that all others name the culprit. */
TEST(one_is_wrong)
{
    /* clang-format off */
    static const struct {
        const char *name;
        uint32_t ranks;
        struct ring_worker wrong; /* worker 1 */
        int exit_wrong;
        const char *peer_wrong, *peer_others, *says; /* one of the others */
    } rows[] = {
        {"gives up by itself", 5, {.leaves = true}, 10, "", "worker/1", "reports: its data is damaged"},
        {"wrong secret", 3, {.wrong_secret = true}, 12, "worker/2", "worker/1",
         "it does not know this run's secret"},
        {"wrong model", 4, {.wrong_digest = true}, 12, NULL, NULL, "its model, seed, wire, mode or numbers"},
        {"wrong address of the next rank", 3, {.wrong_next = true}, 12, "worker/2", NULL,
         "check --worker-addrs"},
        {"the index of another", 3, {.claims = 3}, 12, NULL, NULL, "worker/2; check --worker-addrs"},
        {"missing", 4, {.never_starts = true}, 0, "", "worker/1", "worker/1"},
        {"fewer steps", 2, {.steps = 2}, 0, "", "worker/1", "it finished after 4 steps"},
        {"leaves before the barrier", 3, {.skips_barrier = true}, 0, "", "worker/1",
         "it finished after 2 steps"},
        {"less warm-up", 2, {.warmup = 1}, 12, "worker/0", "worker/0", "waits at the barrier"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(ring_rig_done) struct ring_rig rig;
        ring_rig_init(&rig, 5000, rows[i].ranks, 1024);
        rig.rendezvous_ns = INT64_C(4000000000);
        rig.workers[1] = rows[i].wrong;
        ring_rig_run(&rig);
        bool has_said = false;
        for (uint32_t w = 0; w < rig.n_ranks; w++) {
            const struct ring_worker *it = &rig.workers[w];
            print_message("# worker %u: %d %d %s: %s\n", w, it->result, it->fault.exit_code,
                          it->fault.peer, it->err.msg);
            has_said |= strstr(it->err.msg, rows[i].says) != NULL;
            const char *who = strstr(it->err.msg, " reports: ");
            assert_true(who == NULL ||
                        strstr(who + 1, " reports: ") == NULL); /* passed on as it is */
        }
        for (uint32_t w = 0; w < rig.n_ranks; w++) {
            const struct ring_worker *it = &rig.workers[w];
            if (w == 1) {
                assert_int_equal(it->fault.exit_code, rows[i].exit_wrong);
                assert_true(rows[i].peer_wrong == NULL ||
                            strcmp(it->fault.peer, rows[i].peer_wrong) == 0);
                continue;
            }
            assert_true(it->result < 0);
            assert_in_range(it->fault.exit_code, 11, 12);
            if (rows[i].peer_others != NULL) {
                assert_string_equal(it->fault.peer, rows[i].peer_others);
            }
        }
        assert_true(has_said);
    }
}

/* ---- strangers ---- */

static int connect_to(const struct ring_rig *rig, uint32_t index)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof(addr);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(getsockname(rig->listen_fds[index], (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
    return fd;
}

enum { GARBAGE, HALF_A_FRAME, REPLAYED, SILENT, STRANGERS };

/* What is sent to a worker by one that does not know the secret. Stays open:
 * the answer is nobody's. */
static int stranger(const struct ring_rig *rig, int kind)
{
    const int fd = connect_to(rig, 0);
    struct err err;
    struct conn conn;
    struct handshake shake = {.trainer.id =
                                  ring_rig_params(rig, 1).gang.self}; /* who is waited for */
    uint8_t hello[HANDSHAKE_HELLO_SIZE], proof[HANDSHAKE_PROOF_SIZE] = {7}, garbage[200];
    memset(garbage, 0xff, sizeof(garbage));
    if (kind == GARBAGE) {
        assert_int_equal(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
    } else if (kind == HALF_A_FRAME) {
        assert_int_equal(send(fd, "bnchd", 3, MSG_NOSIGNAL), 3);
    } else if (kind == REPLAYED) {
        conn_init(&conn, fd, &shake.trainer.id);
        handshake_hello(&shake, hello);
        conn_send(&conn, FRAME_HELLO, hello, sizeof(hello)); /* another nonce is asked of it */
        conn_send(&conn, FRAME_PROOF, proof, sizeof(proof));
        assert_true(conn_pump_tx(&conn, SIZE_MAX, &err) >= 0);
        conn.fd = -1;
        conn_close(&conn);
    }
    return fd;
}

/* Before the ring is closed and after it, they change nothing: neither numbers nor who is lost. */
TEST(strangers_change_nothing)
{
    enum { N = 500, EACH = 3 };
    struct ring_rig rig;
    struct exchange *x[2];
    struct exchange_times times;
    struct err err = {0};
    float grads[2][N], params[2][N];
    int fds[2 * EACH * STRANGERS];
    size_t n_fds = 0;
    ring_rig_init(&rig, N, 2, 256);
    for (uint32_t i = 0; i < 2; i++) {
        rig_init_params(params[i], N);
    }
    for (uint32_t step = 0; step < 2; step++) {
        if (step == 0) {
            struct exchange_ring_params p = ring_rig_params(&rig, 0);
            assert_int_equal(exchange_ring_new(&p, &x[0], &err), 0);
        }
        for (int i = 0; i < EACH * STRANGERS; i++) {
            fds[n_fds++] = stranger(&rig, i % STRANGERS);
        }
        if (step == 0) {
            struct exchange_ring_params p = ring_rig_params(&rig, 1);
            assert_int_equal(exchange_ring_new(&p, &x[1], &err), 0);
        }
        for (uint32_t i = 0; i < 2; i++) {
            rig_gradient(grads[i], N, i, step);
            assert_int_equal(x[i]->ops->begin(x[i], grads[i], params[i], &err), 0);
            x[i]->ops->ready(x[i], 0);
        }
        for (uint32_t i = 0; i < 2; i++) {
            const int r = x[i]->ops->end(x[i], &times, &err);
            print_message("# worker %u: %s\n", i, err.msg);
            assert_int_equal(r, 0);
        }
    }
    _cleanup_(freep) float *want = ring_rig_want(&rig, 2, false);
    for (uint32_t i = 0; i < 2; i++) {
        assert_memory_equal(params[i], want, sizeof(params[i]));
        x[i]->ops->free(x[i]);
    }
    while (n_fds > 0) {
        (void)close(fds[--n_fds]);
    }
}

/* A second worker/1 comes when the ring is closed: it is told so, and the ring goes on. */
TEST(a_second_worker_of_an_index)
{
    struct ring_rig rig, other;
    struct exchange *x[2], *second;
    struct err err = {0};
    float grad[64] = {0}, params[2][64] = {{0}};
    ring_rig_init(&rig, 64, 2, 0);
    ring_rig_init(&other, 64, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct exchange_ring_params p = ring_rig_params(&rig, i);
        assert_int_equal(exchange_ring_new(&p, &x[i], &err), 0);
        assert_int_equal(x[i]->ops->begin(x[i], grad, params[i], &err), 0);
        x[i]->ops->ready(x[i], 0);
    }
    struct exchange_times times;
    assert_int_equal(x[0]->ops->end(x[0], &times, &err), 0);
    assert_int_equal(x[1]->ops->end(x[1], &times, &err), 0);
    struct exchange_ring_params p = ring_rig_params(&other, 1);
    p.next = rig.addrs[0];
    assert_int_equal(exchange_ring_new(&p, &second, &err), 0);
    assert_true(second->ops->barrier(second, &err) < 0);
    print_message("# %s\n", err.msg);
    struct exchange_fault fault;
    second->ops->fault(second, &fault);
    assert_int_equal(fault.exit_code, 12);
    assert_string_equal(fault.peer, "worker/1");
    assert_non_null(strstr(err.msg, "another process is worker/1 already"));
    second->ops->free(second);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(x[i]->ops->begin(x[i], grad, params[i], &err), 0);
        x[i]->ops->ready(x[i], 0);
    }
    assert_int_equal(x[0]->ops->end(x[0], &times, &err), 0);
    assert_int_equal(x[1]->ops->end(x[1], &times, &err), 0);
    x[0]->ops->free(x[0]);
    x[1]->ops->free(x[1]);
}

int main(void)
{
    return test_run_all(NULL);
}
