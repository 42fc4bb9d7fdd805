/* What goes from a rank of a ring to the next one has a number: below n_hops that of a gradient in
 * the rank's plan, from there on that of a slice of parameters. */

#include "base/mem.h"
#include "predict/gang_internal.h"

bool ring_is_gradient(const struct gang *g, uint32_t item)
{
    return item < g->n_hops;
}

/* ring_hop_at without its divisions, because this is where a simulation spends its time: all ranks
 * have the plan of rank 0, turned by their number (tests/worker/test_ring_plan.c). */
struct ring_hop ring_hop(const struct gang *g, uint32_t rank, uint32_t k)
{
    const uint32_t n_ranks = g->p->n_trainers;
    struct ring_hop hop = g->hops[k];
    hop.slice += rank;
    hop.slice -= g->owners[k] + rank < n_ranks ? 0 : n_ranks;
    return hop;
}

uint32_t ring_slice_of(const struct gang *g, uint32_t rank, uint32_t item)
{
    return ring_is_gradient(g, item) ? ring_hop(g, rank, item).slice : item - g->n_hops;
}

void ring_plan_init(struct gang *g)
{
    g->n_hops = ring_n_hops(&g->slices);
    const struct slices real = ring_slices(g->p->n_params, g->real->n_trainers);
    const uint32_t n_buffers = ring_buffers(&real, RING_WINDOW_BYTES);
    g->n_buffers = n_buffers < g->n_hops ? n_buffers : g->n_hops;
    g->hops = xnew_array(struct ring_hop, g->n_hops);
    g->owners = xnew_array(uint32_t, g->n_hops);
    for (uint32_t k = 0; k < g->n_hops; k++) {
        g->hops[k] = ring_hop_at(&g->slices, 0, k);
        g->owners[k] = g->hops[k].slice % g->p->n_trainers;
    }
    g->offsets = xnew_array(size_t, g->slices.n);
    for (uint32_t i = 0; i < g->slices.n; i++) {
        g->offsets[i] = slices_get(&g->slices, i).offset;
    }
}

void ring_plan_done(struct gang *g)
{
    free(g->hops);
    free(g->owners);
    free(g->offsets);
}
