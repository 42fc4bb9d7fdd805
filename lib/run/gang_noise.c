/* See gang_noise.h. */
#include "run/gang_noise.h"

#include <sched.h>

#include "host/probe.h"

/* The thread has its CPUs back before it starts a child. Where the kernel refuses, it
 * probes wherever it is. */
static void probe(int cpu, struct noise_probe *ret)
{
    cpu_set_t ours, one;
    const bool is_moved = cpu >= 0 && sched_getaffinity(0, sizeof(ours), &ours) == 0;
    if (is_moved) {
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
    }
    const struct probe_limits limits = probe_limits_of("");
    probe_run(&limits, ret);
    if (is_moved) {
        (void)sched_setaffinity(0, sizeof(ours), &ours); /* they were ours */
    }
}

void gang_noise_begin(struct gang_noise *n, int cpu)
{
    n->has_begun = true;
    probe(cpu, &n->seen.before);
    n->cpu_begin = host_cpu_time("");
}

void gang_noise_end(struct gang_noise *n, int cpu)
{
    const struct host_cpu_time cpu_end = host_cpu_time("");
    const struct host_cpu_time t = host_cpu_between(&n->cpu_begin, &cpu_end);
    n->seen.busy_ns = t.busy_ns;
    n->seen.steal_ns = t.steal_ns;
    probe(cpu, &n->seen.after);
}
