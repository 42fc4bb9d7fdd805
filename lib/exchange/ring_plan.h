/* Which slice goes when in a ring all-reduce. Pure: every rank computes the same plan from the same
 * two numbers.
 *
 * Slice i belongs to rank i mod n_ranks, its owner. A slice's gradient starts at the rank after its
 * owner and goes round: each rank adds its own, and the owner adds its own last, so the order of
 * the additions depends on nothing but the slice. The owner applies the optimiser and sends the new
 * parameters round the same way, as far as the rank before it.
 *
 *     owner 0 of 4 ranks:   1 ---g1---> 2 ---g1+g2---> 3 ---(g1+g2)+g3---> 0   adds g0, applies
 *                           0 -params-> 1 ---params--> 2 -----params-----> 3
 *
 * The slices of n_ranks neighbours in the arena, one of each owner, are a group. A step takes the
 * groups from the last one down, as backward makes gradients. In a group a rank first sends what
 * begins with it, then what began one rank before it, and so on, so that all ranks send
 * all the time. Two groups take turns: while a rank adds to a slice of one of them, it
 * sends one of the other.
 *
 * The order of the gradients on a link is fixed. What a rank sends as its k-th gradient it has
 * received as one before the k-th, or has of its own. So RING_BUFFERS_MIN buffers are enough to get
 * on, whatever the sizes of sockets and whoever is late: one for each of the groups that take
 * turns, and one for what comes before the first of them has gone on. With less all ranks could
 * wait for each other's buffers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exchange/slices.h"

/* A slice stays in the second-level cache while it is received, added to and sent on. */
#define RING_SLICE_BYTES ((size_t)256 << 10)
/* Shorter ones cost more in headers than they gain in overlap. */
#define RING_SLICE_MIN_BYTES ((size_t)16 << 10)
/* A step has at least so many groups, if slices do not become too short. */
#define RING_GROUPS 16u

#define RING_TURNS 2u /* groups that take turns */
#define RING_BUFFERS_MIN (RING_TURNS + 1)

/* What may wait for a rank, of the gradients that are sent to it and of the parameters each. */
#define RING_WINDOW_BYTES ((size_t)4 << 20)
/* Slices that a rank has handed to its connection: what goes next is decided late. */
#define RING_QUEUED_MAX 2u

/* slices.n_servers is the number of ranks, and slices_get returns a slice's
 * owner as its `server`. */
struct slices ring_slices(size_t n_params, uint32_t n_ranks);

struct ring_hop {
    uint32_t slice;
    bool is_first;     /* it is of this rank's own gradient alone */
    uint32_t received; /* else: the number of the hop by which it has come here */
};

/* How many gradients a rank sends, and receives, in a step. */
uint32_t ring_n_hops(const struct slices *s);
/* What `rank` sends as its k-th gradient of a step, k < ring_n_hops. What it receives as the k-th
 * is what the rank before it sends as the k-th. */
struct ring_hop ring_hop_at(const struct slices *s, uint32_t rank, uint32_t k);

/* Slices that fill the window: so many gradients a rank has buffers for, and so many slices of
 * parameters may be on their way to it. At least RING_BUFFERS_MIN, at most ring_n_hops. */
uint32_t ring_buffers(const struct slices *s, size_t window_bytes);

static inline uint32_t ring_next(uint32_t n_ranks, uint32_t rank)
{
    return rank + 1 < n_ranks ? rank + 1 : 0;
}

static inline uint32_t ring_prev(uint32_t n_ranks, uint32_t rank)
{
    return rank > 0 ? rank - 1 : n_ranks - 1;
}
