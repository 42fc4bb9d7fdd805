/* The machine of a replica, see host.h. Looks at cgroup v2 first, then v1. In a cgroup namespace (a
 * pod) the own group appears as "/". */
#include "host/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <openssl/sha.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "core/record.h"

#define TEXT_MAX ((size_t)4 << 20) /* /proc/cpuinfo has 1.5 KiB for each CPU */
#define CPUS_MAX 4096              /* CPUs that the governor is read of */

/* A file as text, owned; NULL if it cannot be read. */
static char *read_text(const char *root, const char *path)
{
    _cleanup_(freep) char *full = xasprintf("%s%s", root, path);
    struct buf text;
    return file_read(full, TEXT_MAX, &text, NULL) < 0 ? NULL : buf_take(&text);
}

static char *first_line(char *text_take)
{
    if (text_take != NULL) {
        text_take[strcspn(text_take, "\n")] = '\0';
    }
    return text_take;
}

char *host_read_line(const char *root, const char *path)
{
    return first_line(read_text(root, path));
}

/* The rest of the first line of `text` that begins with `key`, without leading characters of
 * `skip`; owned. NULL if there is no such line. */
static char *find_line(const char *text, const char *key, const char *skip)
{
    size_t len = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, len) == 0) {
            const char *value = line + len + strspn(line + len, skip);
            return xstrndup(value, strcspn(value, "\n"));
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

static void set_text(json_t *o, const char *key, const char *value)
{
    json_t *text = value == NULL ? NULL : json_string(value); /* also NULL if it is not UTF-8 */
    (void)json_object_set_new(o, key, text != NULL ? text : json_null());
}

/* Adds " and NAME" unless it is one of the names: L4 is a part of L40S, but another. */
static void put_new(struct buf *all, const char *name)
{
    _cleanup_(freep) char *list = xasprintf(" and %s and ", buf_cstr(all));
    _cleanup_(freep) char *item = xasprintf(" and %s and ", name);
    if (strstr(list, item) == NULL) {
        buf_printf(all, "%s%s", all->len > 0 ? " and " : "", name);
    }
}

/* Prefers the maximum frequency: /proc/cpuinfo has the current one, and environments that change by
 * themselves cannot be compared. */
static bool find_mhz(const char *root, const char *cpuinfo, double *ret)
{
    _cleanup_(freep) char *khz =
        host_read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (khz != NULL && parse_f64(khz, ret) == 0) {
        *ret /= 1000.0;
        return true;
    }
    _cleanup_(freep) char *mhz = find_line(cpuinfo, "cpu MHz", "\t :");
    return mhz != NULL && parse_f64(mhz, ret) == 0;
}

/* Arm CPUs have numbers instead of a name: the maker of the core, and which of its cores it is. */
static const struct {
    const char *implementer, *part, *name;
} arm_cores[] = {
    {"0x41", "0xd03", "Arm Cortex-A53"},    {"0x41", "0xd07", "Arm Cortex-A57"},
    {"0x41", "0xd08", "Arm Cortex-A72"},    {"0x41", "0xd0b", "Arm Cortex-A76"},
    {"0x41", "0xd0c", "Arm Neoverse-N1"},   {"0x41", "0xd40", "Arm Neoverse-V1"},
    {"0x41", "0xd49", "Arm Neoverse-N2"},   {"0x41", "0xd4f", "Arm Neoverse-V2"},
    {"0x41", "0xd83", "Arm Neoverse-V3AE"}, {"0x41", "0xd84", "Arm Neoverse-V3"},
    {"0x41", "0xd85", "Arm Cortex-X925"},   {"0x41", "0xd87", "Arm Cortex-A725"},
    {"0x41", "0xd8e", "Arm Neoverse-N3"},   {"0x43", "0x0af", "Cavium ThunderX2"},
    {"0x46", "0x001", "Fujitsu A64FX"},     {"0x48", "0xd01", "HiSilicon TSV110"},
    {"0x4e", "0x004", "NVIDIA Carmel"},     {"0x6d", "0xd49", "Microsoft Azure Cobalt 100"},
    {"0xc0", "0xac3", "Ampere-1"},          {"0xc0", "0xac4", "Ampere-1A"},
};

static void put_arm_core(struct buf *all, const char *implementer, const char *part)
{
    char name[64];
    text_put(name, sizeof(name), "implementer %s, part %s", implementer, part);
    for (size_t i = 0; i < COUNT_OF(arm_cores); i++) {
        if (str_eq(arm_cores[i].implementer, implementer) && str_eq(arm_cores[i].part, part)) {
            text_put(name, sizeof(name), "%s", arm_cores[i].name);
        }
    }
    put_new(all, name);
}

/* Each kind of core once: "Arm Cortex-X925 and Arm Cortex-A725". NULL if `cpuinfo` has none. */
static char *arm_model(const char *cpuinfo)
{
    struct buf all = BUF_INIT;
    for (const char *at = cpuinfo; at != NULL && (at = strstr(at, "CPU implementer")) != NULL;) {
        _cleanup_(freep) char *implementer = find_line(at, "CPU implementer", "\t :");
        _cleanup_(freep) char *part = find_line(at, "CPU part", "\t :");
        put_arm_core(&all, implementer, part == NULL ? "?" : part);
        at++;
    }
    return all.len == 0 ? NULL : buf_take(&all);
}

static void set_cpu(json_t *o, const char *root)
{
    _cleanup_(freep) char *text = read_text(root, "/proc/cpuinfo");
    _cleanup_(freep) char *model = find_line(text, "model name", "\t :");
    model = model == NULL ? arm_model(text) : model;
    set_text(o, "cpu_model", model);
    double mhz = 0;
    bool is_known = find_mhz(root, text, &mhz);
    (void)json_object_set_new(o, "cpu_mhz", is_known ? json_real(mhz) : json_null());
}

static char *read_cache(const char *root, int index, const char *file)
{
    _cleanup_(freep) char *path =
        xasprintf("/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    return host_read_line(root, path);
}

size_t host_cache_bytes(const char *root, int level)
{
    for (int i = 0; i < 8; i++) {
        _cleanup_(freep) char *at = read_cache(root, i, "level");
        _cleanup_(freep) char *size = read_cache(root, i, "size"); /* "1024K" */
        _cleanup_(freep) char *binary = size == NULL ? NULL : xasprintf("%si", size);
        int64_t found_level, bytes;
        if (at != NULL && binary != NULL && parse_i64(at, &found_level) == 0 &&
            found_level == level && parse_mem_bytes(binary, &bytes) == 0) {
            return (size_t)bytes;
        }
    }
    return 0;
}

/* "L1d 48K, L1i 32K, L2 1024K, L3 32768K" of the first CPU. */
static void set_caches(json_t *o, const char *root)
{
    _cleanup_(buf_done) struct buf all = BUF_INIT;
    for (int i = 0; i < 8; i++) {
        _cleanup_(freep) char *level = read_cache(root, i, "level");
        _cleanup_(freep) char *type = read_cache(root, i, "type");
        _cleanup_(freep) char *size = read_cache(root, i, "size");
        if (level == NULL || type == NULL || size == NULL) {
            continue;
        }
        const char *kind = str_eq(type, "Data") ? "d" : str_eq(type, "Instruction") ? "i" : "";
        buf_printf(&all, "%sL%.2s%s %.16s", all.len > 0 ? ", " : "", level, kind, size);
    }
    set_text(o, "caches", all.len > 0 ? buf_cstr(&all) : NULL);
}

/* "cpu,cpuacct" contains cpu, "cpuset" does not. Takes the list apart. */
static bool has_name(char *list, const char *name)
{
    for (const char *item; (item = strsep(&list, ",")) != NULL;) {
        if (str_eq(item, name)) {
            return true;
        }
    }
    return false;
}

/* Reads FILE of this process's cgroup, owned; NULL if none exists. `controller` "" means v2, else
 * v1. Tries the directory of the group first, then the root of the mount, which is the group's own
 * directory in a container. */
static char *read_cgroup(const char *root, const char *controller, const char *file)
{
    _cleanup_(freep) char *groups = read_text(root, "/proc/self/cgroup");
    bool is_v2 = controller[0] == '\0';
    const char *mount = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/";
    for (char *rest = groups, *path; (path = strsep(&rest, "\n")) != NULL;) {
        (void)strsep(&path, ":"); /* ID:controllers:path */
        char *names = strsep(&path, ":");
        if (path == NULL) {
            break;
        }
        if (is_v2 ? names[0] == '\0' : has_name(names, controller)) {
            _cleanup_(freep) char *full = xasprintf("%s%s%s/%s", mount, controller, path, file);
            char *text = read_text(root, full);
            if (text != NULL) {
                return text;
            }
        }
    }
    _cleanup_(freep) char *full = xasprintf("%s%s/%s", mount, controller, file);
    return read_text(root, full);
}

/* Its first line alone. */
static char *read_cgroup_line(const char *root, const char *controller, const char *file)
{
    return first_line(read_cgroup(root, controller, file));
}

/* The limit in cores, null if none exists. v2: "max 100000" or "150000 100000"; v1: two files, -1
 * for no limit. */
static void set_cpu_limit(json_t *o, const char *root)
{
    _cleanup_(freep) char *quota = read_cgroup_line(root, "", "cpu.max"), *v1_period = NULL;
    const char *period;
    if (quota != NULL) {
        char *rest = quota;
        (void)strsep(&rest, " ");
        period = rest;
    } else {
        quota = read_cgroup_line(root, "cpu", "cpu.cfs_quota_us");
        period = v1_period = read_cgroup_line(root, "cpu", "cpu.cfs_period_us");
    }
    int64_t quota_us, period_us;
    const bool is_limited = quota != NULL && period != NULL &&
                            parse_i64_in(quota, 1, INT64_MAX, &quota_us) == 0 &&
                            parse_i64_in(period, 1, INT64_MAX, &period_us) == 0;
    (void)json_object_set_new(o, "cgroup_cpu_limit",
                              is_limited ? json_real((double)quota_us / (double)period_us)
                                         : json_null());
}

int64_t host_memory_limit_bytes(const char *root)
{
    _cleanup_(freep) char *text = read_cgroup_line(root, "", "memory.max");
    if (text == NULL) {
        text = read_cgroup_line(root, "memory", "memory.limit_in_bytes");
    }
    int64_t bytes;
    /* Without a limit v1 reports the largest number of whole pages. */
    return text != NULL && parse_i64_in(text, 1, INT64_MAX / 2, &bytes) == 0 ? bytes : 0;
}

/* The same governor on all CPUs as a rule; where not, "performance and powersave" in the order in
 * which they are met. Null where nothing scales the clock, as in most virtual machines. */
static void set_governor(json_t *o, const char *root)
{
    _cleanup_(buf_done) struct buf all = BUF_INIT;
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        _cleanup_(freep) char *path =
            xasprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
        _cleanup_(freep) char *name = host_read_line(root, path);
        if (name == NULL && cpu > 0) {
            break;
        }
        if (name != NULL && strstr(buf_cstr(&all), name) == NULL) {
            buf_printf(&all, "%s%.60s", all.len == 0 ? "" : " and ", name);
        }
    }
    set_text(o, "cpu_governor", all.len == 0 ? NULL : buf_cstr(&all));
}

/* "nvidia 535.104.05": the module of the kernel says it, in a container too. */
static void set_gpu_driver(json_t *o, const char *root)
{
    static const char *const modules[] = {"nvidia", "amdgpu"};
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/sys/module/%s/version", modules[i]);
        _cleanup_(freep) char *version = host_read_line(root, path);
        if (version != NULL) {
            _cleanup_(freep) char *text = xasprintf("%s %s", modules[i], version);
            set_text(o, "gpu_driver", text);
            return;
        }
    }
    set_text(o, "gpu_driver", NULL);
}

/* What the GPUs of NVIDIA are called, each name once; containers that have one see it, too. */
static void set_accelerator(json_t *o, const char *root)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    _cleanup_(freep) char *path = xasprintf("%s%s", root, folder);
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, NULL, alphasort);
    _cleanup_(buf_done) struct buf all = BUF_INIT;
    for (int i = 0; i < n; i++) {
        _cleanup_(freep) char *file = xasprintf("%s/%s/information", folder, entries[i]->d_name);
        _cleanup_(freep) char *text = read_text(root, file);
        _cleanup_(freep) char *name = find_line(text, "Model:", "\t ");
        if (name != NULL) {
            put_new(&all, name);
        }
        free(entries[i]);
    }
    free(entries);
    set_text(o, "accelerator", all.len == 0 ? NULL : buf_cstr(&all));
}

/* "eth0 25000 Mbit/s, ib0": the second one does not say how fast it is. A veth of a node is the
 * other end of a pod's link, not a way out of the machine. */
static void set_nics(json_t *o, const char *root)
{
    _cleanup_(freep) char *folder = xasprintf("%s/sys/class/net", root);
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    char all[512] = "";
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        const size_t len = strlen(all);
        if (name[0] != '.' && !str_eq(name, "lo") && strncmp(name, "veth", 4) != 0 &&
            len < sizeof(all) - 64) {
            _cleanup_(freep) char *path = xasprintf("/sys/class/net/%s/speed", name);
            _cleanup_(freep) char *mbit = host_read_line(root, path);
            int64_t speed;
            const bool is_known = mbit != NULL && parse_i64_in(mbit, 1, INT32_MAX, &speed) == 0;
            (void)snprintf(all + len, sizeof(all) - len, "%s%.16s%s%.10s%s", len > 0 ? ", " : "",
                           name, is_known ? " " : "", is_known ? mbit : "",
                           is_known ? " Mbit/s" : "");
        }
        free(entries[i]);
    }
    free(entries);
    set_text(o, "nics", all[0] == '\0' ? NULL : all);
}

json_t *host_environment(const char *root)
{
    json_t *o = json_object();
    char host[256] = "";
    bool is_named = gethostname(host, sizeof(host) - 1) == 0;
    set_text(o, "host", is_named ? host : NULL);
    struct utsname u;
    set_text(o, "kernel", uname(&u) == 0 ? u.release : NULL);
    _cleanup_(freep) char *clock =
        host_read_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    set_text(o, "clock_source", clock);
    set_governor(o, root);
    set_gpu_driver(o, root);
    set_accelerator(o, root);
    set_cpu(o, root);
    set_caches(o, root);
    set_nics(o, root);
    _cleanup_(freep) char *nodes = host_read_line(root, "/sys/devices/system/node/online");
    set_text(o, "numa_nodes", nodes);
    _cleanup_(freep) char *status = read_text(root, "/proc/self/status");
    _cleanup_(freep) char *cpuset = find_line(status, "Cpus_allowed_list:", "\t ");
    set_text(o, "cpuset", cpuset);
    set_cpu_limit(o, root);
    const int64_t bytes = host_memory_limit_bytes(root);
    (void)json_object_set_new(o, "cgroup_memory_limit",
                              bytes > 0 ? json_integer(bytes) : json_null());
    return o;
}

/* A number of cpu.stat, from 0 to `max`. */
static bool find_count(const char *stat, const char *key, int64_t max, int64_t *ret)
{
    _cleanup_(freep) char *text = find_line(stat, key, " ");
    return text != NULL && parse_i64_in(text, 0, max, ret) == 0;
}

struct host_throttling host_throttling(const char *root)
{
    _cleanup_(freep) char *stat = read_cgroup(root, "", "cpu.stat");
    int64_t time = 0, periods = 0, unit_ns = 1000; /* 0 where it does not say */
    if (!find_count(stat, "throttled_usec", INT64_MAX / 1000, &time)) { /* v1, or no limit */
        free(stat);
        stat = read_cgroup(root, "cpu", "cpu.stat");
        unit_ns = 1;
        (void)find_count(stat, "throttled_time", INT64_MAX, &time);
    }
    (void)find_count(stat, "nr_throttled", INT64_MAX, &periods);
    return (struct host_throttling){.time_ns = time * unit_ns, .periods = (uint64_t)periods};
}

/* Is the CPU in a list such as "0-3,8"? */
static bool has_cpu(const char *list, int64_t cpu)
{
    while (list != NULL && *list != '\0') {
        const size_t len = strcspn(list, ","), first_len = strcspn(list, "-,");
        _cleanup_(freep) char *first = xstrndup(list, first_len);
        _cleanup_(freep) char *last =
            first_len < len ? xstrndup(list + first_len + 1, len - first_len - 1) : xstrdup(first);
        int64_t from, to;
        if (parse_i64_in(first, 0, INT32_MAX, &from) < 0 ||
            parse_i64_in(last, 0, INT32_MAX, &to) < 0) {
            return false;
        }
        if (cpu >= from && cpu <= to) {
            return true;
        }
        list += len + (list[len] == ',');
    }
    return false;
}

/* Adds a line of /proc/stat, "cpu7 user nice system idle iowait irq softirq steal guest
 * guest_nice", in ticks; guest time is in user and nice. A line about anything but a CPU in
 * `cpus` adds nothing. Takes the line apart. */
static void add_cpu_line(char *line, const char *cpus, struct host_cpu_time *sum, int64_t tick_ns)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, KNOWN = 8 };
    const char *name = strsep(&line, " ");
    int64_t cpu, busy = 0, steal = 0;
    if (strncmp(name, "cpu", 3) != 0 || parse_i64_in(name + 3, 0, INT32_MAX, &cpu) < 0 ||
        !has_cpu(cpus, cpu)) {
        return;
    }
    for (int i = 0; i < KNOWN; i++) {
        const char *word = strsep(&line, " ");
        int64_t ticks;
        if (word == NULL || parse_i64_in(word, 0, INT64_MAX / CPUS_MAX / tick_ns, &ticks) < 0) {
            return;
        }
        busy += i == IDLE || i == IOWAIT ? 0 : ticks;
        steal += i == STEAL ? ticks : 0;
    }
    sum->busy_ns += busy * tick_ns;
    sum->steal_ns += steal * tick_ns;
}

struct host_cpu_time host_cpu_time(const char *root, const char *cpus)
{
    struct host_cpu_time sum = {0};
    const long ticks_per_s = sysconf(_SC_CLK_TCK);
    _cleanup_(freep) char *status = cpus != NULL ? NULL : read_text(root, "/proc/self/status");
    _cleanup_(freep) char *own = find_line(status, "Cpus_allowed_list:", "\t "); /* NULL of NULL */
    _cleanup_(freep) char *stat = read_text(root, "/proc/stat");
    for (char *rest = stat, *line; ticks_per_s > 0 && (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, "cpu", 3) != 0) {
            break; /* those of CPUs come first */
        }
        add_cpu_line(line, cpus != NULL ? cpus : own, &sum, 1000000000 / ticks_per_s);
    }
    return sum;
}

struct host_cpu_time host_cpu_between(const struct host_cpu_time *begin,
                                      const struct host_cpu_time *end)
{
    const struct host_cpu_time t = {end->busy_ns - begin->busy_ns, end->steal_ns - begin->steal_ns};
    return t.steal_ns >= 0 && t.busy_ns >= t.steal_ns ? t : (struct host_cpu_time){0};
}

uint64_t host_max_rss_bytes(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

void host_forget_max_rss(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = write(fd, "5", 1);
        (void)n; /* without it the peak includes what was before */
        (void)close(fd);
    }
}

/* A line has "OWN_ADDRESS:PORT ADDRESS:PORT STATE" in hex. A socket that listens has no peer. */
bool host_listens(const char *root, int64_t port)
{
    _cleanup_(freep) char *v4 = read_text(root, "/proc/net/tcp");
    _cleanup_(freep) char *v6 = read_text(root, "/proc/net/tcp6");
    char own4[48], own6[80];
    text_put(own4, sizeof(own4), ":%04X %08d:0000 0A ", (unsigned)port, 0);
    text_put(own6, sizeof(own6), ":%04X %032d:0000 0A ", (unsigned)port, 0);
    return v4 == NULL || strstr(v4, own4) != NULL || (v6 != NULL && strstr(v6, own6) != NULL);
}

void host_raise_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* else it stays as it is */
    }
}

void host_digest_text(const char *text, size_t len, char ret[static 65])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    (void)SHA256((const unsigned char *)text, len, digest); /* returns digest */
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    }
}

void host_digest(const json_t *environment, char ret[static 65])
{
    _cleanup_(freep) char *text = record_environment_canonical(environment);
    host_digest_text(text, strlen(text), ret);
}
