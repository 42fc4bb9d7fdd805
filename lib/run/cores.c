/* Cores of an attempt, see cores.h. */
#include "run/cores.h"

bool cores_for(const struct gang_spec *gang, uint32_t cpus, enum role role, uint32_t index,
               struct core_range *ret)
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
    }
    *ret = (struct core_range){.first = (uint32_t)first, .count = (uint32_t)threads};
    return true;
}
