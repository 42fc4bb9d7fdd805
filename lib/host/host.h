/* Describes the machine for a replica's start record and its resource use for the summary. Reads
 * /proc and /sys below a root directory, so that tests can provide machines of their own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* Returns a new object (owned) with host, kernel, clock_source, cpu_governor, gpu_driver,
 * accelerator, cpu_model, cpu_mhz, caches, nics, numa_nodes, cpuset, cgroup_cpu_limit and
 * cgroup_memory_limit. What cannot be read is null. `root` is "" for this machine. */
json_t *host_environment(const char *root);

/* How the cgroup has throttled this process so far; 0 where it does not say. */
struct host_throttling {
    int64_t time_ns;
    uint64_t periods; /* scheduling periods in which it was stopped */
};
struct host_throttling host_throttling(const char *root);
/* How long these CPUs ("0-3,8"; NULL: those that this process may use, its Cpus_allowed_list) have
 * had work so far, and what of it the hypervisor gave to others, by /proc/stat; both 0 where it
 * does not say. */
struct host_cpu_time {
    int64_t busy_ns; /* with steal_ns */
    int64_t steal_ns;
};
struct host_cpu_time host_cpu_time(const char *root, const char *cpus);
/* From one look to the next. Counters of the kernel may step back a little: then both are 0. */
struct host_cpu_time host_cpu_between(const struct host_cpu_time *begin,
                                      const struct host_cpu_time *end);
/* The first line of a file without its newline, owned; NULL if it cannot be read. */
char *host_read_line(const char *root, const char *path);
/* The data cache of that level of the first CPU; 0: unknown. */
size_t host_cache_bytes(const char *root, int level);
/* Memory that the cgroup allows; 0: no limit. */
int64_t host_memory_limit_bytes(const char *root);
/* Peak resident memory of this process. */
uint64_t host_max_rss_bytes(void);
/* From now on the peak is that of what follows. Where the kernel refuses, it stays. */
void host_forget_max_rss(void);
/* Does some process of this network namespace listen on a TCP port? True where the kernel does not
 * say. */
bool host_listens(const char *root, int64_t port);
/* Raises the limit of open files to what the process may ask for: the usual one of 1,024 is fewer
 * than the peers of a large gang. */
void host_raise_open_files(void);
/* The SHA-256 of a text in hex. */
void host_digest_text(const char *text, size_t len, char ret[static 65]);
/* SHA-256 of the environment's canonical text (record_environment_canonical), in hex. */
void host_digest(const json_t *environment, char ret[static 65]);
