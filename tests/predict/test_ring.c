/* Laws of a simulated ring, whatever the numbers. docs/prediction.md works one out by hand. */
#include <errno.h>
#include <math.h>

#include "tests/test.h"
#include "exchange/ring_plan.h"
#include "predict/gang.h"

#define EXACT 1e-9
#define MODEL 15254602
#define MODEL_BYTES (4.0 * MODEL)

static void assert_near(double value, double want)
{
    if (!(fabs(value - want) <= EXACT * fabs(want))) {
        fail_msg("%.15g, expected %.15g", value, want);
    }
}

/* One slice for each rank: 4,000 parameters, 16,000 bytes. Nothing is computed. */
#define SLICE 4000
#define SLICE_BYTES 16000.0
static struct gang_params bare(uint32_t n, struct gang_layer *ret_layer)
{
    *ret_layer = (struct gang_layer){0, (size_t)SLICE * n, 0, 0};
    return (struct gang_params){
        .layers = ret_layer,
        .n_layers = 1,
        .n_params = (size_t)SLICE * n,
        .n_trainers = n,
        .is_ring = true,
        .n_warmup_steps = 1,
        .n_steps = 5,
        .trainer_bytes_per_s = 1e8,
        .server_bytes_per_s = INFINITY,
        .seed = 1,
    };
}

/* As large as VGG16, in four layers; the second has no parameters. */
static const struct gang_layer four_layers[] = {
    {0, 1000000, 0.1, 0.2},
    {1000000, 0, 0.05, 0.01},
    {1000000, 10000000, 0.2, 0.4},
    {11000000, MODEL - 11000000, 0.1, 0.1},
};
#define FOUR_S 1.16
static struct gang_params large(uint32_t n)
{
    struct gang_layer ignored;
    struct gang_params p = bare(n, &ignored);
    p.layers = four_layers;
    p.n_layers = N_ROWS(four_layers);
    p.n_params = MODEL;
    p.trainer_bytes_per_s = INFINITY;
    return p;
}

/* Each rank sends 2 (N - 1)/N of the parameters, and no link is ever idle. */
TEST(a_link_carries_all_but_two_parts)
{
    for (uint32_t n = 2; n <= 12; n++) {
        struct gang_layer layer;
        const struct gang_params p = bare(n, &layer);
        assert_int_equal(ring_slices(p.n_params, n).n, n);
        const struct gang_result r = gang_run(&p);
        assert_near(r.step_s, 2 * (n - 1) * SLICE_BYTES / 1e8);
        assert_near(r.exposed_s, r.step_s);
        assert_near(r.steps_per_s, n / r.step_s);
        assert_near(r.trainer_link_share, 1);
        assert_int_equal(r.n_transfers, 2 * (n - 1) * n * 5);
    }
}

/* With as many slices as the model has: nearly. */
TEST(so_does_a_model)
{
    for (uint32_t n = 2; n <= 9; n += 3) {
        struct gang_params p = large(n);
        p.trainer_bytes_per_s = 1e7;
        const struct gang_result r = gang_run(&p);
        const double law_s = 2 * (n - 1.0) / n * MODEL_BYTES / 1e7;
        assert_true(r.step_s >= law_s * (1 - EXACT));
        assert_true(r.step_s <= FOUR_S + 1.01 * law_s);
        assert_true(r.exposed_s >=
                    law_s - FOUR_S); /* what computing hides is no more than it lasts */
        assert_near(r.forward_s + r.backward_s, FOUR_S);
        assert_near(r.forward_s + r.backward_s + r.exposed_s, r.step_s);
    }
}

/* Each of the 2 (N - 1) hops that a slice makes waits for the latency, the thread that sends and
 * the one that receives. */
TEST(each_hop_waits)
{
    /* 128 and 2048 workers are simulated as 64 ranks. */
    for (uint32_t n = 1; n <= 2048; n = n < 8 ? n + 1 : 16 * n) {
        struct gang_layer layer;
        struct gang_params p = bare(n, &layer);
        const double hops = 2 * (n - 1);
        p.latency_s = 25e-6;
        p.costs = (struct gang_costs){.worker = 1e-9, .worker_update = 3e-9};
        const struct gang_result r = gang_run(&p);
        assert_near(r.step_s, hops * (SLICE_BYTES / 1e8 + 25e-6 + 2 * SLICE_BYTES * 1e-9) +
                                  SLICE_BYTES * 3e-9);
        assert_near(r.worker_share, SLICE_BYTES * (2 * hops * 1e-9 + 3e-9) / r.step_s);
    }
}

/* Two groups take turns: all hops of the two but the first and the last wait for each other. With
 * two ranks there is but one hop, and the window of 16 slices is what waits: 117 are 8 of them. */
TEST(a_long_latency_is_waited_for_in_turns)
{
    static const struct {
        uint32_t n, latencies;
    } rows[] = {{2, 8 + 1}, {3, 39 + 3}, {4, 2 * 30 + 4}, {5, 3 * 24 + 5}, {10, 8 * 12 + 10}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct gang_layer layer = {0, MODEL, 0, 0};
        struct gang_params p = large(rows[i].n);
        p.layers = &layer;
        p.n_layers = 1;
        p.latency_s = 0.05;
        struct gang_result r = gang_run(&p);
        assert_near(r.step_s, rows[i].latencies * 0.05);
        assert_true(gang_waits_for_latency(&p, &r));
        p.trainer_bytes_per_s = 1e6; /* a slice takes longer: what others send meanwhile hides it */
        r = gang_run(&p);
        assert_false(gang_waits_for_latency(&p, &r));
        p.trainer_bytes_per_s = INFINITY;
        p.costs.worker = 1e-7; /* its thread does */
        r = gang_run(&p);
        assert_false(gang_waits_for_latency(&p, &r));
    }
}

TEST(a_slow_link_limits_all)
{
    for (uint32_t n = 2; n <= 9; n++) {
        struct gang_layer layer;
        struct gang_params p = bare(n, &layer);
        p.first_bytes_per_s = 1e7;
        const struct gang_result r = gang_run(&p);
        const double slice_s = SLICE_BYTES / 1e7, law_s = 2 * (n - 1) * slice_s;
        if (n <= 4) {
            assert_near(r.trainer_link_share, 1); /* it is never idle */
        }
        /* The last step ends a little earlier for those whose own links are fast. Of five ranks and
         * more one slice of parameters goes before a gradient that comes a little later. */
        assert_true(r.step_s >= 0.98 * law_s &&
                    r.step_s <= law_s + (n <= 4 ? EXACT : 1.1 * slice_s));
    }
}

/* Without links and costs every step lasts as long as its slowest worker. */
TEST(a_straggler_delays_all)
{
    for (uint32_t n = 5; n <= 640; n *= 128) { /* 640 are 64 ranks of 10 workers */
        struct gang_params p = large(n);
        p.n_warmup_steps = 2;
        p.n_steps = 10;
        p.jitter_ratio = 0.1;
        double want_s = 0;
        for (uint64_t step = 2; step < 12; step++) {
            double max = 0;
            for (uint32_t t = 0; t < n; t++) {
                max = fmax(max, gang_factor(1, t, step, 0.1));
            }
            want_s += max * FOUR_S;
        }
        const struct gang_result r = gang_run(&p);
        assert_near(r.step_s, want_s / 10);
        assert_near(r.steps_per_s, n / r.step_s);
        assert_near(r.forward_s + r.backward_s + r.exposed_s, r.step_s);
        assert_near(r.late_s, r.exposed_s);
    }
}

/* A rank of one updates in its thread, while it computes: what is left is the
 * part of the first layer. */
TEST(alone_it_updates)
{
    struct gang_params p = large(1);
    p.costs.worker_update = 1e-9;
    const struct gang_result r = gang_run(&p);
    assert_true(r.n_transfers == 0 && r.trainer_link_share == 0);
    assert_true(r.exposed_s >= 1000000 * 4e-9 && r.exposed_s < 1100000 * 4e-9);
    assert_near(r.worker_share, MODEL_BYTES * 1e-9 / r.step_s);
}

TEST(all_times_scale)
{
    struct gang_params p = large(5);
    p.jitter_ratio = 0.05;
    p.trainer_bytes_per_s = 1.25e8;
    p.latency_s = 1e-5;
    p.costs = (struct gang_costs){.worker = 5e-10, .worker_update = 2e-9};
    const struct gang_result fast = gang_run(&p), same = gang_run(&p);
    assert_memory_equal(&fast, &same, sizeof(fast));
    struct gang_layer slow_layers[N_ROWS(four_layers)];
    for (size_t i = 0; i < N_ROWS(four_layers); i++) {
        slow_layers[i] = four_layers[i];
        slow_layers[i].forward_s *= 2;
        slow_layers[i].backward_s *= 2;
    }
    p.layers = slow_layers;
    p.trainer_bytes_per_s /= 2;
    p.latency_s *= 2;
    p.costs = (struct gang_costs){.worker = 1e-9, .worker_update = 4e-9};
    const struct gang_result slow = gang_run(&p);
    assert_near(slow.step_s, 2 * fast.step_s);
    assert_near(slow.exposed_s, 2 * fast.exposed_s);
    assert_near(slow.worker_share, fast.worker_share);
}

/* One core does all that its workers and their threads do, and is never idle. */
TEST(cores_are_shared)
{
    struct gang_layer layer;
    struct gang_params p = bare(4, &layer);
    layer.forward_s = layer.backward_s = 0.005;
    p.trainer_bytes_per_s = INFINITY;
    p.n_cores = 1;
    p.costs = (struct gang_costs){.worker = 1e-8, .worker_update = 3e-8};
    const double exchange_s = SLICE_BYTES * (2 * 2 * 3 * 1e-8 + 3e-8);
    struct gang_result r = gang_run(&p);
    assert_near(r.cores_share, 1);
    assert_true(r.step_s <= 4 * (0.010 + exchange_s) * (1 + EXACT));
    assert_true(r.step_s >= 0.95 * 4 * (0.010 + exchange_s));
    p.compute_sleeps = true; /* emulated workers: their threads alone need it */
    r = gang_run(&p);
    assert_near(r.step_s, 0.010 + 4 * exchange_s);
}

TEST(what_is_too_large_is_refused)
{
    struct err err = {0};
    struct gang_params p = large(10000);
    assert_int_equal(gang_check(&p, &err), 0);
    p = large(100);
    p.n_steps = 100;
    assert_int_equal(gang_check(&p, &err), 0);
    p.n_steps = 1000000000;
    assert_int_equal(gang_check(&p, &err), 0);
    p.n_params = 1000000000000;
    assert_int_equal(gang_check(&p, &err), -E2BIG);
    struct gang_layer layer;
    p = bare(60, &layer); /* slices of less than a line, and empty ones */
    p.n_params = layer.n = 200;
    layer.forward_s = 0.1;
    p.trainer_bytes_per_s = INFINITY;
    assert_near(gang_run(&p).step_s, 0.1);
}
