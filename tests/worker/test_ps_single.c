/* A server in Async: what parameters a trainer gets, how stale its gradients were, and that one
 * which is stuck holds up no other. The test calls the trainers one after another, so each sum of
 * updates has one order. */
#include <pthread.h>

#include "tests/test.h"
#include "exchange_rig.h"
#include "raw_trainer.h"
#include "worker/tensor/accumulate.h"

#define N_PARAMS 5000
#define SLICE_BYTES 4096

struct gang {
    struct rig rig;
    struct net_addr addrs[2][RIG_MAX];
    struct exchange *x[2];
    uint64_t step[2];
    float *params[2], *grad, *want; /* (N_PARAMS); `want`: the servers' */
    uint16_t *narrowed;
};

static const struct exchange_mode async = {.kind = EXCHANGE_ASYNC};

static void start(struct gang *g, enum exchange_wire wire)
{
    *g = (struct gang){0};
    rig_init(&g->rig, N_PARAMS, 2, 2, SLICE_BYTES);
    rig_set_wire(&g->rig, wire);
    rig_set_mode(&g->rig, &async);
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
    for (size_t w = 0; w < N_ROWS(wires); w++) {
        _cleanup_(end) struct gang g;
        struct err err;
        start(&g, wires[w]);
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
    for (int sends = 0; sends < 2; sends++) {
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[3];
        rig_init(&rig, (size_t)N_SLICES * SLICE, 1, 3, SLICES_MAX_BYTES);
        rig_set_mode(&rig, &async);
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

/* Whoever waits at the barrier would wait for ever: the one that has left is
 * named, in every mode. */
TEST(who_leaves_while_others_wait_is_named)
{
    static const struct exchange_mode modes[] = {{.kind = EXCHANGE_SYNC}, {.kind = EXCHANGE_ASYNC}};
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
