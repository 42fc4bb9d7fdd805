/* Usable CPUs of this machine, see host_cpus.h. */
#include "run/processes/host_cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"

/* A core's number is that of its first hardware thread: the 0 of "0,4" or "0-1". Without sysfs each
 * CPU counts as a core. */
static int core_of(int cpu)
{
    char text[64] = "";
    _cleanup_(freep) char *path =
        xasprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return cpu;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file); /* read only */
    text[n] = '\0';
    text[strcspn(text, ",-\n")] = '\0';
    int64_t core = cpu;
    (void)parse_i64_in(text, 0, CPU_SETSIZE - 1, &core); /* unchanged if it is not a number */
    return (int)core;
}

uint32_t host_cpus_usable(struct cpu *ret, uint32_t max)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        return 0; /* more CPUs than a cpu_set_t holds */
    }
    uint32_t n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && n < max; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            ret[n++] = (struct cpu){.cpu = cpu, .core = core_of(cpu)};
        }
    }
    cpus_spread(ret, n);
    return n;
}
