/* The plan of an all-reduce, see collective_plan.h. */
#include "worker/comm/collective/collective_plan.h"

#include <assert.h>

#define LINE_FLOATS 16u /* 64 bytes */

const char *const collective_algorithm_names[COLLECTIVE_ALGORITHMS] = {
    [COLLECTIVE_RING] = "ring",         [COLLECTIVE_HALVING_DOUBLING] = "halving-doubling",
    [COLLECTIVE_AUTO] = "auto",         [COLLECTIVE_HALVING] = "halving",
    [COLLECTIVE_DOUBLING] = "doubling",
};
const char *const collective_way_names[3] = {
    [WAY_RING] = "ring",
    [WAY_HALVING] = "halving-doubling",
    [WAY_DOUBLING] = "doubling",
};

static uint32_t log2_of(uint32_t power)
{
    return (uint32_t)__builtin_ctz(power);
}

enum collective_way collective_way_of(enum collective_algorithm algorithm, uint32_t n_ranks,
                                      size_t n)
{
    const size_t bytes = n * sizeof(float);
    const bool is_power_of_two = (n_ranks & (n_ranks - 1)) == 0;
    if (algorithm == COLLECTIVE_RING || !is_power_of_two ||
        (algorithm == COLLECTIVE_AUTO && bytes > COLLECTIVE_HALVING_BYTES)) {
        return WAY_RING;
    }
    const bool doubles_most = algorithm == COLLECTIVE_DOUBLING || n_ranks == 2;
    const size_t doubles_to = algorithm == COLLECTIVE_HALVING ? 0
                              : doubles_most                  ? COLLECTIVE_DOUBLING_MOST_BYTES
                                                              : COLLECTIVE_DOUBLING_BYTES;
    return bytes <= doubles_to ? WAY_DOUBLING : WAY_HALVING;
}

size_t collective_segment(enum collective_way way, uint32_t n_ranks, size_t n)
{
    const size_t most = n_ranks * (COLLECTIVE_BLOCK_BYTES / sizeof(float));
    return way == WAY_RING && n > most ? most : n;
}

/* The beginning of block i of n_ranks, i <= n_ranks. */
static size_t begin_of(uint32_t n_ranks, size_t n, uint32_t i)
{
    const size_t n_lines = (n + LINE_FLOATS - 1) / LINE_FLOATS;
    const size_t at = n_lines * i / n_ranks * LINE_FLOATS;
    return at < n ? at : n;
}

/* `count` blocks from `first` on. */
static struct collective_range blocks(uint32_t n_ranks, size_t n, uint32_t first, uint32_t count)
{
    const size_t at = begin_of(n_ranks, n, first);
    return (struct collective_range){at, begin_of(n_ranks, n, first + count) - at};
}

struct collective_range collective_block(uint32_t n_ranks, size_t n, uint32_t i)
{
    return blocks(n_ranks, n, i, 1);
}

uint32_t collective_n_steps(enum collective_way way, uint32_t n_ranks)
{
    switch (way) {
    case WAY_HALVING:
        return 2 * log2_of(n_ranks);
    case WAY_DOUBLING:
        return log2_of(n_ranks);
    case WAY_RING:
        break;
    }
    return 2 * (n_ranks - 1);
}

static struct collective_step ring_step(uint32_t n_ranks, uint32_t rank, size_t n, uint32_t k)
{
    const bool adds = k < n_ranks - 1;
    const uint32_t hop = adds ? k : k - (n_ranks - 1);
    /* Sums: block b goes from rank b + 1 + k. Then from its owner, b, and k ranks on. */
    const uint32_t sent = (rank + 2 * n_ranks - hop - (adds ? 1 : 0)) % n_ranks;
    const uint32_t received = (sent + n_ranks - 1) % n_ranks;
    return (struct collective_step){
        .to = (rank + 1) % n_ranks,
        .from = (rank + n_ranks - 1) % n_ranks,
        .send = blocks(n_ranks, n, sent, 1),
        .receive = blocks(n_ranks, n, received, 1),
        .adds = adds,
        .sends_own = k == 0,
        .adds_own = adds, /* a rank adds to each block once */
        .is_passed_on = k + 1 < collective_n_steps(WAY_RING, n_ranks),
    };
}

static struct collective_step halving_step(uint32_t n_ranks, uint32_t rank, size_t n, uint32_t k)
{
    const uint32_t n_halvings = log2_of(n_ranks);
    const bool adds = k < n_halvings;
    const uint32_t bit = adds ? n_ranks >> (k + 1) : 1u << (k - n_halvings);
    const uint32_t other = rank ^ bit;
    const struct collective_range own = blocks(n_ranks, n, rank & ~(bit - 1), bit);
    const struct collective_range others = blocks(n_ranks, n, other & ~(bit - 1), bit);
    return (struct collective_step){
        .to = other,
        .from = other,
        .send = adds ? others : own,
        .receive = adds ? own : others,
        .adds = adds,
        .sends_own = k == 0,
        .adds_own = k == 0,
    };
}

static struct collective_step doubling_step(uint32_t n_ranks, uint32_t rank, size_t n, uint32_t k)
{
    const uint32_t other = rank ^ (n_ranks >> (k + 1));
    return (struct collective_step){
        .to = other,
        .from = other,
        .send = {0, n},
        .receive = {0, n},
        .adds = true,
        .sends_own = k == 0,
        .adds_own = k == 0,
    };
}

struct collective_step collective_step_at(enum collective_way way, uint32_t n_ranks, uint32_t rank,
                                          size_t n, uint32_t k)
{
    assert(k < collective_n_steps(way, n_ranks));
    switch (way) {
    case WAY_HALVING:
        return halving_step(n_ranks, rank, n, k);
    case WAY_DOUBLING:
        return doubling_step(n_ranks, rank, n, k);
    case WAY_RING:
        break;
    }
    return ring_step(n_ranks, rank, n, k);
}
