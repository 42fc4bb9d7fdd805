/* Memory of trainers and servers of one host: where slices are, the same bits as over TCP in every
 * mode, gangs in which only some pairs lend, and what is said about it. Faults and lies:
 * test_exchange.c and test_ps_single.c with SharedMemory, test_faults.py. */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "raw_trainer.h"
#include "worker/comm/ps/lend.h"

#define N 300007
#define STEPS 3

/* ---- layouts ---- */

/* Of all that one server lends: within its segment, and nothing overlaps. */
static void check_server(const struct lend_plan *p, uint32_t server, uint64_t n_numbers)
{
    const struct shm_layout layout = lend_server_layout(p, server);
    _cleanup_(freep) uint8_t *taken = calloc(layout.n_params + 1, sizeof(float));
    for (uint32_t t = 0; t < (p->has_copies ? p->n_trainers : 1); t++) {
        size_t at, n;
        lend_params_of(p, server, t, &at, &n);
        assert_true(at + n <= layout.n_params);
        uint64_t number = 0;
        for (uint32_t i = server; i < p->slices.n && number < n_numbers;
             i += p->slices.n_servers, number++) {
            const size_t from = lend_params_at(p, i, t, number), bytes = lend_bytes(p, i);
            assert_true(from >= at * sizeof(float) && from + bytes <= (at + n) * sizeof(float));
            for (size_t k = from; k < from + bytes; k++) {
                assert_int_equal(taken[k]++, 0);
            }
        }
    }
}

TEST(slices_do_not_overlap)
{
    static const struct {
        size_t n, max_bytes;
        uint32_t n_servers;
    } rows[] = {{N, 65536, 1}, {N, 65536, 3}, {1, 128, 1}, {1000, 128, 2}, {100003, 1048576, 1}};
    for (size_t k = 0; k < N_ROWS(rows); k++) {
        for (int wire = 0; wire < EXCHANGE_WIRE_COUNT; wire++) {
            struct lend_plan p = {
                .slices = slices_plan(rows[k].n, rows[k].n_servers, rows[k].max_bytes),
                .wire = (enum exchange_wire)wire,
                .n_trainers = 3,
            };
            const struct shm_layout layout = lend_trainer_layout(&p);
            const uint32_t last = p.slices.n - 1;
            assert_true(lend_gradient_at(&p, last) + lend_bytes(&p, last) <=
                        layout.n_grads * sizeof(float));
            for (uint32_t s = 0; s < p.slices.n_servers; s++) {
                p.has_copies = false;
                check_server(&p, s, UINT64_MAX);
                p.has_copies = true;
                check_server(&p, s, 4); /* that many may be on their way; later ones follow them */
            }
        }
    }
}

/* ---- gangs ---- */

struct gang {
    struct rig rig;
    enum exchange_transport asked[RIG_MAX]; /* of each trainer */
    bool uses_memory;                       /* gradients are made where servers read them */
    struct net_addr addrs[RIG_MAX][RIG_MAX];
    struct exchange *x[RIG_MAX];
    float *own[RIG_MAX], *grads[RIG_MAX], *params[RIG_MAX];
};

static void gang_init(struct gang *g, uint32_t n_servers, uint32_t n_trainers,
                      enum exchange_transport transport)
{
    memset(g, 0, sizeof(*g));
    rig_transport = transport;
    rig_init(&g->rig, N, n_servers, n_trainers, 65536);
    for (uint32_t t = 0; t < n_trainers; t++) {
        g->asked[t] = transport;
    }
}

static void gang_open(struct gang *g)
{
    rig_start_servers(&g->rig);
    for (uint32_t t = 0; t < g->rig.n_trainers; t++) {
        struct exchange_ps_params p = rig_trainer(&g->rig, t, g->addrs[t]);
        struct err err = {0};
        struct exchange_memory memory;
        p.transport = g->asked[t];
        assert_int_equal(exchange_ps_new(&p, &g->x[t], &err), 0);
        g->x[t]->ops->memory(g->x[t], &memory);
        const bool has = memory.grads != NULL;
        assert_int_equal(has,
                         p.transport != EXCHANGE_TRANSPORT_TCP && p.wire == EXCHANGE_WIRE_FP32);
        g->own[t] = calloc(N, sizeof(float));
        g->grads[t] = has && g->uses_memory ? memory.grads : g->own[t];
        g->params[t] = calloc(N, sizeof(float));
        rig_init_params(g->params[t], N);
    }
}

static void gang_steps(struct gang *g)
{
    struct err err = {0};
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint32_t t = 0; t < g->rig.n_trainers; t++) {
            rig_gradient(g->grads[t], N, t, step);
            assert_int_equal(g->x[t]->ops->begin(g->x[t], g->grads[t], g->params[t], &err), 0);
            g->x[t]->ops->ready(g->x[t], N / 2);
            g->x[t]->ops->ready(g->x[t], 0);
        }
        for (uint32_t t = 0; t < g->rig.n_trainers; t++) {
            struct exchange_times times;
            const int r = g->x[t]->ops->end(g->x[t], &times, &err);
            if (r < 0) {
                print_message("# %s\n", err.msg);
            }
            assert_int_equal(r, 0);
            const size_t bytes = N * frame_wire_bytes(g->rig.wire);
            assert_true(times.bytes_tx >= bytes && times.bytes_rx >= bytes);
        }
    }
}

static void expect_transport(const struct gang *g, uint32_t t, enum exchange_transport want,
                             const char *says)
{
    const char *why = NULL;
    const enum exchange_transport used = g->x[t]->ops->transport(g->x[t], &why);
    print_message("# trainer/%u: %s %s\n", t, exchange_transport_names[used], why);
    assert_int_equal(used, want);
    assert_non_null(strstr(why, says));
    assert_int_equal(why[0] == '\0', says[0] == '\0');
}

/* All have said goodbye, so the servers can end. */
static void gang_done(struct gang *g)
{
    rig_join_servers(&g->rig);
    for (uint32_t s = 0; s < g->rig.n_servers; s++) {
        assert_int_equal(g->rig.servers[s].result, 0);
    }
    for (uint32_t t = 0; t < g->rig.n_trainers; t++) {
        g->x[t]->ops->free(g->x[t]);
        free(g->own[t]);
        free(g->params[t]);
    }
    rig_done(&g->rig);
}

static void gang_end(struct gang *g)
{
    for (uint32_t t = 0; t < g->rig.n_trainers; t++) {
        struct err err = {0};
        assert_int_equal(g->x[t]->ops->goodbye(g->x[t], &err), 0);
    }
    gang_done(g);
}

/* Every mode that has the same bits in every run, alone too where the order of
 * arrival would count. */
TEST(the_same_bits)
{
    static const struct {
        uint32_t n_servers, n_trainers;
        struct exchange_mode mode;
        uint32_t n_threads; /* 0: 1 */
    } rows[] = {
        {1, 1, {0}},
        {1, 2, {0}},
        {2, 3, {0}, 2},
        {2, 1, {.kind = EXCHANGE_ASYNC}},
        {1, 1, {.kind = EXCHANGE_BOUNDED, .staleness = 1}},
    };
    static const struct {
        enum exchange_transport transport;
        bool uses_memory;
    } ways[] = {{EXCHANGE_TRANSPORT_TCP, false},
                {EXCHANGE_TRANSPORT_AUTO, false},
                {EXCHANGE_TRANSPORT_SHARED_MEMORY, true}};
    _cleanup_(freep) float *want = calloc(N, sizeof(float));
    for (size_t i = 0; i < N_ROWS(rows) * EXCHANGE_WIRE_COUNT; i++) {
        for (size_t w = 0; w < N_ROWS(ways); w++) {
            struct gang g;
            rig_threads = rows[i / 2].n_threads > 0 ? rows[i / 2].n_threads : 1;
            gang_init(&g, rows[i / 2].n_servers, rows[i / 2].n_trainers, ways[w].transport);
            rig_set_wire(&g.rig, (enum exchange_wire)(i % 2));
            rig_set_mode(&g.rig, &rows[i / 2].mode);
            g.uses_memory = ways[w].uses_memory;
            gang_open(&g);
            gang_steps(&g);
            for (uint32_t t = 0; t < g.rig.n_trainers; t++) {
                if (w == 0 && t == 0) {
                    memcpy(want, g.params[0], N * sizeof(float));
                }
                assert_memory_equal(g.params[t], want, N * sizeof(float));
                expect_transport(
                    &g, t, w == 0 ? EXCHANGE_TRANSPORT_TCP : EXCHANGE_TRANSPORT_SHARED_MEMORY, "");
            }
            gang_end(&g);
        }
    }
    rig_threads = 1;
}

struct spoiler { /* a trainer in a thread of its own */
    struct gang *gang;
    uint32_t t;
    pthread_t thread;
    bool is_spoilt; /* what it got */
    int result;
};

/* Where new parameters have come, nobody reads its gradients any more: it writes
 * nonsense there at once. */
static void *spoil(void *arg)
{
    struct spoiler *me = arg;
    struct exchange *x = me->gang->x[me->t];
    float *grads = me->gang->grads[me->t], *params = me->gang->params[me->t];
    struct err err = {0};
    struct exchange_times times;
    for (uint64_t step = 0; step < STEPS && me->result == 0; step++) {
        rig_gradient(grads, N, me->t, step);
        me->result = x->ops->begin(x, grads, params, &err);
        x->ops->ready(x, N / 2);
        x->ops->ready(x, 0);
        const size_t part = N / 16 + 1;
        for (size_t at = 0; at < N && me->result == 0; at += part) {
            const size_t n = N - at < part ? N - at : part;
            me->result = x->ops->need(x, at, n, &err);
            memset(grads + at, 0xff, n * sizeof(float)); /* NaN */
        }
        me->result = me->result == 0 ? x->ops->end(x, &times, &err) : me->result;
        for (size_t i = 0; i < N; i++) {
            me->is_spoilt = me->is_spoilt || isnan(params[i]);
        }
    }
    me->result = me->result == 0 ? x->ops->goodbye(x, &err) : me->result;
    return NULL;
}

TEST(gradients_are_free_when_parameters_came)
{
    static const struct exchange_mode modes[] = {
        {0},
        {.kind = EXCHANGE_ASYNC},
        {.kind = EXCHANGE_BOUNDED, .staleness = 1},
        {.backups = 1},
    };
    for (size_t i = 0; i < N_ROWS(modes) * EXCHANGE_WIRE_COUNT; i++) {
        _cleanup_(gang_done) struct gang g;
        struct spoiler spoilers[3];
        gang_init(&g, 2, 3, EXCHANGE_TRANSPORT_AUTO);
        rig_set_wire(&g.rig, (enum exchange_wire)(i % 2));
        rig_set_mode(&g.rig, &modes[i / 2]);
        g.uses_memory = true;
        g.asked[1] = i / 2 == 0 ? EXCHANGE_TRANSPORT_TCP : EXCHANGE_TRANSPORT_AUTO;
        gang_open(&g);
        for (uint32_t t = 0; t < 3; t++) {
            spoilers[t] = (struct spoiler){.gang = &g, .t = t};
            assert_int_equal(pthread_create(&spoilers[t].thread, NULL, spoil, &spoilers[t]), 0);
        }
        for (uint32_t t = 0; t < 3; t++) {
            (void)pthread_join(spoilers[t].thread, NULL);
            assert_int_equal(spoilers[t].result, 0);
            assert_false(spoilers[t].is_spoilt);
        }
    }
}

/* Any trainer of three may be the one that sends payloads: the sum does not show it. */
TEST(some_pairs_lend)
{
    _cleanup_(freep) float *want = calloc(N, sizeof(float));
    for (int wire = 0; wire < EXCHANGE_WIRE_COUNT; wire++) {
        for (uint32_t mask = 0; mask < 8; mask++) {
            struct gang g;
            gang_init(&g, 2, 3, EXCHANGE_TRANSPORT_AUTO);
            rig_set_wire(&g.rig, (enum exchange_wire)wire);
            g.uses_memory = true;
            for (uint32_t t = 0; t < 3; t++) {
                g.asked[t] =
                    (mask >> t & 1) != 0 ? EXCHANGE_TRANSPORT_AUTO : EXCHANGE_TRANSPORT_TCP;
            }
            gang_open(&g);
            gang_steps(&g);
            for (uint32_t t = 0; t < 3; t++) {
                if (mask == 0 && t == 0) {
                    memcpy(want, g.params[0], N * sizeof(float));
                }
                assert_memory_equal(g.params[t], want, N * sizeof(float));
                expect_transport(&g, t,
                                 (mask >> t & 1) != 0 ? EXCHANGE_TRANSPORT_SHARED_MEMORY
                                                      : EXCHANGE_TRANSPORT_TCP,
                                 "");
            }
            gang_end(&g);
        }
    }
}

/* The local socket of one process, taken by somebody else. */
static int take_name(const struct rig *rig, uint32_t name)
{
    const struct frame_id id = rig_id(ROLE_TRAINER, 0);
    struct auth_key key;
    struct err err = {0};
    shm_pass_key(rig->secret, &id, &key);
    const int fd = shm_pass_listen(&key, name, &err);
    assert_true(fd >= 0);
    return fd;
}

/* Names: servers first. Who cannot be asked, or cannot lend, is left with TCP, and
 * says why; others lend. */
TEST(one_pair_has_no_common_memory)
{
    static const struct {
        uint32_t taken; /* a name, of 2 servers and 2 trainers */
        enum exchange_transport server;
        const char *says[2]; /* of each trainer; "": it lends */
    } rows[] = {
        {3,
         EXCHANGE_TRANSPORT_AUTO,
         {"", "trainer/1: listen on a local socket: Address already in use"}},
        {1,
         EXCHANGE_TRANSPORT_AUTO,
         {"pserver/1: listen on a local socket: Address already in use",
          "pserver/1: listen on a local socket: Address already in use"}},
        {9,
         EXCHANGE_TRANSPORT_TCP,
         {"the server's transport is Tcp", "the server's transport is Tcp"}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct gang g;
        gang_init(&g, 2, 2, EXCHANGE_TRANSPORT_AUTO);
        g.rig.transport = rows[i].server;
        const int fd = take_name(&g.rig, rows[i].taken);
        for (uint32_t t = 0; t < 2; t++) {
            g.asked[t] = EXCHANGE_TRANSPORT_AUTO;
        }
        rig_start_servers(&g.rig);
        for (uint32_t t = 0; t < 2; t++) {
            const struct exchange_ps_params p = rig_trainer(&g.rig, t, g.addrs[t]);
            struct exchange_ps_params asked = p;
            struct err err = {0};
            asked.transport = EXCHANGE_TRANSPORT_AUTO;
            assert_int_equal(exchange_ps_new(&asked, &g.x[t], &err), 0);
            g.own[t] = g.grads[t] = calloc(N, sizeof(float));
            g.params[t] = calloc(N, sizeof(float));
            rig_init_params(g.params[t], N);
        }
        gang_steps(&g);
        assert_memory_equal(g.params[0], g.params[1], N * sizeof(float));
        for (uint32_t t = 0; t < 2; t++) {
            expect_transport(&g, t,
                             rows[i].says[t][0] == '\0' ? EXCHANGE_TRANSPORT_SHARED_MEMORY
                                                        : EXCHANGE_TRANSPORT_TCP,
                             rows[i].says[t]);
        }
        gang_end(&g);
        (void)close(fd);
    }
}

/* No memory for a segment: TCP, with the reason. */
TEST(without_memory_it_is_tcp)
{
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 1 << 20;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct gang g;
    gang_init(&g, 1, 1, EXCHANGE_TRANSPORT_AUTO);
    rig_start_servers(&g.rig);
    const struct exchange_ps_params p = rig_trainer(&g.rig, 0, g.addrs[0]);
    struct err err = {0};
    struct exchange_memory memory;
    assert_int_equal(exchange_ps_new(&p, &g.x[0], &err), 0);
    g.x[0]->ops->memory(g.x[0], &memory);
    assert_null(memory.grads);
    g.own[0] = g.grads[0] = calloc(N, sizeof(float));
    g.params[0] = calloc(N, sizeof(float));
    rig_init_params(g.params[0], N);
    gang_steps(&g);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    expect_transport(&g, 0, EXCHANGE_TRANSPORT_TCP, "trainer/0: make ");
    gang_end(&g);
}

/* An emulated trainer's parameters: over TCP they stay as they came, and here nothing is read, and
 * nothing written. */
TEST(what_nobody_reads_is_not_copied)
{
    _cleanup_(freep) float *want = calloc(N, sizeof(float));
    rig_init_params(want, N);
    for (int wire = 0; wire < EXCHANGE_WIRE_COUNT; wire++) {
        struct gang g;
        gang_init(&g, 1, 1, EXCHANGE_TRANSPORT_SHARED_MEMORY);
        rig_set_wire(&g.rig, (enum exchange_wire)wire);
        rig_start_servers(&g.rig);
        struct exchange_ps_params p = rig_trainer(&g.rig, 0, g.addrs[0]);
        struct err err = {0};
        p.discards_params = true;
        assert_int_equal(exchange_ps_new(&p, &g.x[0], &err), 0);
        g.own[0] = g.grads[0] = calloc(N, sizeof(float));
        g.params[0] = calloc(N, sizeof(float));
        rig_init_params(g.params[0], N);
        gang_steps(&g);
        assert_memory_equal(g.params[0], want, N * sizeof(float));
        expect_transport(&g, 0, EXCHANGE_TRANSPORT_SHARED_MEMORY, "");
        gang_end(&g);
    }
}

/* Whoever insists on shared memory ends, with the reason and exit code 13. */
TEST(insisting)
{
    struct gang g;
    gang_init(&g, 1, 1, EXCHANGE_TRANSPORT_SHARED_MEMORY);
    g.rig.transport = EXCHANGE_TRANSPORT_TCP;
    rig_start_servers(&g.rig);
    struct exchange_ps_params p = rig_trainer(&g.rig, 0, g.addrs[0]);
    p.transport = EXCHANGE_TRANSPORT_SHARED_MEMORY;
    struct err err = {0};
    struct exchange *x;
    assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
    _cleanup_(freep) float *grads = calloc(N, sizeof(float)), *params = calloc(N, sizeof(float));
    struct exchange_times times;
    assert_true(exchange_round(x, grads, params, &times, &err) < 0);
    struct exchange_fault fault;
    x->ops->fault(x, &fault);
    print_message("# %d %s\n", fault.exit_code, err.msg);
    assert_int_equal(fault.exit_code, 13);
    assert_non_null(strstr(err.msg, "transport SharedMemory: the server's transport is Tcp"));
    x->ops->free(x);
    rig_join_servers(&g.rig);
    assert_true(g.rig.servers[0].result < 0);
    assert_int_equal(g.rig.servers[0].fault.exit_code, 11);
    rig_done(&g.rig);
}

/* ---- trainers that lie ---- */

static void say(struct raw_trainer *t, enum share_round round)
{
    lend_say(&t->conn, round);
    struct err err;
    assert_int_equal(conn_pump_tx(&t->conn, SIZE_MAX, &err), 0);
}

static void verdict_first(struct raw_trainer *t)
{
    say(t, SHARE_VERDICT);
}

static void verdict_without_memory(struct raw_trainer *t)
{
    say(t, SHARE_LISTEN);
    assert_true(raw_wait(t, FRAME_SHARE, 1)); /* the server cannot see its memory */
    say(t, SHARE_VERDICT);
}

static void listens_after_an_offer(struct raw_trainer *t)
{
    raw_count(t, FRAME_OFFER, 0, 1);
    say(t, SHARE_LISTEN);
}

static void listens_twice(struct raw_trainer *t)
{
    say(t, SHARE_LISTEN);
    say(t, SHARE_LISTEN);
}

/* It lends zeros: up to round 3. */
static void lend(struct raw_trainer *t, struct shm_peers *l)
{
    const struct frame_id self = rig_id(ROLE_TRAINER, 0);
    const struct lend_plan plan = {.slices = t->rig->slices, .n_trainers = 1};
    const struct shm_layout layout = lend_trainer_layout(&plan);
    struct err err = {0};
    shm_peers_init(l, t->rig->secret, &self, 1, 1);
    assert_int_equal(shm_peers_open(l, &layout, &err), 0);
    say(t, SHARE_LISTEN);
    while (t->seen[FRAME_SHARE] == 0 && !t->is_over) {
        struct pollfd fds[] = {{.fd = l->listener.fd, .events = POLLIN},
                               {.fd = t->conn.fd, .events = POLLIN}};
        assert_true(poll(fds, N_ROWS(fds), 60000) > 0);
        shm_peers_answer(l, clock_monotonic_ns());
        raw_read(t);
    }
    say(t, SHARE_VERDICT);
}

/* Of the only slice, which lies in its memory. */
static void lent_gradient(struct raw_trainer *t, uint32_t crc)
{
    struct err err;
    conn_send_payload(&t->conn, &(struct frame){.type = FRAME_GRADIENT}, NULL, 0, crc);
    assert_int_equal(conn_pump_tx(&t->conn, SIZE_MAX, &err), 0);
}

static void offer(struct raw_trainer *t)
{
    raw_count(t, FRAME_OFFER, 0, 1);
    assert_true(raw_wait(t, FRAME_CREDIT, 1));
}

static void payload_too(struct raw_trainer *t)
{
    raw_gradients(t, 0);
}

static void no_credit(struct raw_trainer *t)
{
    lent_gradient(t, 0);
}

static void a_checksum(struct raw_trainer *t)
{
    offer(t);
    lent_gradient(t, 1);
}

static void one_gradient_twice(struct raw_trainer *t)
{
    offer(t);
    lent_gradient(t, 0);
    lent_gradient(t, 0);
}

static void leaves_after_an_offer(struct raw_trainer *t)
{
    offer(t);
}

TEST(lies_are_named)
{
    static const struct {
        const char *name;
        bool lends;
        void (*lie)(struct raw_trainer *t);
        int exit_code;
        const char *says;
    } rows[] = {
        {"VERDICT first", false, verdict_first, 12,
         "trainer/0: SHARE of round 3 is not expected now"},
        {"VERDICT without memory", false, verdict_without_memory, 12,
         "SHARE of round 3 is not expected now"},
        {"LISTEN after OFFER", false, listens_after_an_offer, 12,
         "SHARE of round 1 is not expected now"},
        {"LISTEN twice", false, listens_twice, 12, "SHARE of round 1 is not expected now"},
        {"LISTEN of one that lends", true, listens_twice, 12,
         "SHARE of round 1 is not expected now"},
        {"VERDICT twice", true, verdict_first, 12, "SHARE of round 3 is not expected now"},
        {"a payload too", true, payload_too, 12, "offset 0, 0 bytes"},
        {"no credit", true, no_credit, 12, "came without a credit"},
        {"a checksum", true, a_checksum, 12, "CRC of the payload"},
        {"a gradient twice", true, one_gradient_twice, 12, "expected step 1"},
        {"leaves after OFFER", true, leaves_after_an_offer, 11, "closed the connection early"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t;
        struct shm_peers l = SHM_PEERS_NONE;
        rig_transport = EXCHANGE_TRANSPORT_AUTO;
        rig_init(&rig, 5000, 1, 1, 0);
        rig_start_servers(&rig);
        raw_join(&t, &rig, 0);
        if (rows[i].lends) {
            lend(&t, &l);
        }
        rows[i].lie(&t);
        raw_end(&t);
        shm_peers_done(&l);
        rig_join_servers(&rig);
        print_message("# %s: %s\n", rows[i].name, rig.servers[0].err.msg);
        assert_int_equal(rig.servers[0].fault.exit_code, rows[i].exit_code);
        assert_non_null(strstr(rig.servers[0].err.msg, rows[i].says));
    }
}
