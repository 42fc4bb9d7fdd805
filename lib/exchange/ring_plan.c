/* The plan of a ring, see ring_plan.h. */
#include "exchange/ring_plan.h"

#include <assert.h>

struct slices ring_slices(size_t n_params, uint32_t n_ranks)
{
    size_t bytes = n_params * sizeof(float) / n_ranks / RING_GROUPS;
    bytes = bytes < RING_SLICE_BYTES ? bytes : RING_SLICE_BYTES;
    bytes = bytes > RING_SLICE_MIN_BYTES ? bytes : RING_SLICE_MIN_BYTES;
    return slices_plan(n_params, n_ranks, bytes);
}

uint32_t ring_n_hops(const struct slices *s)
{
    return s->n / s->n_servers * (s->n_servers - 1);
}

struct ring_hop ring_hop_at(const struct slices *s, uint32_t rank, uint32_t k)
{
    const uint32_t n_ranks = s->n_servers, n_groups = s->n / n_ranks, n_hops = n_ranks - 1;
    assert(k < ring_n_hops(s));
    const uint32_t first =
        k / (RING_TURNS * n_hops) * RING_TURNS; /* of the groups that take turns with it */
    const uint32_t n_turns = n_groups - first < RING_TURNS ? n_groups - first : RING_TURNS;
    const uint32_t at = k - first * n_hops;
    const uint32_t hop = at / n_turns; /* ranks that have added to it before */
    const uint32_t group = n_groups - 1 - (first + at % n_turns);
    /* It began `hop` ranks before this one, which is the rank after its owner. */
    const uint32_t owner = (rank + 2 * n_ranks - 1 - hop) % n_ranks;
    return (struct ring_hop){
        .slice = group * n_ranks + owner,
        .is_first = hop == 0,
        .received = hop == 0 ? 0 : k - n_turns,
    };
}

uint32_t ring_buffers(const struct slices *s, size_t window_bytes)
{
    const size_t longest = slices_longest(s), n_hops = ring_n_hops(s);
    const size_t fit = window_bytes / ((longest > 0 ? longest : 1) * sizeof(float));
    const size_t n = fit > RING_BUFFERS_MIN ? fit : RING_BUFFERS_MIN;
    return (uint32_t)(n < n_hops ? n : n_hops);
}
