/* CPUs of an attempt, see cpus.h. */
#include "run/processes/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"

/* Sort keys: which thread of its core a CPU is, then its number. */
struct ranked {
    struct cpu cpu;
    uint32_t rank;
};

static int by_rank(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->cpu.cpu > b->cpu.cpu) - (a->cpu.cpu < b->cpu.cpu);
}

void cpus_spread(struct cpu *cpus, uint32_t n)
{
    struct ranked *all = xnew_array(struct ranked, n);
    for (uint32_t i = 0; i < n; i++) {
        all[i].cpu = cpus[i];
        for (uint32_t j = 0; j < i; j++) {
            all[i].rank += cpus[j].core == cpus[i].core;
        }
    }
    qsort(all, n, sizeof(*all), by_rank);
    for (uint32_t i = 0; i < n; i++) {
        cpus[i] = all[i].cpu;
    }
    free(all);
}

bool cpus_for_member(const struct gang_spec *gang, uint32_t cpus, enum role role, uint32_t index,
                     struct cpu_range *ret)
{
    uint64_t threads = gang->threads > 0 ? gang->threads : 1;
    uint64_t trainers = gang->replicas[ROLE_TRAINER] * threads;
    uint64_t workers = gang->replicas[ROLE_WORKER] * threads;
    if (trainers + workers + gang->replicas[ROLE_PSERVER] > cpus) {
        return false;
    }
    uint64_t first = index * threads;
    if (role == ROLE_WORKER) {
        first += trainers;
    } else if (role == ROLE_PSERVER) {
        first = trainers + workers + index;
        threads = 1;
    } else if (role == ROLE_LAUNCHER) {
        threads = trainers + workers;
    }
    *ret = (struct cpu_range){.first = (uint32_t)first, .count = (uint32_t)threads};
    return true;
}

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
