/* The environment of made-up machines: cgroup v2 and v1, in and out of
 * containers, and none at all. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/test.h"
#include "host/host.h"

#define MAX_FILES 8

struct machine {
    const char *name;
    struct {
        const char *path, *text;
    } files[MAX_FILES];
    const char *environment; /* the keys that the files decide, as JSON */
    int64_t throttled_ns;
    uint64_t throttled_periods;
    struct host_cpu_time cpu;
};

/* clang-format off */
static const struct machine rows[] = {
    {"steal of the CPUs that the process may use: 2 and 10, not 1",
     {{"/proc/self/status", "Cpus_allowed_list:\t2,8-10\n"},
      {"/proc/stat", "cpu  900 900 900 900 900 900 900 900 900 900\n"
                     "cpu1 900 900 900 900 900 900 900 900 900 900\n"
                     "cpu2 10 2 30 4000 500 6 7 8 10 2\ncpu10 1 0 0 9 9 0 0 1 1 0\nintr 5\ncpu9 1 1 1 1 1 1 1 1\n"}},
     "{\"cpuset\": \"2,8-10\"}", 0, 0, {650000000, 90000000}},
    {"a kernel without steal",
     {{"/proc/self/status", "Cpus_allowed_list:\t0\n"}, {"/proc/stat", "cpu0 10 2 30 4000\n"}}, "{}", 0, 0, {0, 0}},
    {"damaged counts",
     {{"/proc/self/status", "Cpus_allowed_list:\t0-,x\n"},
      {"/proc/stat", "cpu0 9223372036854775807 2 -30 4000 0 0 0 9\ncpu"}}, "{}", 0, 0, {0, 0}},
    {"counts that overflow",
     {{"/proc/self/status", "Cpus_allowed_list:\t0\n"},
      {"/proc/stat", "cpu0 9223372036854775807 2 30 4000 0 0 0 9\n"}}, "{}", 0, 0, {0, 0}},
    {"cgroup v2, limits in the own group",
     {{"/proc/self/cgroup", "0::/kubepods/pod7\n"},
      {"/sys/fs/cgroup/kubepods/pod7/cpu.max", "150000 100000\n"},
      {"/sys/fs/cgroup/kubepods/pod7/memory.max", "5368709120\n"},
      {"/sys/fs/cgroup/kubepods/pod7/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 1234\n"},
      {"/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n"}},
     "{\"cgroup_cpu_limit\": 1.5, \"cgroup_memory_limit\": 5368709120, \"cpuset\": \"0-3,8\"}",
     1234000, 3},
    {"cgroup v2 in a container: the mount is the group",
     {{"/proc/self/cgroup", "0::/../../pod7\n"}, {"/sys/fs/cgroup/cpu.max", "max 100000\n"},
      {"/sys/fs/cgroup/memory.max", "max\n"}},
     "{\"cgroup_cpu_limit\": null, \"cgroup_memory_limit\": null}", 0, 0},
    {"cgroup v1",
     {{"/proc/self/cgroup", "6:cpuset:/s\n5:memory:/m\n4:cpuacct,cpu:/c\n1:name=systemd:/\n"},
      {"/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "400000\n"},
      {"/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpu/s/cpu.cfs_quota_us", "1\n"},
      {"/sys/fs/cgroup/cpu/c/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 777\n"},
      {"/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1073741824\n"}},
     "{\"cgroup_cpu_limit\": 4.0, \"cgroup_memory_limit\": 1073741824}", 777, 2},
    {"cgroup v1 without limits",
     {{"/proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
     "{\"cgroup_cpu_limit\": null, \"cgroup_memory_limit\": null}", 0, 0},
    {"CPU and caches",
     {{"/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU @ 2\ncpu MHz\t\t: 1799.123\n\n"},
      {"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4100000\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index2/level", "2\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index2/type", "Unified\n"},
      {"/sys/devices/system/cpu/cpu0/cache/index2/size", "1024K\n"}},
     "{\"cpu_model\": \"Fast CPU @ 2\", \"cpu_mhz\": 4100.0, \"caches\": \"L1d 48K, L2 1024K\"}", 0, 0},
    {"only the present frequency is known",
     {{"/proc/cpuinfo", "model name\t: Slow\ncpu MHz\t\t: 1799.5\n"}},
     "{\"cpu_model\": \"Slow\", \"cpu_mhz\": 1799.5}", 0, 0},
    {"clock, governor, driver",
     {{"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
      {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
      {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"},
      {"/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"},
      {"/sys/module/nvidia/version", "535.104.05\n"}},
     "{\"clock_source\": \"tsc\", \"cpu_governor\": \"performance and powersave\", "
     "\"gpu_driver\": \"nvidia 535.104.05\"}", 0, 0},
    {"cards, not the node's ends of the links of pods; two NUMA nodes",
     {{"/sys/class/net/lo/speed", "1\n"}, {"/sys/class/net/veth12/speed", "10000\n"}, {"/sys/class/net/ib0/speed", "-1\n"},
      {"/sys/class/net/eth0/speed", "25000\n"}, {"/sys/devices/system/node/online", "0-1\n"}},
     "{\"nics\": \"eth0 25000 Mbit/s, ib0\", \"numa_nodes\": \"0-1\"}", 0, 0},
    {"GPUs of two kinds",
     {{"/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 90\n"},
      {"/proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\n"},
      {"/proc/driver/nvidia/gpus/0000:03:00.0/information", "Model: \t\t NVIDIA L40S\n"},
      {"/proc/driver/nvidia/gpus/0000:04:00.0/information", "Model: \t\t NVIDIA L4\n"}},
     "{\"accelerator\": \"NVIDIA H100 80GB HBM3 and NVIDIA L40S and NVIDIA L4\"}", 0, 0},
    {"an arm64 server: numbers instead of a name",
     {{"/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"}},
     "{\"cpu_model\": \"Arm Neoverse-V2\", \"cpu_mhz\": null}", 0, 0},
    {"two kinds of cores, one of them unknown",
     {{"/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd85\n\nCPU implementer\t: 0x41\nCPU part\t: 0xfff\n"}},
     "{\"cpu_model\": \"Arm Cortex-X925 and implementer 0x41, part 0xfff\"}", 0, 0},
    {"another maker's driver",
     {{"/sys/module/amdgpu/version", "6.7.0\n"}},
     "{\"cpu_governor\": null, \"gpu_driver\": \"amdgpu 6.7.0\"}", 0, 0},
    {"nothing to read",
     {{NULL, NULL}},
     "{\"clock_source\": null, \"cpu_governor\": null, \"gpu_driver\": null, "
     "\"accelerator\": null, \"cpu_model\": null, \"cpu_mhz\": null, \"caches\": null, \"cpuset\": null, \"nics\": null, \"numa_nodes\": null, "
     "\"cgroup_cpu_limit\": null, \"cgroup_memory_limit\": null}", 0, 0},
    {"nonsense",
     {{"/proc/self/cgroup", "no colon\n"}, {"/proc/cpuinfo", "model name"},
      {"/sys/fs/cgroup/cpu.max", "many\n"}, {"/sys/fs/cgroup/cpu.stat", "throttled_usec -4\n"},
      {"/sys/fs/cgroup/memory.max", ""}},
     "{\"cgroup_cpu_limit\": null, \"cgroup_memory_limit\": null, \"cpu_mhz\": null}", 0, 0},
};
/* clang-format on */

TEST(machines)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char root[] = "/tmp/benchd-host-XXXXXX";
        assert_non_null(mkdtemp(root));
        for (size_t k = 0; k < MAX_FILES && rows[i].files[k].path != NULL; k++) {
            test_write_file(rows[i].files[k].text, "%s%s", root, rows[i].files[k].path);
        }
        _cleanup_(json_decrefp) json_t *got = host_environment(root);
        _cleanup_(json_decrefp) json_t *want = json_loads(rows[i].environment, 0, NULL);
        _cleanup_(freep) char *text = json_dumps(got, JSON_SORT_KEYS);
        print_message("# row '%s': %s\n", rows[i].name, text);
        assert_non_null(want);
        const char *key;
        json_t *value;
        json_object_foreach (want, key, value) {
            assert_true(json_equal(json_object_get(got, key), value));
        }
        assert_true(json_is_string(json_object_get(got, "host")));
        assert_true(json_is_string(json_object_get(got, "kernel")));
        const struct host_throttling throttling = host_throttling(root);
        assert_int_equal(throttling.time_ns, rows[i].throttled_ns);
        assert_int_equal(throttling.periods, rows[i].throttled_periods);
        const struct host_cpu_time cpu = host_cpu_time(root, NULL);
        assert_int_equal(cpu.busy_ns, rows[i].cpu.busy_ns);
        assert_int_equal(cpu.steal_ns, rows[i].cpu.steal_ns);
        assert_int_equal(test_remove_folder(root), 0);
    }
}

TEST(cache_of_a_level)
{
    char root[] = "/tmp/benchd-host-XXXXXX";
    assert_non_null(mkdtemp(root));
#define CACHE "%s/sys/devices/system/cpu/cpu0/cache/index"
    test_write_file("1\n", CACHE "0/level", root);
    test_write_file("64K\n", CACHE "0/size", root);
    test_write_file("3\n", CACHE "3/level", root);
    test_write_file("32M\n", CACHE "3/size", root);
    assert_int_equal(host_cache_bytes(root, 3), 32 << 20);
    assert_int_equal(host_cache_bytes(root, 1), 64 << 10);
    assert_int_equal(host_cache_bytes(root, 2), 0);
    assert_int_equal(test_remove_folder(root), 0);
}

TEST(ports)
{
    /* clang-format off */
    static const char v4[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
                             "   0: 0100007F:1BFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 501 1\n"
                             "   1: 0100007F:0016 0100007F:1BFD 01 00000000:00000000 00:00000000 00000000     0        0 502 1\n",
                      v6[] = "  sl  local_address                         remote_address                        st tx_queue\n"
                             "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000\n";
    /* clang-format on */
    static const struct {
        int64_t port;
        bool listens;
    } looks[] = {{7164, true}, {80, true}, {22, false}, {7165, false}, {0, false}};
    char root[] = "/tmp/benchd-host-XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_true(host_listens(root, 22)); /* unknown */
    test_write_file(v4, "%s/proc/net/tcp", root);
    test_write_file(v6, "%s/proc/net/tcp6", root);
    for (size_t i = 0; i < N_ROWS(looks); i++) {
        assert_int_equal(host_listens(root, looks[i].port), looks[i].listens);
    }
    assert_int_equal(test_remove_folder(root), 0);
}

TEST(between_two_looks)
{
    static const struct {
        struct host_cpu_time begin, end, want;
    } looks[] = {
        {{100, 10}, {150, 15}, {50, 5}},
        {{100, 10}, {150, 9}, {0, 0}},  /* stolen time steps back */
        {{100, 10}, {101, 15}, {0, 0}}, /* more of it than busy time */
    };
    for (size_t i = 0; i < N_ROWS(looks); i++) {
        const struct host_cpu_time t = host_cpu_between(&looks[i].begin, &looks[i].end);
        assert_int_equal(t.busy_ns, looks[i].want.busy_ns);
        assert_int_equal(t.steal_ns, looks[i].want.steal_ns);
    }
}

TEST(digest_and_memory)
{
    _cleanup_(json_decrefp) json_t *a = json_pack("{s:s, s:i}", "model", "x", "seed", 1);
    _cleanup_(json_decrefp) json_t *b = json_pack("{s:i, s:s}", "seed", 1, "model", "x");
    char da[65], db[65];
    host_digest(a, da);
    host_digest(b, db);
    assert_string_equal(da, db); /* the order of keys does not count */
    /* printf '{"model":"x","seed":1}' | sha256sum */
    assert_string_equal(da, "dd61282d20a54bdb9dce1ca819dff0c6e9e04a500e47402a41abda607a80ad35");
    assert_true(host_max_rss_bytes() > 100000);
}

/* What is aside of the training is no part of its peak. */
TEST(open_files)
{
    struct rlimit was, now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){24, was.rlim_max}), 0);
    host_raise_open_files();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, was.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

TEST(forgotten_peak)
{
    const size_t aside = (size_t)256 << 20;
    char *p = mmap(NULL, aside, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 1, aside);
    assert_int_equal(munmap(p, aside), 0);
    const uint64_t with_bytes = host_max_rss_bytes();
    assert_true(with_bytes > aside);
    host_forget_max_rss();
    assert_true(host_max_rss_bytes() < with_bytes - aside / 2);
}
