/* What a replica runs on, for its start record, and what it cost, for its summary. Reads /proc and
 * /sys below a root, so that tests can lay out machines of their own. */
#pragma once

#include <stdint.h>

#include <jansson.h>

/* Fills host, kernel, cpu_model, cpu_mhz, caches, cpuset, cgroup_cpu_limit, cgroup_memory_limit into
 * a new object (owned). What cannot be read is null. `root` "" for this machine. */
json_t *host_environment(const char *root);

/* Time that the cgroup kept us from running so far; 0 where nothing says so. */
int64_t host_throttled_ns(const char *root);
/* Peak resident memory of this process. */
uint64_t host_max_rss_bytes(void);
/* SHA-256 of the environment's canonical text (record_environment_canonical), in hex. */
void host_digest(const json_t *environment, char ret[static 65]);
