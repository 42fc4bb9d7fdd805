/* See gang_noise.h. */
#include "run/gang_noise.h"

#include "host/probe.h"

static void probe(struct noise_probe *ret)
{
    const struct probe_limits limits = probe_limits_of("");
    probe_run(&limits, ret);
}

void gang_noise_begin(struct gang_noise *n)
{
    n->has_begun = true;
    probe(&n->seen.before);
    n->cpu_begin = host_cpu_time("");
}

void gang_noise_end(struct gang_noise *n)
{
    const struct host_cpu_time cpu_end = host_cpu_time("");
    const struct host_cpu_time t = host_cpu_between(&n->cpu_begin, &cpu_end);
    n->has_ended = true;
    n->seen.busy_ns = t.busy_ns;
    n->seen.steal_ns = t.steal_ns;
    probe(&n->seen.after);
}
