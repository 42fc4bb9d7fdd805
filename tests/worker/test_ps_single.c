/* Servers without rounds: what parameters a trainer gets, how stale its gradients were or that they
 * came too late, and whom a bound of staleness holds up. The test calls the trainers one after
 * another, so each sum of updates has one order. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/test.h"
#include "exchange_rig.h"
#include "raw_trainer.h"
#include "worker/tensor/bf16.h"

#define N_PARAMS 5000
#define SLICE_BYTES 4096
#define HELD_UP_NS 200000000 /* so long a trainer does not go on that must not */

struct gang {
    struct rig rig;
    atomic_size_t n_applied; /* numbers of gradients, on all servers */
    struct net_addr addrs[2][RIG_MAX];
    struct exchange *x[2];
    uint64_t step[2];
    float *params[2], *grad, *want; /* (N_PARAMS); `want`: the servers' */
    uint16_t *narrowed;
};

static void count_applied(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                          const float *grad_sum, float grad_scale)
{
    rig_apply(NULL, t, offset, n, params, grad_sum, grad_scale);
    (void)atomic_fetch_add((atomic_size_t *)ctx, n);
}

static void wait_until_applied(struct gang *g, size_t n)
{
    for (int i = 0; atomic_load(&g->n_applied) < n && i < 60000; i++) {
        (void)poll(NULL, 0, 2); /* nothing announces it */
    }
    assert_int_equal(atomic_load(&g->n_applied), n);
}

static void start(struct gang *g, const struct exchange_mode *mode, enum exchange_wire wire)
{
    *g = (struct gang){0};
    rig_init(&g->rig, N_PARAMS, 2, 2, SLICE_BYTES);
    rig_set_wire(&g->rig, wire);
    rig_set_mode(&g->rig, mode);
    g->rig.apply = count_applied;
    g->rig.apply_ctx = &g->n_applied;
    rig_start_servers(&g->rig);
    g->grad = calloc(N_PARAMS, sizeof(float));
    g->want = calloc(N_PARAMS, sizeof(float));
    g->narrowed = calloc(N_PARAMS, sizeof(uint16_t));
    rig_init_params(g->want, N_PARAMS);
    for (uint32_t t = 0; t < 2; t++) {
        struct err err;
        g->params[t] = calloc(N_PARAMS, sizeof(float));
        const struct exchange_ps_params p = rig_trainer(&g->rig, t, g->addrs[t]);
        assert_int_equal(exchange_ps_new(&p, &g->x[t], &err), 0);
    }
}

static void end(struct gang *g)
{
    for (uint32_t t = 0; t < 2; t++) {
        g->x[t]->ops->free(g->x[t]);
        free(g->params[t]);
    }
    rig_done(&g->rig);
    free(g->grad);
    free(g->want);
    free(g->narrowed);
}

/* What a peer makes of values that were sent. */
static void wire_rounds(struct gang *g, float *values)
{
    if (g->rig.wire == EXCHANGE_WIRE_BF16) {
        bf16_narrow(g->narrowed, values, N_PARAMS);
        bf16_widen(values, g->narrowed, N_PARAMS);
    }
}

/* One step of trainer t, from its gradients to new parameters. */
static int one_step(struct gang *g, uint32_t t, struct err *err)
{
    struct exchange_times times;
    rig_gradient(g->grad, N_PARAMS, t, g->step[t]++);
    const int r = exchange_round(g->x[t], g->grad, g->params[t], &times, err);
    wire_rounds(g, g->grad);
    rig_apply(NULL, 0, 0, N_PARAMS, g->want, g->grad, 1.0f);
    return r;
}

/* Trainer t has what the servers have. */
static void is_new(struct gang *g, uint32_t t)
{
    _cleanup_(freep) float *want = calloc(N_PARAMS, sizeof(float));
    memcpy(want, g->want, N_PARAMS * sizeof(float));
    wire_rounds(g, want);
    assert_memory_equal(g->params[t], want, N_PARAMS * sizeof(float));
}

static void *call_barrier(void *arg)
{
    struct exchange *x = arg;
    struct err err;
    assert_int_equal(x->ops->barrier(x, &err), 0);
    return NULL;
}

static void both_at_barrier(struct gang *g)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_barrier, g->x[1]), 0);
    (void)call_barrier(g->x[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void goodbye(struct gang *g, uint32_t t)
{
    struct err err = {0};
    print_message("# goodbye of %u\n", t);
    assert_int_equal(g->x[t]->ops->goodbye(g->x[t], &err), 0);
}

/* Nobody waits, and each gets what all have done so far. Trainer 0 goes twice, then 1 (whose
 * parameters are 2 behind), 1 again, then 0 (2 behind): (0 + 0 + 2 + 0 + 2) / 5. */
TEST(nobody_waits)
{
    static const enum exchange_wire wires[] = {EXCHANGE_WIRE_FP32, EXCHANGE_WIRE_BF16};
    static const uint32_t turns[] = {0, 0, 1, 1, 0};
    const struct exchange_mode async = {.kind = EXCHANGE_ASYNC};
    for (size_t w = 0; w < N_ROWS(wires); w++) {
        struct gang g;
        struct err err;
        start(&g, &async, wires[w]);
        both_at_barrier(&g);
        for (size_t i = 0; i < N_ROWS(turns); i++) {
            assert_int_equal(one_step(&g, turns[i], &err), 0);
            is_new(&g, turns[i]);
        }
        goodbye(&g, 1); /* the others may go on */
        assert_int_equal(one_step(&g, 0, &err), 0);
        is_new(&g, 0);
        goodbye(&g, 0);
        rig_join_servers(&g.rig);
        for (uint32_t s = 0; s < 2; s++) {
            const struct rig_server *server = &g.rig.servers[s];
            const uint64_t n = g.rig.slices.n / 2;
            assert_int_equal(server->result, 0);
            assert_int_equal(server->stats.n_rounds, 3); /* of two gradients each */
            assert_int_equal(server->stats.n_stale, 6 * n);
            assert_int_equal(server->stats.staleness_sum, 4 * n);
            assert_int_equal(server->stats.staleness_max, 2);
        }
        end(&g);
    }
}

struct held {
    struct gang *gang;
    int result;
    struct err err;
};

static void *call_round(void *arg)
{
    struct held *h = arg;
    struct exchange_times times;
    _cleanup_(freep) float *grad = calloc(N_PARAMS, sizeof(float));
    rig_gradient(grad, N_PARAMS, 0, h->gang->step[0]++);
    h->result = exchange_round(h->gang->x[0], grad, h->gang->params[0], &times, &h->err);
    return NULL;
}

static void begin_held(struct held *h, pthread_t *thread)
{
    struct timespec by;
    assert_int_equal(pthread_create(thread, NULL, call_round, h), 0);
    (void)clock_gettime(CLOCK_REALTIME, &by);
    by.tv_nsec += HELD_UP_NS;
    by.tv_sec += by.tv_nsec / 1000000000;
    by.tv_nsec %= 1000000000;
    assert_int_equal(pthread_timedjoin_np(*thread, NULL, &by), ETIMEDOUT);
}

/* With a bound of 1 trainer 0 may be one step ahead; its second one waits for
 * the first of trainer 1. */
TEST(one_step_ahead)
{
    const struct exchange_mode bounded = {.kind = EXCHANGE_BOUNDED, .staleness = 1};
    struct gang g;
    struct err err;
    pthread_t thread;
    start(&g, &bounded, EXCHANGE_WIRE_FP32);
    assert_int_equal(one_step(&g, 0, &err), 0);
    is_new(&g, 0);
    struct held held = {.gang = &g};
    begin_held(&held, &thread);
    wait_until_applied(&g, (size_t)2 * N_PARAMS);
    rig_gradient(g.grad, N_PARAMS, 0, 1);
    rig_apply(NULL, 0, 0, N_PARAMS, g.want, g.grad, 1.0f);
    assert_int_equal(one_step(&g, 1, &err), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(held.result, 0);
    is_new(&g, 0);
    is_new(&g, 1);
    assert_int_equal(one_step(&g, 1, &err), 0);
    goodbye(&g, 0);
    goodbye(&g, 1);
    rig_join_servers(&g.rig);
    assert_int_equal(g.rig.servers[0].result, 0);
    assert_int_equal(g.rig.servers[1].result, 0);
    end(&g);
}

/* Whom others wait for may not leave. Both orders: it leaves first, or they wait first. */
TEST(the_slowest_leaves)
{
    const struct exchange_mode bounded = {.kind = EXCHANGE_BOUNDED, .staleness = 1};
    for (int waits_first = 0; waits_first < 2; waits_first++) {
        struct gang g;
        struct err err = {0};
        pthread_t thread;
        start(&g, &bounded, EXCHANGE_WIRE_FP32);
        assert_int_equal(one_step(&g, 1, &err), 0);
        assert_int_equal(one_step(&g, 0, &err), 0);
        assert_int_equal(one_step(&g, 0, &err), 0);
        struct held held = {.gang = &g};
        if (waits_first) {
            begin_held(&held, &thread);
            (void)g.x[1]->ops->goodbye(g.x[1], &err); /* it may learn at once what it has done */
            assert_int_equal(pthread_join(thread, NULL), 0);
        } else {
            goodbye(&g, 1);
            (void)call_round(&held);
        }
        print_message("# %s\n", held.err.msg);
        assert_true(held.result < 0);
        assert_non_null(strstr(held.err.msg, "trainer/1 finished after 1 steps"));
        end(&g);
    }
}

/* One of two is enough: 0 is applied, 1 is late and gets what 0 made, 1 is applied, 0 is late; 0
 * leaves, 1 goes on alone, because one gradient is enough. */
TEST(late_ones_are_dropped)
{
    static const enum exchange_wire wires[] = {EXCHANGE_WIRE_FP32, EXCHANGE_WIRE_BF16};
    static const struct {
        uint32_t trainer;
        bool is_late;
    } turns[] = {{0, false}, {1, true}, {1, false}, {0, true}};
    const struct exchange_mode mode = {.backups = 1};
    for (size_t w = 0; w < N_ROWS(wires); w++) {
        struct gang g;
        struct err err;
        start(&g, &mode, wires[w]);
        both_at_barrier(&g);
        for (size_t i = 0; i < N_ROWS(turns); i++) {
            _cleanup_(freep) float *before = calloc(N_PARAMS, sizeof(float));
            memcpy(before, g.want, N_PARAMS * sizeof(float));
            assert_int_equal(one_step(&g, turns[i].trainer, &err), 0);
            if (turns[i].is_late) {
                memcpy(g.want, before, N_PARAMS * sizeof(float));
            }
            is_new(&g, turns[i].trainer);
        }
        goodbye(&g, 0);
        assert_int_equal(one_step(&g, 1, &err), 0);
        is_new(&g, 1);
        goodbye(&g, 1);
        rig_join_servers(&g.rig);
        for (uint32_t s = 0; s < 2; s++) {
            const struct ps_server_stats *stats = &g.rig.servers[s].stats;
            const uint64_t n = g.rig.slices.n / 2;
            assert_int_equal(g.rig.servers[s].result, 0);
            assert_int_equal(stats->n_rounds, 3); /* updates of each slice */
            assert_int_equal(stats->n_arrived, 5 * n);
            assert_int_equal(stats->n_dropped, 2 * n);
            assert_int_equal(stats->latest_trainer, 0);
            assert_int_equal(stats->n_latest, n);
            assert_int_equal(stats->n_stale, 0);
        }
        end(&g);
    }
}

/* Two of three trainers stand still, and hold all that may be on its way: gradients that have the
 * credit, or parameters that were sent. The third one goes on: its life signs would not do, it must
 * get its parameters. */
TEST(who_stands_still_holds_up_nobody)
{
    enum {
        SLICE = SLICES_MAX_BYTES / sizeof(float) - 32,
        N_SLICES = 8
    }; /* as long as one can be */
    static const struct exchange_mode modes[] = {{.kind = EXCHANGE_ASYNC},
                                                 {.kind = EXCHANGE_BOUNDED, .staleness = 2}};
    for (size_t k = 0; k < 4; k++) {
        const bool sends = k / 2 == 1;
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[3];
        rig_init(&rig, (size_t)N_SLICES * SLICE, 1, 3, SLICES_MAX_BYTES);
        rig_set_mode(&rig, &modes[k % 2]);
        rig_start_servers(&rig);
        assert_int_equal(rig.slices.n, N_SLICES);
        for (uint32_t i = 0; i < 3; i++) {
            raw_join(&t[i], &rig, i);
        }
        for (uint32_t i = 0; i < 2; i++) {
            t[i].says_nothing = true;
            if (sends) {
                raw_gradients(&t[i], 0);
            } else {
                raw_count(&t[i], FRAME_OFFER, 0, N_SLICES);
            }
        }
        raw_settle(&rig);
        raw_gradients(&t[2], 0);
        assert_true(raw_wait(&t[2], FRAME_PARAMS, N_SLICES));
        for (uint32_t i = 3; i-- > 0;) {
            raw_end(&t[i]);
        }
        rig_join_servers(&rig);
    }
}

/* Two of three are enough, and the mean of the two is applied. */
TEST(the_mean_of_those_in_time)
{
    const struct exchange_mode mode = {.backups = 1};
    struct rig rig;
    struct raw_trainer t[3];
    rig_init(&rig, N_PARAMS, 1, 3, SLICE_BYTES);
    rig_set_mode(&rig, &mode);
    rig_start_servers(&rig);
    float *want = calloc(N_PARAMS, sizeof(float));
    rig_init_params(want, N_PARAMS);
    for (uint32_t i = 0; i < 3; i++) {
        raw_join(&t[i], &rig, i);
    }
    const size_t n = rig.slices.n;
    const struct slice first = slices_get(&rig.slices, rig.slices.n - 1);
    for (size_t i = 0; i < first.len; i++) {
        t[0].slice[i] = 3.0f;
        t[2].slice[i] = 4.0f;
        want[first.offset + i] -= 0.5f * 0.5f * 7.0f;
    }
    raw_gradient(&t[0], 0, 0);
    raw_settle(&rig);
    raw_read(&t[0]);
    assert_int_equal(t[0].seen[FRAME_PARAMS], 0); /* one is not enough */
    raw_gradient(&t[2], 0, 0);
    assert_true(raw_wait(&t[0], FRAME_PARAMS, 1));
    assert_true(raw_wait(&t[2], FRAME_PARAMS, 1));
    assert_memory_equal(t[0].params, want + first.offset, first.len * sizeof(float));
    raw_gradient(&t[1], 0, 0);
    assert_true(raw_wait(&t[1], FRAME_PARAMS, 1)); /* late: it need not wait for anybody */
    assert_memory_equal(t[1].params, want + first.offset, first.len * sizeof(float));
    assert_true(n > 1);
    for (uint32_t i = 0; i < 3; i++) {
        raw_end(&t[i]);
    }
    rig_join_servers(&rig);
    rig_done(&rig);
    free(want);
}

/* A trainer that is known to server 0 only does a step there. */
static void step_at_one_server(struct raw_trainer *t, uint64_t step)
{
    const uint32_t n = t->rig->slices.n / t->rig->n_servers;
    raw_count(t, FRAME_OFFER, step, n);
    assert_true(raw_wait(t, FRAME_CREDIT, t->seen[FRAME_CREDIT] + 1));
    assert_int_equal(t->credit, n);
    for (uint32_t i = n; i-- > 0;) {
        const struct slice slice = slices_get(&t->rig->slices, i * t->rig->n_servers);
        const struct frame f = {.type = FRAME_GRADIENT,
                                .step = step,
                                .slice = i * t->rig->n_servers,
                                .offset = slice.offset,
                                .params_version = (uint32_t)step};
        raw_slice(t, &f, slice.len);
    }
    assert_true(raw_wait(t, FRAME_PARAMS, (unsigned)(step + 1) * n));
}

/* Server 0 has had two updates more than server 1. A trainer that has version 2 of the one and 1 of
 * the other says 1: it is late at server 0 once more, and in time at server 1. */
TEST(servers_of_two_versions)
{
    const struct exchange_mode mode = {.backups = 1};
    struct rig rig;
    struct raw_trainer other;
    struct net_addr addrs[RIG_MAX];
    struct exchange *x;
    struct exchange_times times;
    struct err err;
    rig_init(&rig, N_PARAMS, 2, 2, SLICE_BYTES);
    rig_set_mode(&rig, &mode);
    rig_start_servers(&rig);
    raw_join(&other, &rig, 1);
    step_at_one_server(&other, 0);
    step_at_one_server(&other, 1);
    const struct exchange_ps_params p = rig_trainer(&rig, 0, addrs);
    assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
    float *grad = calloc(N_PARAMS, sizeof(float)), *params = calloc(N_PARAMS, sizeof(float)),
          *want = calloc(N_PARAMS, sizeof(float));
    rig_init_params(want, N_PARAMS);
    for (uint64_t step = 0; step < 2; step++) {
        rig_gradient(grad, N_PARAMS, 0, step);
        const int r = exchange_round(x, grad, params, &times, &err);
        if (r < 0) {
            fail_msg("step %u: %s", (unsigned)step, err.msg);
        }
        for (uint32_t i = 0; i < rig.slices.n; i++) {
            const struct slice slice = slices_get(&rig.slices, i);
            if (slice.server == 1) {
                rig_apply(NULL, 0, 0, slice.len, want + slice.offset, grad + slice.offset, 1.0f);
            }
        }
        assert_memory_equal(params, want, N_PARAMS * sizeof(float));
    }
    raw_end(&other);
    x->ops->free(x);
    rig_join_servers(&rig);
    rig_done(&rig);
    free(grad);
    free(params);
    free(want);
}

/* Nobody has parameters of the next version. */
TEST(a_version_that_is_not_there_yet)
{
    const struct exchange_mode mode = {.backups = 1};
    _cleanup_(rig_done) struct rig rig;
    struct raw_trainer t[2];
    rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
    rig_set_mode(&rig, &mode);
    rig_start_servers(&rig);
    raw_join(&t[0], &rig, 0);
    raw_join(&t[1], &rig, 1);
    const uint32_t last = rig.slices.n - 1;
    const struct slice first = slices_get(&rig.slices, last);
    const struct frame f = {
        .type = FRAME_GRADIENT, .slice = last, .offset = first.offset, .params_version = 1};
    raw_count(&t[0], FRAME_OFFER, 0, 1);
    assert_true(raw_wait(&t[0], FRAME_CREDIT, 1));
    raw_slice(&t[0], &f, first.len);
    raw_end(&t[0]);
    raw_end(&t[1]);
    rig_join_servers(&rig);
    const struct rig_server *server = &rig.servers[0];
    print_message("# %s\n", server->err.msg);
    assert_int_equal(server->fault.exit_code, 12);
    assert_non_null(
        strstr(server->err.msg, "trainer/0: gradient of slice 4, computed with version 1"));
}

/* Whoever waits at the barrier would wait for ever: the one that has left is
 * named, in every mode. */
TEST(who_leaves_while_others_wait_is_named)
{
    static const struct exchange_mode modes[] = {{.kind = EXCHANGE_SYNC},
                                                 {.kind = EXCHANGE_ASYNC},
                                                 {.kind = EXCHANGE_BOUNDED, .staleness = 2},
                                                 {.backups = 1}};
    for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[2];
        rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
        rig_set_mode(&rig, &modes[k]);
        rig_start_servers(&rig);
        raw_join(&t[0], &rig, 0);
        raw_join(&t[1], &rig, 1);
        raw_send(&t[0], FRAME_READY);
        raw_settle(&rig);
        raw_send(&t[1], FRAME_GOODBYE);
        print_message("# mode %zu\n", k);
        assert_true(raw_wait(&t[0], FRAME_ABORT, 1));
        raw_end(&t[0]);
        raw_end(&t[1]);
        rig_join_servers(&rig);
        assert_non_null(strstr(rig.servers[0].err.msg, "trainer/1"));
    }
}

int main(void)
{
    return test_run_all(NULL);
}
