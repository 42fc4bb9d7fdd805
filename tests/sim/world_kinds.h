/* The kinds of worlds: what happens in some in addition to the faults of their plans. Drawn from
 * the seed alone. The first 40 worlds have none, since mistakes must be found in them quickly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SIM_DEADLINE_S 90 /* activeDeadlineSeconds */
static inline bool sim_has_deadline(uint64_t seed)
{
    return seed > 40 && seed % 16 == 3;
}
/* Where the store would be busy, it has an error of any other kind. */
static inline bool sim_has_bad_disk(uint64_t seed)
{
    return seed > 40 && seed % 16 == 7;
}
/* Its runs wait for a place for SIM_WAIT_S, and nodes are full. */
static inline bool sim_is_impatient(uint64_t seed)
{
    return seed > 40 && seed % 16 == 8;
}
#define SIM_WAIT_S 40
/* Half of the worlds have runs that measure two to four trials at a time. */
static inline uint32_t sim_lanes(uint64_t seed)
{
    const uint64_t z = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    return z % 2 == 0 ? 1 : 2 + (uint32_t)(z / 2 % 3);
}
/* Somebody has the right to create runs, and wants more. */
static inline bool sim_has_strangers(uint64_t seed)
{
    return seed > 40 && seed % 8 == 1;
}
/* Pods may take as long for their end as a template may ask for. */
static inline bool sim_has_long_grace(uint64_t seed)
{
    return seed > 40 && seed % 16 == 11;
}
static inline bool sim_has_meddler(uint64_t seed)
{
    return seed > 40 && seed % 16 == 15;
}
/* A third of the pods are refused: what the quota has left is not known. */
static inline bool sim_has_hidden_quota(uint64_t seed)
{
    return seed > 40 && seed % 16 == 13;
}
/* Calls on the loop of a process take time; what arrives during one is late. */
static inline bool sim_has_slow_code(uint64_t seed)
{
    return seed > 40 && seed % 16 == 4;
}
/* A pod is not evicted: its node is gone for good, with the other pods there. */
static inline bool sim_loses_nodes(uint64_t seed)
{
    return seed > 40 && seed % 16 == 12;
}
/* Its runs wait in a queue, which has room for one gang. */
static inline bool sim_has_queue(uint64_t seed)
{
    return seed > 40 && seed % 16 == 0;
}
/* One in sixteen of the worlds above 40, with any other kind but those of which the promises depend
 * on how quick benchd is: a node has no CPU left for it. */
static inline bool sim_is_starved(uint64_t seed)
{
    const uint64_t z = (seed + 1) * UINT64_C(0xD1342543DE82EF95) >> 40;
    return seed > 40 && z % 16 == 0 && seed % 16 != 3 && seed % 16 != 8;
}
/* One in eight of the worlds above 40, with any other kind but those with figures or definitions of
 * their own. */
static inline bool sim_prints(uint64_t seed)
{
    const uint64_t z = (seed + 1) * UINT64_C(0xD1B54A32D192ED03) >> 40;
    return seed > 40 && z % 8 == 0 && seed % 8 != 1 && seed % 8 != 5;
}
