/* The steps of an all-reduce: what a rank sends and receives, and when. Pure: every rank computes
 * the same plan from the same numbers.
 *
 * A message of n floats is cut into n_ranks blocks, equal but for rounding to a cache line; block i
 * ends up with rank i, its owner, before all ranks get it.
 *
 *     ring               n - 1 steps: each block goes round from the rank after its owner to the
 *                        owner, and each rank adds its own; n - 1 steps: the sums go round. Each
 *                        rank sends 2 (n - 1)/n of the message, in 2 (n - 1) messages.
 *     halving-doubling   log2 n steps with the rank n/2, n/4, .. 1 away: each pair halves what it
 *                        is in charge of, and adds; log2 n steps back. The same number of bytes in
 *                        2 log2 n messages. For a power of two.
 *     doubling           the same pairs exchange the whole message, and both add: log2 n messages,
 *                        log2 n times the message. The additions are those of halving-doubling.
 *
 * (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
 * 2005.)
 *
 * Every rank has the same bits: a sum is computed by one rank, or by both of a pair from the same
 * two numbers, and a + b = b + a. The order of additions follows from the algorithm, the number of
 * ranks and n alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLLECTIVE_RANKS_MAX 1024u

enum collective_algorithm {
    COLLECTIVE_RING,
    COLLECTIVE_HALVING_DOUBLING, /* and doubling, where that is faster */
    COLLECTIVE_AUTO,             /* by the size of the message */
    COLLECTIVE_HALVING,          /* alone, to be measured */
    COLLECTIVE_DOUBLING,         /* the same, to COLLECTIVE_DOUBLING_MOST_BYTES; then halving */
};
#define COLLECTIVE_ALGORITHMS 5
extern const char *const collective_algorithm_names[COLLECTIVE_ALGORITHMS];

/* How an algorithm of the above carries out one message. */
enum collective_way { WAY_RING, WAY_HALVING, WAY_DOUBLING };
extern const char *const collective_way_names[3];

/* Messages of at most so many bytes go by doubling, where there are more than two ranks. This limit
 * and the next but one are from the table of docs/bench.md, "Ring, halving or doubling". */
#define COLLECTIVE_DOUBLING_BYTES ((size_t)64 << 10)
/* Longer ones cannot: what arrives is kept in addition to what is sent, until all of it is there.
 * It is also the limit of two ranks, which send as much by doubling as by halving, in one message
 * in place of two. */
#define COLLECTIVE_DOUBLING_MOST_BYTES ((size_t)256 << 10)
/* COLLECTIVE_AUTO: larger messages go by the ring. */
#define COLLECTIVE_HALVING_BYTES ((size_t)1 << 20)

/* By the ring a long message goes in segments, one after another, each a ring of its own with
 * blocks of this length: sums go on while the caches still hold them. Measured: the same page. */
#define COLLECTIVE_BLOCK_BYTES ((size_t)512 << 10)

/* Where the number of ranks is not a power of two it is the ring, whatever is asked for. */
enum collective_way collective_way_of(enum collective_algorithm algorithm, uint32_t n_ranks,
                                      size_t n);

/* Floats of a segment; the last one of a message may be shorter. */
size_t collective_segment(enum collective_way way, uint32_t n_ranks, size_t n);

struct collective_range { /* floats of the segment */
    size_t at, n;
};

/* Block i < n_ranks of a segment of n floats; its owner is rank i. */
struct collective_range collective_block(uint32_t n_ranks, size_t n, uint32_t i);

struct collective_step {
    uint32_t to, from; /* ranks; the same one but for a ring */
    struct collective_range send, receive;
    bool adds;         /* what comes is added to what this rank has; else it takes its place */
    bool sends_own;    /* its own numbers; else sums */
    bool adds_own;     /* the same of what is added to; of adds only */
    bool is_passed_on; /* the next step sends what this one receives, all of it and nothing else */
};

uint32_t collective_n_steps(enum collective_way way, uint32_t n_ranks);
/* k < collective_n_steps. What `rank` receives is what `from` sends in its step k. */
struct collective_step collective_step_at(enum collective_way way, uint32_t n_ranks, uint32_t rank,
                                          size_t n, uint32_t k);
