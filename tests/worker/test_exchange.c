/* The exchange as a whole: gangs of threads on loopback. Sums to the bit, the barrier, and who is
 * named when something is wrong from the start. Dead, stopped and lying
 * processes: test_faults.py. */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "exchange_rig.h"
#include "worker/tensor/accumulate.h"

#define WARMUP 2
#define STEPS 5

struct trainer {
    const struct rig *rig;
    uint32_t index;
    pthread_t thread;
    float *params;
    atomic_int *at_barrier;
    int result, after_the_end;
    struct err err;
    struct exchange_fault fault;
    uint64_t bytes_tx;
    /* what it does differently */
    bool wrong_secret, wrong_digest, leaves, swaps_addresses;
    bool skips_barrier;
    uint64_t warmup, steps; /* 0: WARMUP, STEPS */
};

static int train(struct trainer *t, struct exchange *x, float *grad)
{
    struct exchange_times times;
    for (uint64_t step = 0; step < t->warmup + t->steps; step++) {
        if (step == t->warmup && t->skips_barrier) {
            break;
        }
        if (step == t->warmup) {
            atomic_fetch_add(t->at_barrier, 1);
            int r = x->ops->barrier(x, &t->err);
            if (r < 0) {
                return r;
            }
            assert_int_equal(atomic_load(t->at_barrier), (int)t->rig->n_trainers);
        }
        if (t->leaves && step == 1) {
            x->ops->abandon(x, 10, "its data is damaged");
            return -ECANCELED;
        }
        rig_gradient(grad, t->rig->n_params, t->index, step);
        int r = exchange_round(x, grad, t->params, &times, &t->err);
        if (r < 0) {
            return r;
        }
        t->bytes_tx = times.bytes_tx;
    }
    return x->ops->goodbye(x, &t->err);
}

static void *run_trainer(void *arg)
{
    struct trainer *t = arg;
    struct net_addr addrs[RIG_MAX];
    struct exchange_ps_params p = rig_trainer(t->rig, t->index, addrs);
    p.gang.secret[0] ^= t->wrong_secret;
    p.gang.digest[0] ^= t->wrong_digest;
    if (t->swaps_addresses) {
        struct net_addr first = addrs[0];
        addrs[0] = addrs[1];
        addrs[1] = first;
    }
    _cleanup_(freep) float *grad = calloc(t->rig->n_params + 1, sizeof(float));
    t->params = calloc(t->rig->n_params + 1, sizeof(float));
    struct exchange *x;
    t->result = exchange_ps_new(&p, &x, &t->err);
    if (t->result == 0) {
        t->result = train(t, x, grad);
        x->ops->fault(x, &t->fault);
        struct err again = {0};
        t->after_the_end = x->ops->barrier(x, &again);
        x->ops->free(x);
    }
    return NULL;
}

static void start_trainers(struct rig *rig, struct trainer *trainers, atomic_int *at_barrier)
{
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        trainers[i].rig = rig;
        trainers[i].index = i;
        trainers[i].at_barrier = at_barrier;
        trainers[i].steps = trainers[i].steps != 0 ? trainers[i].steps : STEPS;
        trainers[i].warmup = trainers[i].warmup != 0 ? trainers[i].warmup : WARMUP;
        assert_int_equal(pthread_create(&trainers[i].thread, NULL, run_trainer, &trainers[i]), 0);
    }
}

static void join_trainers(struct rig *rig, struct trainer *trainers)
{
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        assert_int_equal(pthread_join(trainers[i].thread, NULL), 0);
    }
}

static void free_trainers(struct rig *rig, struct trainer *trainers)
{
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        free(trainers[i].params);
    }
}

/* What one process would compute: all gradients added in trainer order, then applied. */
static float *alone(size_t n, uint32_t n_trainers, uint64_t steps)
{
    float *params = calloc(n + 1, sizeof(float)), *sum = calloc(n + 1, sizeof(float));
    _cleanup_(freep) float *grad = calloc(n + 1, sizeof(float));
    rig_init_params(params, n);
    for (uint64_t step = 0; step < steps; step++) {
        rig_gradient(sum, n, 0, step);
        for (uint32_t t = 1; t < n_trainers; t++) {
            rig_gradient(grad, n, t, step);
            for (size_t i = 0; i < n; i++) {
                sum[i] += grad[i];
            }
        }
        rig_apply(NULL, step + 1, 0, n, params, sum, 1.0f / (float)n_trainers);
    }
    free(sum);
    return params;
}

/* The same over bf16: gradients and parameters are rounded on their way, sums and the servers'
 * parameters are not. Returns what the trainers have in the end. */
static float *alone_bf16(size_t n, uint32_t n_trainers, uint64_t steps)
{
    float *params = calloc(n + 1, sizeof(float)), *sum = calloc(n + 1, sizeof(float));
    _cleanup_(freep) float *grad = calloc(n + 1, sizeof(float));
    _cleanup_(freep) uint16_t *narrowed = calloc(n + 1, sizeof(uint16_t));
    rig_init_params(params, n);
    for (uint64_t step = 0; step < steps; step++) {
        memset(sum, 0, n * sizeof(float));
        for (uint32_t t = 0; t < n_trainers; t++) {
            rig_gradient(grad, n, t, step);
            bf16_narrow(narrowed, grad, n);
            bf16_widen(grad, narrowed, n);
            for (size_t i = 0; i < n; i++) {
                sum[i] = t == 0 ? grad[i] : sum[i] + grad[i];
            }
        }
        rig_apply(NULL, step + 1, 0, n, params, sum, 1.0f / (float)n_trainers);
    }
    bf16_narrow(narrowed, params, n);
    bf16_widen(params, narrowed, n);
    free(sum);
    return params;
}

TEST(equals_one_process)
{
    static const struct {
        const char *name;
        size_t n;
        uint32_t servers, trainers;
        size_t slice_bytes;
        enum exchange_wire wire;
        uint32_t threads; /* of a server; 0: 1 */
    } rows[] = {
        {"one and one", 10000, 1, 1, 0},
        {"two trainers", 10000, 1, 2, 4096},
        {"three trainers, two servers", 100003, 2, 3, 65536},
        {"more servers than parameters", 5, 8, 2, 0},
        {"many small slices", 50000, 3, 4, 512},
        {"slices of 1 MiB", 700001, 2, 3, 0},
        {"bf16, one and one", 10000, 1, 1, 0, EXCHANGE_WIRE_BF16},
        {"bf16, two trainers", 10001, 1, 2, 4096, EXCHANGE_WIRE_BF16},
        {"bf16, three trainers, two servers", 700001, 2, 3, 0, EXCHANGE_WIRE_BF16},
        {"bf16, more servers than parameters", 5, 8, 2, 0, EXCHANGE_WIRE_BF16},
        {"two threads", 100003, 1, 3, 4096, EXCHANGE_WIRE_FP32, 2},
        {"bf16, two servers of three threads", 100003, 2, 2, 4096, EXCHANGE_WIRE_BF16, 3},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(rig_done) struct rig rig;
        struct trainer trainers[RIG_MAX] = {0};
        atomic_int at_barrier = 0;
        rig_threads = rows[i].threads > 0 ? rows[i].threads : 1;
        rig_init(&rig, rows[i].n, rows[i].servers, rows[i].trainers, rows[i].slice_bytes);
        rig_set_wire(&rig, rows[i].wire);
        rig_start_servers(&rig);
        start_trainers(&rig, trainers, &at_barrier);
        join_trainers(&rig, trainers);
        rig_join_servers(&rig);
        const bool is_bf16 = rows[i].wire == EXCHANGE_WIRE_BF16;
        float *want = (is_bf16 ? alone_bf16 : alone)(rows[i].n, rows[i].trainers, WARMUP + STEPS);
        for (uint32_t t = 0; t < rows[i].trainers; t++) {
            print_message("# trainer %u: %s\n", t, trainers[t].err.msg);
            assert_int_equal(trainers[t].result, 0);
            assert_int_equal(trainers[t].after_the_end, -EPIPE);
            assert_memory_equal(trainers[t].params, want, rows[i].n * sizeof(float));
            assert_true(trainers[t].bytes_tx >= rows[i].n * frame_wire_bytes(rows[i].wire));
            if (is_bf16 && rows[i].n > 1000) {
                assert_true(trainers[t].bytes_tx < rows[i].n * sizeof(float));
            }
        }
        for (uint32_t s = 0; s < rows[i].servers; s++) {
            print_message("# server %u: %s\n", s, rig.servers[s].err.msg);
            assert_int_equal(rig.servers[s].result, 0);
            assert_int_equal(rig.servers[s].stats.n_rounds, STEPS);
            const struct ps_server_stats *stats = &rig.servers[s].stats;
            assert_true(stats->duration_ns > 0);
            assert_true(stats->bytes_rx >= STEPS * rows[i].trainers *
                                               slices_process_params(&rig.slices, s, rig_threads) *
                                               frame_wire_bytes(rows[i].wire));
        }
        rig_threads = 1;
        free(want);
        free_trainers(&rig, trainers);
    }
}

/* Gradients leave and parameters come while others are not ready yet; bits as of one process. */
TEST(overlaps)
{
    enum { PARTS = 5 };
    const size_t n = 100003;
    _cleanup_(rig_done) struct rig rig;
    struct net_addr addrs[RIG_MAX];
    struct exchange *x;
    struct err err = {0};
    rig_init(&rig, n, 2, 1, 4096);
    rig_start_servers(&rig);
    struct exchange_ps_params p = rig_trainer(&rig, 0, addrs);
    _cleanup_(freep) float *grad = calloc(n, sizeof(float)), *params = calloc(n, sizeof(float));
    _cleanup_(freep) float *final = calloc(n, sizeof(float));
    assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
    assert_int_equal(x->ops->need(x, 0, n, &err), 0); /* there is nothing to wait for */
    for (uint64_t step = 0; step < STEPS; step++) {
        _cleanup_(freep) float *want = alone(n, 1, step + 1);
        struct exchange_times times = {0};
        rig_gradient(final, n, 0, step);
        for (size_t i = 0; i < n; i++) {
            grad[i] = params[i] = NAN;
        }
        assert_int_equal(x->ops->begin(x, grad, params, &err), 0);
        for (size_t part = PARTS; part-- > 0;) {
            const size_t from = part * n / PARTS, to = (part + 1) * n / PARTS;
            memcpy(grad + from, final + from, (to - from) * sizeof(float));
            x->ops->ready(x, from);
            /* The slices that lie within what is ready come back, though the rest is not. */
            const size_t slice = 4096 / sizeof(float);
            assert_int_equal(x->ops->need(x, from + slice, to - from - slice, &err), 0);
            assert_memory_equal(params + from + slice, want + from + slice,
                                (to - from - slice) * sizeof(float));
            assert_true(part == 0 || isnan(params[0])); /* which is still read */
        }
        assert_int_equal(x->ops->end(x, &times, &err), 0);
        assert_memory_equal(params, want, n * sizeof(float));
        assert_true(times.receive_ns > 0);
    }
    assert_int_equal(x->ops->need(x, 0, n, &err), 0);
    assert_int_equal(x->ops->goodbye(x, &err), 0);
    x->ops->free(x);
    rig_join_servers(&rig);
    assert_int_equal(rig.servers[0].result, 0);
}

/* A trainer gives up in the middle of a step; a caller that waits for parameters learns it. */
TEST(gives_up_in_a_step)
{
    _cleanup_(rig_done) struct rig rig;
    struct net_addr addrs[2][RIG_MAX];
    struct exchange *x[2];
    struct err err = {0};
    const size_t n = 5000;
    rig_init(&rig, n, 1, 2, 4096);
    rig_start_servers(&rig);
    _cleanup_(freep) float *grad = calloc(n, sizeof(float)), *params = calloc(2 * n, sizeof(float));
    for (uint32_t i = 0; i < 2; i++) {
        struct exchange_ps_params p = rig_trainer(&rig, i, addrs[i]);
        assert_int_equal(exchange_ps_new(&p, &x[i], &err), 0);
        assert_int_equal(x[i]->ops->begin(x[i], grad, params + i * n, &err), 0);
        x[i]->ops->ready(x[i], i == 0 ? 0 : n / 2);
    }
    assert_int_equal(x[1]->ops->need(x[1], n - 1, 1, &err), 0); /* the step is under way */
    x[1]->ops->abandon(x[1], 10, "its disk is full");
    assert_true(x[0]->ops->need(x[0], 0, 1, &err) < 0);
    print_message("# %s\n", err.msg);
    assert_non_null(strstr(err.msg, "trainer/1 reports: its disk is full"));
    x[0]->ops->free(x[0]);
    x[1]->ops->free(x[1]);
}

/* A trainer gives up just when the step's last parameters have come: nothing
 * overtakes the reason. */
TEST(gives_up_as_a_step_ends)
{
    float grad[64] = {0}, params[64] = {0};
    for (int i = 0; i < 100; i++) {
        _cleanup_(rig_done) struct rig rig;
        struct net_addr addrs[RIG_MAX];
        struct exchange *x;
        struct err err = {0};
        rig_init(&rig, 64, 1, 1, 0);
        rig_start_servers(&rig);
        struct exchange_ps_params p = rig_trainer(&rig, 0, addrs);
        assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
        assert_int_equal(x->ops->begin(x, grad, params, &err), 0);
        x->ops->ready(x, 0);
        assert_int_equal(x->ops->need(x, 0, 64, &err), 0);
        x->ops->abandon(x, 10, "its disk is full");
        assert_true(x->ops->barrier(x, &err) < 0); /* it has ended */
        x->ops->free(x);
        rig_join_servers(&rig);
        assert_string_equal(rig.servers[0].err.msg, "trainer/0 reports: its disk is full");
    }
}

static void *abandon(void *exchange)
{
    struct exchange *x = exchange;
    x->ops->abandon(x, 10, "its disk is full");
    return NULL;
}

/* A trainer fails when it has joined one server of two: because it gives up, or because that
 * server misses a trainer. The server that comes then hears the cause. */
TEST(a_server_that_comes_late_hears_why)
{
    static const struct {
        uint32_t n_trainers;
        int64_t rendezvous_s; /* of the server that is there */
        const char *late_says;
    } rows[] = {
        {1, 60, "trainer/0 reports: its disk is full"},
        {2, 1, "trainer/0 reports: pserver/0 reports: trainer/1 did not connect within 1 s"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(rig_done) struct rig rig;
        struct net_addr addrs[RIG_MAX];
        struct exchange *x;
        struct err err = {0};
        pthread_t thread;
        rig_init(&rig, 5000, 2, rows[i].n_trainers, 4096);
        rig.rendezvous_ns = rows[i].rendezvous_s * INT64_C(1000000000);
        rig_start_server(&rig, 0);
        rig.rendezvous_ns = INT64_C(60000000000);
        struct exchange_ps_params p = rig_trainer(&rig, 0, addrs);
        p.gang.silence_ns = INT64_C(60000000000);
        assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
        if (rows[i].n_trainers == 1) {
            assert_int_equal(pthread_create(&thread, NULL, abandon, x), 0);
        }
        rig_join_servers(&rig); /* the one that is there has failed, and told the trainer */
        rig_start_server(&rig, 1);
        rig_join_servers(&rig);
        print_message("# %s\n", rig.servers[1].err.msg);
        assert_string_equal(rig.servers[1].err.msg, rows[i].late_says);
        if (rows[i].n_trainers == 1) {
            (void)pthread_join(thread, NULL);
        }
        x->ops->free(x);
    }
}

TEST(who_did_not_connect)
{
    static const struct {
        uint32_t n;
        const char *says;
    } rows[] = {
        {1, "trainer/0 did not connect within 0 s"},
        {3, "trainer/0, trainer/1, trainer/2 did not connect within 0 s"},
        {4, "trainer/0, trainer/1, trainer/2 and 1 more did not connect within 0 s"},
        {1000, "trainer/0, trainer/1, trainer/2 and 997 more did not connect within 0 s"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(rig_done) struct rig rig;
        rig_threads = 1 + i % 2; /* the first one waits for all */
        rig_init(&rig, 5000, 1, rows[i].n, 4096);
        rig_threads = 1;
        rig.rendezvous_ns = 0;
        rig_start_server(&rig, 0);
        rig_join_servers(&rig);
        assert_string_equal(rig.servers[0].err.msg, rows[i].says);
    }
}

/* One trainer of two does something wrong: what each of them, and the server, says. */
TEST(one_of_two_is_wrong)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct trainer wrong;
        int exit_wrong, exit_other, exit_server;
        const char *peer_wrong, *peer_other, *server_says;
        int64_t rendezvous_s; /* of the server; 0: until all have come */
    } rows[] = {
        {"wrong secret", {.wrong_secret = true}, 12, 11, 11, "pserver/0", "trainer/1",
         "trainer/1 did not connect within 6 s", 6},
        {"wrong model", {.wrong_digest = true}, 12, 11, 12, "pserver/0", "trainer/1",
         "trainer/1: its model, seed, wire, mode or numbers of replicas or of server threads differ"},
        {"gives up by itself", {.leaves = true}, 10, 11, 11, "", "trainer/1",
         "trainer/1 reports: its data is damaged"},
        {"fewer steps", {.steps = 2}, 0, 11, 12, "", "trainer/1",
         "trainer/1 finished after 4 steps, but others continue"},
        {"leaves before the barrier", {.skips_barrier = true}, 0, 11, 12, "", "trainer/1",
         "trainer/1 finished after 2 steps, but others continue"},
        {"less warm-up", {.warmup = 1}, 11, 11, 12, "trainer/1", "trainer/1",
         "trainer/1 waits at the barrier after 1 steps, but others continue"},
        {"more warm-up", {.warmup = 3}, 11, 11, 12, "trainer/0", "trainer/0",
         "trainer/0 waits at the barrier after 2 steps, but others continue"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(rig_done) struct rig rig;
        struct trainer trainers[2] = {{0}, rows[i].wrong};
        atomic_int at_barrier = 0;
        rig_init(&rig, 5000, 1, 2, 4096);
        rig.rendezvous_ns = rows[i].rendezvous_s * INT64_C(1000000000);
        if (rig.rendezvous_ns == 0) {
            rig.rendezvous_ns = INT64_C(60000000000);
        }
        rig_start_servers(&rig);
        rig.rendezvous_ns = INT64_C(60000000000);
        int64_t begin_ns = clock_monotonic_ns();
        start_trainers(&rig, trainers, &at_barrier);
        join_trainers(&rig, trainers);
        rig_join_servers(&rig);
        print_message("# %.1f s; trainer/0: %s; trainer/1: %s; pserver/0: %s\n",
                      (double)(clock_monotonic_ns() - begin_ns) / 1e9, trainers[0].err.msg,
                      trainers[1].err.msg, rig.servers[0].err.msg);
        assert_true(trainers[0].after_the_end < 0 && trainers[1].after_the_end < 0);
        assert_int_equal(trainers[1].fault.exit_code, rows[i].exit_wrong);
        assert_string_equal(trainers[1].fault.peer, rows[i].peer_wrong);
        assert_int_equal(trainers[0].fault.exit_code, rows[i].exit_other);
        assert_string_equal(trainers[0].fault.peer, rows[i].peer_other);
        assert_int_equal(rig.servers[0].fault.exit_code, rows[i].exit_server);
        assert_non_null(strstr(rig.servers[0].err.msg, rows[i].server_says));
        free_trainers(&rig, trainers);
    }
}

/* A server that closes the connection in the handshake is starting or full: the trainer connects
 * again. */
TEST(turned_away_and_back)
{
    _cleanup_(rig_done) struct rig rig;
    struct trainer trainers[1] = {0};
    atomic_int at_barrier = 0;
    rig_init(&rig, 5000, 1, 1, 4096);
    rig.rendezvous_ns = INT64_C(60000000000);
    start_trainers(&rig, trainers, &at_barrier);
    struct pollfd fd = {.fd = rig.servers[0].listen_fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 60000), 1);
    int first = accept(fd.fd, NULL, NULL);
    char hello[200];
    assert_true(recv(first, hello, sizeof(hello), 0) > 0);
    (void)close(first);
    rig_start_servers(&rig);
    join_trainers(&rig, trainers);
    rig_join_servers(&rig);
    print_message("# %s\n", trainers[0].err.msg);
    assert_int_equal(trainers[0].result, 0);
    assert_int_equal(rig.servers[0].result, 0);
    free_trainers(&rig, trainers);
}

TEST(a_server_never_comes)
{
    _cleanup_(rig_done) struct rig rig;
    struct trainer trainers[2] = {0};
    atomic_int at_barrier = 0;
    rig_init(&rig, 5000, 2, 2, 4096);
    rig.rendezvous_ns = INT64_C(8000000000);
    rig_start_servers(&rig);
    uint16_t port = rig.servers[1].port;
    rig.servers[1].port = 1; /* nobody listens there */
    rig.rendezvous_ns = INT64_C(4000000000);
    int64_t begin_ns = clock_monotonic_ns();
    start_trainers(&rig, trainers, &at_barrier);
    join_trainers(&rig, trainers);
    double took_s = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    rig.servers[1].port = port;
    rig_join_servers(&rig);
    print_message("# after %.1f s\n", took_s);
    assert_true(took_s >= 4);
    for (int i = 0; i < 2; i++) {
        print_message("# %s\n", trainers[i].err.msg);
        assert_int_equal(trainers[i].fault.exit_code, 11);
        assert_string_equal(trainers[i].fault.peer, "pserver/1");
        assert_non_null(strstr(trainers[i].err.msg, "no answer within 4 s"));
    }
    print_message("# %s\n", rig.servers[0].err.msg);
    assert_int_equal(rig.servers[0].fault.exit_code, 11); /* was told the cause */
    assert_int_equal(rig.servers[0].fault.peer.role, ROLE_PSERVER);
    assert_int_equal(rig.servers[0].fault.peer.index, 1);
    print_message("# %s\n", rig.servers[1].err.msg); /* nobody ever came to the second */
    assert_non_null(strstr(rig.servers[1].err.msg, "trainer/0, trainer/1 did not connect"));
    free_trainers(&rig, trainers);
}

TEST(addresses_swapped)
{
    _cleanup_(rig_done) struct rig rig;
    struct trainer trainers[1] = {{.swaps_addresses = true}};
    atomic_int at_barrier = 0;
    rig_init(&rig, 5000, 2, 1, 4096);
    rig.rendezvous_ns = INT64_C(5000000000);
    rig_start_servers(&rig);
    start_trainers(&rig, trainers, &at_barrier);
    join_trainers(&rig, trainers);
    print_message("# %s\n", trainers[0].err.msg);
    assert_int_equal(trainers[0].fault.exit_code, 12);
    assert_non_null(strstr(trainers[0].err.msg, "the process at this address is"));
    free_trainers(&rig, trainers);
}

TEST(without_peers)
{
    enum { LEN = 1000 };
    float grad[LEN], params[LEN];
    _cleanup_(freep) float *want = alone(LEN, 1, STEPS);
    struct exchange *x;
    struct exchange_times times;
    struct exchange_fault fault;
    struct err err;
    rig_init_params(params, LEN);
    x = exchange_none_new(rig_apply, NULL, LEN);
    assert_int_equal(x->ops->barrier(x, &err), 0);
    for (uint64_t step = 0; step < STEPS; step++) {
        rig_gradient(grad, LEN, 0, step);
        assert_int_equal(exchange_round(x, grad, params, &times, &err), 0);
        assert_true(times.bytes_tx == 0 && times.update_ns >= 0);
    }
    assert_int_equal(x->ops->goodbye(x, &err), 0);
    x->ops->fault(x, &fault);
    assert_int_equal(fault.exit_code, 0);
    x->ops->free(x);
    assert_memory_equal(params, want, sizeof(params));
}

TEST(addresses)
{
    static const struct {
        const char *text;
        int result;
        const char *host, *port;
    } rows[] = {
        {"127.0.0.1:7164", 0, "127.0.0.1", "7164"},
        {"[::1]:80", 0, "::1", "80"},
        {"pod-0.svc.cluster.local:7164", 0, "pod-0.svc.cluster.local", "7164"},
        {"0.0.0.0:0", 0, "0.0.0.0", "0"},
        {"localhost", -EINVAL, "", ""},
        {":7164", -EINVAL, "", ""},
        {"a:", -EINVAL, "", ""},
        {"a:65536", -EINVAL, "", ""},
        {"a:http", -EINVAL, "", ""},
        {"", -EINVAL, "", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct net_addr addr;
        struct err err;
        print_message("# row '%s'\n", rows[i].text);
        assert_int_equal(net_addr_parse(rows[i].text, &addr, &err), rows[i].result);
        if (rows[i].result == 0) {
            assert_string_equal(addr.host, rows[i].host);
            assert_string_equal(addr.port, rows[i].port);
        }
    }
}

int main(void)
{
    return test_run_all(NULL);
}
