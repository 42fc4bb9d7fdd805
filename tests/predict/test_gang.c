/* Laws that the simulation keeps exactly, whatever the numbers. docs/prediction.md works two of
 * them out by hand. */
#include <errno.h>
#include <math.h>

#include "tests/test.h"
#include "exchange/slices.h"
#include "predict/gang.h"

#define EXACT 1e-9
#define MODEL 15254602

static void assert_near(double value, double want)
{
    if (!(fabs(value - want) <= EXACT * fabs(want))) {
        fail_msg("%.15g, expected %.15g", value, want);
    }
}

/* A network of one layer of 200,000 parameters: .8 MB, one slice for one server. */
static const struct gang_layer one_layer[] = {{0, 200000, 0.020, 0.030}};
#define ONE_BYTES 800000.0
static struct gang_params small(uint32_t n_trainers, uint32_t n_servers)
{
    return (struct gang_params){
        .layers = one_layer,
        .n_layers = 1,
        .n_params = 200000,
        .n_trainers = n_trainers,
        .n_servers = n_servers,
        .n_steps = 10,
        .trainer_bytes_per_s = INFINITY,
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
static struct gang_params large(uint32_t n_trainers, uint32_t n_servers)
{
    struct gang_params p = small(n_trainers, n_servers);
    p.layers = four_layers;
    p.n_layers = N_ROWS(four_layers);
    p.n_params = MODEL;
    return p;
}

TEST(alone_it_computes)
{
    struct gang_params p = large(1, 0);
    p.n_warmup_steps = 3;
    struct gang_result r = gang_run(&p);
    assert_near(r.step_s, FOUR_S);
    assert_near(r.steps_per_s, 1 / FOUR_S);
    assert_near(r.forward_s + r.backward_s, FOUR_S);
    assert_true(r.exposed_s == 0 && r.n_transfers == 0);
    p.costs.local_update = 1e-9;
    r = gang_run(&p);
    assert_near(r.update_s, MODEL * 4e-9);
    assert_near(r.step_s, FOUR_S + MODEL * 4e-9);
}

/* Without links and costs every step lasts as long as its slowest trainer. */
TEST(the_slowest_counts)
{
    struct gang_params p = large(7, 3);
    p.n_warmup_steps = 2;
    p.jitter_ratio = 0.1;
    double want_s = 0;
    for (uint64_t step = 2; step < 12; step++) {
        double max = 0;
        for (uint32_t t = 0; t < 7; t++) {
            max = fmax(max, gang_factor(1, t, step, 0.1));
        }
        want_s += max * FOUR_S;
    }
    const struct gang_result r = gang_run(&p);
    assert_near(r.step_s, want_s / 10);
    assert_near(r.forward_s + r.backward_s + r.exposed_s, r.step_s);
    assert_near(r.late_s, r.exposed_s);
    assert_int_equal(r.n_transfers, 2 * 7 * slices_plan(MODEL, 3, SLICES_MAX_BYTES).n * 10);
}

TEST(one_slice_there_and_back)
{
    struct gang_params p = small(1, 1);
    p.trainer_bytes_per_s = 100e6;
    p.server_bytes_per_s = 80e6; /* the slower one counts */
    p.costs = (struct gang_costs){.receive = 1e-9, .send = 2e-9, .update = 3e-9, .trainer = 4e-9};
    const struct gang_result r = gang_run(&p);
    assert_near(r.exposed_s, 2 * ONE_BYTES / 80e6 + ONE_BYTES * (1e-9 + 2e-9 + 3e-9 + 2 * 4e-9));
    assert_near(r.step_s, 0.050 + r.exposed_s);
    assert_near(r.server_share, ONE_BYTES * 6e-9 / r.step_s);
    assert_near(r.server_link_share, ONE_BYTES / 80e6 / r.step_s);
    assert_near(r.trainer_link_share, ONE_BYTES / 100e6 / r.step_s);
}

TEST(latency_and_a_link_of_its_own)
{
    struct gang_params p = small(1, 1);
    p.trainer_bytes_per_s = p.server_bytes_per_s = 100e6;
    p.first_bytes_per_s = 50e6;
    p.latency_s = 0.003;
    struct gang_result r = gang_run(&p);
    assert_near(r.exposed_s, 2 * (ONE_BYTES / 50e6 + 0.003));
    assert_near(r.trainer_link_share, ONE_BYTES / 50e6 / r.step_s);
    p = large(1, 3); /* slices that follow each other wait for it at the same time */
    p.trainer_bytes_per_s = p.server_bytes_per_s = 1e7;
    const double without_s = gang_run(&p).step_s;
    p.latency_s = 0.003;
    r = gang_run(&p);
    assert_true(r.step_s >= without_s && r.step_s <= without_s + 2.1 * 0.003);
}

/* A server gives credit for 8 MiB: with many trainers their slices wait for
 * the latency in turns. */
TEST(what_latency_costs_depends_on_the_rest)
{
    static const struct {
        uint32_t n_trainers, n_servers;
        double bytes_per_s, latency_s;
        bool is_waited_for;
    } rows[] = {
        {20, 1, 1.25e9, 0.010, true}, /* 150 latencies of 10 ms, and .7 s of the link */
        {20, 1, 1.25e9, 0.001, false}, {60, 3, 1.25e9, 0.010, true},
        {60, 3, 1.25e8, 0.010, false}, {20, 10, INFINITY, 0.010, true},
        {20, 10, INFINITY, 0, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct gang_params p = large(rows[i].n_trainers, rows[i].n_servers);
        p.n_steps = 2;
        p.trainer_bytes_per_s = p.server_bytes_per_s = rows[i].bytes_per_s;
        p.latency_s = rows[i].latency_s;
        const struct gang_result r = gang_run(&p);
        if (gang_waits_for_latency(&p, &r) != rows[i].is_waited_for) {
            fail_msg("row %zu", i);
        }
    }
}

/* N equal trainers share the server's link: each direction takes N times as long. */
TEST(a_link_is_shared)
{
    for (uint32_t n = 1; n <= 10; n++) {
        struct gang_params p = small(n, 1);
        p.server_bytes_per_s = 100e6;
        const struct gang_result r = gang_run(&p);
        assert_near(r.step_s, 0.050 + 2 * n * ONE_BYTES / 100e6);
        assert_near(r.steps_per_s, n / r.step_s);
        assert_near(r.server_link_share, n * ONE_BYTES / 100e6 / r.step_s);
    }
}

/* The server receives one after another: N gradients, one update, N parameters, of
 * which the trainers wait for theirs. The last step ends with the last trainer's, the
 * others begin earlier. */
TEST(a_server_serves_one_by_one)
{
    struct gang_params p = small(2, 1);
    p.n_steps = 1;
    p.costs = (struct gang_costs){.receive = 1e-8, .send = 2e-8, .update = 5e-8};
    const double b = ONE_BYTES * 1e-8;
    const struct gang_result r = gang_run(&p);
    const double first_s = 0.050 + 2 * b + 5 * b + 2 * b, last_s = first_s + 2 * b;
    assert_near(r.steps_per_s, 1 / first_s + 1 / last_s);
    assert_near(r.step_s, (first_s + last_s) / 2);
}

/* Half of everything's speed is half of the gang's. */
TEST(all_times_scale)
{
    struct gang_params p = large(5, 2);
    p.jitter_ratio = 0.05;
    p.n_warmup_steps = 1;
    p.trainer_bytes_per_s = 1.25e8;
    p.server_bytes_per_s = 2e8;
    p.costs = (struct gang_costs){1e-9, 2e-9, 3e-9, 5e-10, 0};
    const struct gang_result fast = gang_run(&p);
    struct gang_layer slow_layers[N_ROWS(four_layers)];
    for (size_t i = 0; i < N_ROWS(four_layers); i++) {
        slow_layers[i] = four_layers[i];
        slow_layers[i].forward_s *= 2;
        slow_layers[i].backward_s *= 2;
    }
    p.layers = slow_layers;
    p.trainer_bytes_per_s /= 2;
    p.server_bytes_per_s /= 2;
    p.costs = (struct gang_costs){2e-9, 4e-9, 6e-9, 1e-9, 0};
    const struct gang_result slow = gang_run(&p);
    assert_near(slow.step_s, 2 * fast.step_s);
    assert_near(slow.exposed_s, 2 * fast.exposed_s);
    assert_near(slow.server_share, fast.server_share);
}

TEST(faster_links_never_harm)
{
    for (uint32_t servers = 1; servers <= 4; servers++) {
        double before = 0;
        for (double rate = 1e7; rate < 1e11; rate *= 1.5) {
            struct gang_params p = large(6, servers);
            p.trainer_bytes_per_s = p.server_bytes_per_s = rate;
            const struct gang_result r = gang_run(&p);
            assert_true(r.steps_per_s >= before * (1 - EXACT));
            assert_true(r.server_link_share <= 1 + EXACT && r.trainer_link_share <= 1 + EXACT);
            before = r.steps_per_s;
        }
        assert_true(before <= 6 / FOUR_S * (1 + EXACT));
    }
}

TEST(cores_are_shared)
{
    struct gang_params p = large(4, 0);
    p.n_cores = 2;
    assert_near(gang_run(&p).steps_per_s, 2 / FOUR_S);
    p.n_cores = 4;
    assert_near(gang_run(&p).steps_per_s, 4 / FOUR_S);
    p.n_cores = 1;
    p.compute_sleeps = true; /* emulated trainers need no core */
    assert_near(gang_run(&p).steps_per_s, 4 / FOUR_S);
    /* One core for a trainer, its thread and a server is as long as all of their work. */
    p = small(1, 1);
    p.n_cores = 1;
    p.costs = (struct gang_costs){1e-9, 2e-9, 3e-9, 4e-9, 0};
    assert_near(gang_run(&p).step_s, 0.050 + ONE_BYTES * 14e-9);
}

TEST(the_seed_decides)
{
    struct gang_params p = large(8, 3);
    p.jitter_ratio = 0.1;
    p.trainer_bytes_per_s = p.server_bytes_per_s = 1.25e8;
    p.costs = (struct gang_costs){5e-10, 5e-10, 5e-10, 5e-10, 0};
    const struct gang_result a = gang_run(&p), b = gang_run(&p);
    assert_memory_equal(&a, &b, sizeof(a));
    p.seed = 2;
    assert_true(gang_run(&p).step_s != a.step_s);
}

TEST(factors_have_their_spread)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        const double f = gang_factor(5, (uint32_t)(i % 100), i / 100, 0.1);
        assert_true(f >= 0.7 && f <= 1.3);
        sum += f - 1;
        squares += (f - 1) * (f - 1);
    }
    assert_true(fabs(sum / 1e5) < 0.002);
    assert_true(fabs(sqrt(squares / 1e5) - 0.0987) < 0.002); /* .1, cut at three of them */
    assert_true(gang_factor(5, 1, 1, 0) == 1);
}

/* Without jitter all steps take as long, also those that are not simulated. */
TEST(steps_are_skipped)
{
    struct gang_params p = small(2, 1);
    p.trainer_bytes_per_s = p.server_bytes_per_s = 100e6;
    p.costs.receive = 1e-9;
    const struct gang_result few = gang_run(&p);
    p.n_steps = 100000000;
    const struct gang_result all = gang_run(&p);
    const double pairs[][2] = {{all.step_s, few.step_s},
                               {all.steps_per_s, few.steps_per_s},
                               {all.forward_s, 0.020},
                               {all.backward_s, 0.030},
                               {all.exposed_s, few.exposed_s},
                               {all.server_share, few.server_share},
                               {all.server_link_share, few.server_link_share}};
    for (size_t i = 0; i < N_ROWS(pairs); i++) { /* rounding of many steps adds up */
        assert_true(fabs(pairs[i][0] - pairs[i][1]) <= 1e-7 * pairs[i][1]);
    }
    assert_int_equal(all.n_transfers, UINT64_C(4) * p.n_steps);
}

TEST(what_is_too_large_is_refused)
{
    struct err err = {0};
    struct gang_params p = large(10000, 10000);
    assert_int_equal(gang_check(&p, &err), -E2BIG);
    p = large(3000, 3000);
    assert_int_equal(gang_check(&p, &err), -E2BIG);
    p = large(10000, 150);
    p.n_params = 1000000000; /* 4 GB */
    p.n_steps = 1;
    assert_int_equal(gang_check(&p, &err), -E2BIG);
    p = large(100, 20);
    p.n_steps = 1000000000;
    assert_int_equal(gang_check(&p, &err), 0);
    p = large(1000, 200);
    assert_int_equal(gang_check(&p, &err), 0);
    p = small(3, 60); /* slices of less than a line, and empty ones */
    p.n_params = 200;
    const struct gang_layer tiny[] = {{0, 200, 0.1, 0.2}};
    p.layers = tiny;
    assert_near(gang_run(&p).step_s, 0.3);
}
