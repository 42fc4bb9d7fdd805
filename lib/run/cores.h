/* Which cores each member of an attempt gets. Pure: the affinity mask is data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/launch.h"

struct core_range { /* positions in the list of usable CPUs */
    uint32_t first, count;
};

/* Trainers and workers get `threads` cores each, by index, then every pserver one. False when `cpus`
 * are not enough for all of them: then nobody is pinned, since half a pinning would favour some. */
bool cores_for(const struct gang_spec *gang, uint32_t cpus, enum role role, uint32_t index,
               struct core_range *ret);
