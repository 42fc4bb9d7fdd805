/* The probe of the machine: what it costs, where it stops, and what it says. */

#include <math.h>

#include "tests/test.h"
#include "base/clock.h"
#include "host/probe.h"

#define S_NS 1e9

/* The CPU time of `n` probes, so that a busy machine does not matter. A virtual machine counts as
 * such what its host takes: of 20 tries the cheapest counts, unless one before is cheap enough. */
static double cost_of(const struct probe_limits *limits, int n, double enough_ns,
                      struct noise_probe *ret)
{
    double least_ns = INFINITY;
    for (int i = 0; i < 20 && least_ns >= enough_ns; i++) {
        const int64_t begin_ns = clock_process_cpu_ns();
        for (int k = 0; k < n; k++) {
            probe_run(limits, ret);
        }
        least_ns = fmin(least_ns, (double)(clock_process_cpu_ns() - begin_ns));
    }
    return least_ns;
}

/* What a replica spends on both of its probes. */
TEST(two_cost_less_than_half_a_second)
{
    const struct probe_limits limits = probe_limits_of("");
    assert_true(2 * (limits.spin_ns + limits.spin_ns / 4 + limits.copy_ns) < (int64_t)(S_NS / 2));
    assert_true(limits.copy_bytes <= PROBE_COPY_MAX_BYTES);
    struct noise_probe p;
    const double cost_ns = cost_of(&limits, 2, S_NS / 2, &p);
    print_message(
        "# two probes: %.1f ms of CPU time, %.0f million spins/s, %.2f GB/s, %.1f GFLOP/s\n",
        cost_ns / 1e6, (double)p.spins_per_s / 1e6, (double)p.copy_bytes_per_s / 1e9,
        (double)p.flops_per_s / 1e9);
    assert_true(cost_ns < S_NS / 2 && p.spins_per_s > 0);
}

/* With time enough there is a figure for both, on a busy machine too. */
TEST(both_figures)
{
    struct noise_probe p = {0};
    const struct probe_limits limits = {(int64_t)(60 * S_NS), (int64_t)(60 * S_NS),
                                        PROBE_COPY_MIN_BYTES};
    probe_run(&limits, &p);
    assert_in_range(p.spins_per_s, 1000000, UINT64_C(100000000000));
    assert_in_range(p.copy_bytes_per_s, 1000000, UINT64_C(100000000000000));
#ifdef __aarch64__
    assert_true(p.flops_per_s > 0); /* an emulator computes it in software */
#elif defined(__x86_64__)
    /* 16 to 64 operations a cycle; a spin takes 3 to 5 cycles. The two are measured one after the
     * other, and what else runs on the core may make either 4 times as slow. */
    const bool is_known = __builtin_cpu_supports("fma") != 0;
    assert_in_range(p.flops_per_s, is_known ? 3 * p.spins_per_s / 4 : 0,
                    is_known ? 64 * 5 * 4 * p.spins_per_s : 0);
#endif
}

/* A machine that does not get on: each part ends with its time, whatever is left. */
TEST(no_part_outlasts_its_time)
{
    const struct probe_limits limits = {
        .spin_ns = 0, .copy_ns = 0, .copy_bytes = (size_t)512 << 20};
    struct noise_probe p = {1, 1};
    assert_true(cost_of(&limits, 1, S_NS / 20, &p) < S_NS / 20);
    assert_true(p.spins_per_s > 0 && p.copy_bytes_per_s == 0); /* the clock needs three pieces */
}

/* A piece that was interrupted for longer than the whole probe may take is not the figure: others
 * follow it. On a busy machine one try may be interrupted more often than it can tell. */
TEST(one_piece_is_no_clock)
{
    const struct probe_limits limits = {.spin_ns = 0, .copy_ns = 0, .copy_bytes = 100};
    double most = 0;
    for (int i = 0; i < 20; i++) {
        struct noise_probe p = {0};
        const int64_t begin_ns = clock_process_cpu_ns();
        probe_run(&limits, &p);
        const double spins =
            (double)(clock_process_cpu_ns() - begin_ns) / S_NS * (double)p.spins_per_s;
        most = spins > most ? spins : most;
    }
    assert_true(most > 2 * (1 << 16)); /* of three pieces */
}

TEST(nothing_to_copy)
{
    const struct probe_limits limits = {.spin_ns = 1000, .copy_ns = 1000, .copy_bytes = 100};
    struct noise_probe p = {1, 1};
    probe_run(&limits, &p);
    assert_int_equal(p.copy_bytes_per_s, 0);
}

/* A container with little memory is not killed for the probe. */
TEST(little_memory)
{
    char root[] = "/tmp/benchd-probe-XXXXXX";
    assert_non_null(mkdtemp(root));
    test_write_file("134217728\n", "%s/sys/fs/cgroup/memory.max", root);
    assert_int_equal(probe_limits_of(root).copy_bytes, 134217728 / 32);
    assert_int_equal(test_remove_folder(root), 0);
}
