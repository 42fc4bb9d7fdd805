/* CPUs of an attempt, see cpus.h. */
#include "run/processes/cpus.h"

#include "base/mem.h"

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
