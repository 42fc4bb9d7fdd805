/* The bound of a step against values computed by hand, as docs/prediction.md has them. */
#include "tests/test.h"

#include <math.h>

#include "predict/bound.h"

static void near(double got, double wanted)
{
    print_message("# %.12g, wanted %.12g\n", got, wanted);
    assert_true(fabs(got - wanted) <= 1e-9 * fabs(wanted));
}

/* 4 trainers with 2 servers; 80 MB of parameters, links of 100 MB/s, 10 samples in 50 ms. */
static const struct bound_inputs servers = {
    .n_replicas = 4,
    .batch_size = 10,
    .compute_s = .05,
    .latency_s = .001,
    .n_latencies = 2,
    .replica = {80e6, 80e6},
    .server = {160e6, 160e6},
    .replica_bytes_per_s = 100e6,
    .server_bytes_per_s = 100e6,
    .server_s_per_byte = .5e-9,
    .server_threads = 1,
};

static void check(const struct bound_inputs *in, enum bound_limit limit, double step_s)
{
    const struct bound b = bound_of(in);
    assert_int_equal(b.limit, limit);
    near(b.step_s, step_s);
    near(b.seconds[limit], step_s);
    near(b.samples_per_s, in->n_replicas * (double)in->batch_size / step_s);
}

TEST(the_longest_limits)
{
    struct bound_inputs in = servers;
    check(&in, BOUND_SERVER_LINK, 1.6);
    const struct bound b = bound_of(&in);
    near(b.seconds[BOUND_COMPUTE], .052);
    near(b.seconds[BOUND_REPLICA_LINK], .8);
    near(b.seconds[BOUND_SERVER_CPU], .16);
    near(b.samples_per_s, 25);

    in.server_bytes_per_s = 2e9;
    check(&in, BOUND_REPLICA_LINK, .8);
    in.replica_bytes_per_s = 10e9;
    check(&in, BOUND_SERVER_CPU, .16);
    in.server_bytes_per_s = 10e9;
    in.server_threads = 4;
    check(&in, BOUND_COMPUTE, .052);
    in.latency_s = .1;
    check(&in, BOUND_COMPUTE, .25);
}

TEST(a_link_is_as_busy_as_its_busier_direction)
{
    struct bound_inputs in = servers;
    in.server = (struct bound_traffic){160e6, 40e6};
    check(&in, BOUND_SERVER_LINK, 1.6);
    in.server = (struct bound_traffic){40e6, 160e6};
    check(&in, BOUND_SERVER_LINK, 1.6);
}

TEST(what_is_unknown_limits_nothing)
{
    struct bound_inputs in = servers;
    in.server_bytes_per_s = NAN;
    in.server_s_per_byte = NAN;
    check(&in, BOUND_REPLICA_LINK, .8);
    assert_true(isnan(bound_of(&in).seconds[BOUND_SERVER_LINK]));
    assert_true(isnan(bound_of(&in).seconds[BOUND_SERVER_CPU]));
    in.replica = in.server = (struct bound_traffic){NAN, NAN};
    check(&in, BOUND_COMPUTE, .052);
    in.compute_s = NAN;
    const struct bound b = bound_of(&in);
    assert_int_equal(b.limit, BOUND_COUNT);
    assert_true(isnan(b.step_s) && isnan(b.samples_per_s));
}

TEST(no_bytes_take_no_time_over_an_unknown_link)
{
    const struct bound_inputs in = {
        .n_replicas = 1,
        .batch_size = 10,
        .compute_s = .05,
        .replica_bytes_per_s = NAN,
        .server_bytes_per_s = NAN,
        .server_s_per_byte = NAN,
        .server_threads = 1,
    };
    check(&in, BOUND_COMPUTE, .05);
    near(bound_of(&in).seconds[BOUND_SERVER_CPU], 0);
    near(bound_of(&in).seconds[BOUND_REPLICA_LINK], 0);
}
