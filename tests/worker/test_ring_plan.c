/* The plan of a ring: what must hold for every number of ranks and every length of the arena. A
 * failed row prints its numbers. */
#include "tests/test.h"
#include "exchange/ring_plan.h"

#define MAX_RANKS 64

static const size_t lengths[] = {0, 1, 5, 1023, 100003, 700001, 4000037};

static void each_plan(void (*check)(const struct slices *s))
{
    for (uint32_t n = 1; n <= MAX_RANKS; n++) {
        for (size_t i = 0; i < N_ROWS(lengths); i++) {
            const struct slices planned = ring_slices(lengths[i], n);
            const struct slices few = slices_plan(lengths[i], n, 1 << 20); /* one group, or three */
            check(&planned);
            check(&few);
        }
    }
}

/* Every slice leaves every rank but its owner once, first the rank after its owner, and what a rank
 * passes on has come before. */
static void check_way(const struct slices *s)
{
    const uint32_t n_hops = ring_n_hops(s);
    _cleanup_(freep) uint8_t *n_sent = calloc(s->n, 1);
    for (uint32_t rank = 0; rank < s->n_servers; rank++) {
        _cleanup_(freep) uint8_t *is_sent = calloc(s->n, 1);
        const uint32_t prev = ring_prev(s->n_servers, rank);
        for (uint32_t k = 0; k < n_hops; k++) {
            const struct ring_hop hop = ring_hop_at(s, rank, k);
            if (hop.slice >= s->n || is_sent[hop.slice] || hop.slice % s->n_servers == rank ||
                hop.is_first != (hop.slice % s->n_servers == prev)) {
                fail_msg("%u ranks, %zu floats: rank %u sends slice %u as hop %u", s->n_servers,
                         s->n_params, rank, hop.slice, k);
            }
            if (!hop.is_first &&
                (hop.received >= k || ring_hop_at(s, prev, hop.received).slice != hop.slice)) {
                fail_msg("%u ranks, %zu floats: rank %u passes on slice %u as hop %u, which has "
                         "not come as hop %u",
                         s->n_servers, s->n_params, rank, hop.slice, k, hop.received);
            }
            is_sent[hop.slice] = 1;
            n_sent[hop.slice]++;
        }
    }
    for (uint32_t i = 0; i < s->n; i++) {
        assert_int_equal(n_sent[i], s->n_servers - 1);
    }
}

TEST(every_slice_goes_round_once)
{
    each_plan(check_way);
}

/* Slices that are made last by backward, the first in the arena, go last: two
 * groups at most overlap. */
static void check_order(const struct slices *s)
{
    for (uint32_t k = 1; k < ring_n_hops(s); k++) {
        const uint32_t before = ring_hop_at(s, 0, k - 1).slice / s->n_servers;
        const uint32_t now = ring_hop_at(s, 0, k).slice / s->n_servers;
        if (now > before + 1) {
            fail_msg("%u ranks, %zu floats: group %u after group %u", s->n_servers, s->n_params,
                     now, before);
        }
    }
}

TEST(the_last_groups_go_first)
{
    each_plan(check_order);
}

struct world { /* ranks with so many buffers each */
    const struct slices *s;
    uint32_t n_buffers;
    uint32_t n_sent[MAX_RANKS], n_freed[MAX_RANKS];
};

static uint32_t n_received(const struct world *w, uint32_t rank)
{
    return w->n_sent[ring_prev(w->s->n_servers, rank)];
}

/* What has come and is its own, or was passed on, leaves its buffer. */
static void settle(struct world *w, uint32_t rank)
{
    while (w->n_freed[rank] < n_received(w, rank)) {
        const uint32_t prev = ring_prev(w->s->n_servers, rank);
        const uint32_t slice = ring_hop_at(w->s, prev, w->n_freed[rank]).slice;
        bool is_passed_on = slice % w->s->n_servers == rank;
        for (uint32_t k = 0; !is_passed_on && k < w->n_sent[rank]; k++) {
            is_passed_on = ring_hop_at(w->s, rank, k).slice == slice;
        }
        if (!is_passed_on) {
            return;
        }
        w->n_freed[rank]++;
    }
}

static bool may_send(const struct world *w, uint32_t rank)
{
    const uint32_t k = w->n_sent[rank], next = ring_next(w->s->n_servers, rank);
    if (k == ring_n_hops(w->s) || k >= w->n_freed[next] + w->n_buffers) {
        return false;
    }
    const struct ring_hop hop = ring_hop_at(w->s, rank, k);
    return hop.is_first || hop.received < n_received(w, rank);
}

/* Hops that are left when no rank can send, in a random order of the ranks. */
static uint64_t run_world(struct world *w, uint32_t *x)
{
    uint64_t left = (uint64_t)ring_n_hops(w->s) * w->s->n_servers;
    for (;;) {
        *x = *x * 1664525u + 1013904223u;
        uint32_t rank = (*x >> 8) % w->s->n_servers, tried = 0;
        while (tried < w->s->n_servers && !may_send(w, rank)) {
            rank = ring_next(w->s->n_servers, rank);
            tried++;
        }
        if (tried == w->s->n_servers) {
            return left;
        }
        w->n_sent[rank]++;
        left--;
        for (uint32_t i = 0; i < w->s->n_servers; i++) {
            settle(w, i);
        }
    }
}

/* Whoever is late: the ranks get on in any order, and with a buffer less they would not. */
TEST(few_buffers_are_enough)
{
    uint32_t x = 1;
    for (uint32_t n = 2; n <= MAX_RANKS; n = n < 9 ? n + 1 : 2 * n - 1) {
        const struct slices s = slices_plan((size_t)n * 4 * 16, n, 128);
        bool gets_stuck = false;
        for (int seed = 0; seed < 5; seed++) {
            struct world w = {.s = &s, .n_buffers = RING_BUFFERS_MIN};
            const uint64_t left = run_world(&w, &x);
            if (left > 0) {
                fail_msg("%u ranks, seed %d: all are stuck, %llu hops are left", n, seed,
                         (unsigned long long)left);
            }
            struct world less = {.s = &s, .n_buffers = RING_BUFFERS_MIN - 1};
            gets_stuck |= run_world(&less, &x) > 0;
        }
        assert_true(gets_stuck == (n > 2));
    }
}

/* All ranks send all the time: what a rank sends as its k-th hop another one has
 * sent before the k-th. */
TEST(nobody_waits_for_a_turn)
{
    for (uint32_t n = 2; n <= MAX_RANKS; n++) {
        const struct slices s = slices_plan((size_t)n * 8 * 16, n, 128);
        for (uint32_t rank = 0; rank < n; rank++) {
            assert_true(ring_hop_at(&s, rank, 0).is_first);
            assert_true(ring_hop_at(&s, rank, 1)
                            .is_first); /* of the other group: meanwhile the first comes */
        }
    }
}

TEST(lengths_of_slices)
{
    static const struct {
        size_t n;
        uint32_t ranks, groups;
        size_t max_bytes;
    } rows[] = {
        {15254602, 2, 117, RING_SLICE_BYTES},  {15254602, 4, 59, RING_SLICE_BYTES},
        {15254602, 100, 17, RING_SLICE_BYTES}, {1000, 2, 1, RING_SLICE_MIN_BYTES},
        {15254602, 1, 233, RING_SLICE_BYTES},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct slices s = ring_slices(rows[i].n, rows[i].ranks);
        print_message("# %zu floats, %u ranks: %u slices\n", rows[i].n, rows[i].ranks, s.n);
        assert_int_equal(s.n, rows[i].groups * rows[i].ranks);
        for (uint32_t k = 0; k < s.n; k++) {
            assert_true(slices_get(&s, k).len * sizeof(float) <= rows[i].max_bytes);
        }
    }
}

/* The plan of a rank is that of rank 0, with the slices of other owners. */
TEST(all_ranks_have_one_plan)
{
    for (uint32_t n = 2; n <= 9; n++) {
        const struct slices s = ring_slices(200003, n);
        for (uint32_t k = 0; k < ring_n_hops(&s); k++) {
            const struct ring_hop first = ring_hop_at(&s, 0, k);
            const uint32_t group = first.slice / n, owner = first.slice % n;
            for (uint32_t rank = 1; rank < n; rank++) {
                const struct ring_hop hop = ring_hop_at(&s, rank, k);
                assert_int_equal(hop.slice, group * n + (owner + rank) % n);
                assert_int_equal(hop.received, first.received);
                assert_true(hop.is_first == first.is_first);
            }
        }
    }
}

TEST(buffers_fill_the_window)
{
    static const struct {
        size_t n;
        uint32_t ranks;
        size_t window_bytes;
        uint32_t want;
    } rows[] = {
        {15254602, 2, RING_WINDOW_BYTES, 16}, {15254602, 100, RING_WINDOW_BYTES, 116},
        {15254602, 2, 1, RING_BUFFERS_MIN},   {1000, 2, RING_WINDOW_BYTES, 1}, /* all that come */
        {15254602, 1, RING_WINDOW_BYTES, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct slices s = ring_slices(rows[i].n, rows[i].ranks);
        assert_int_equal(ring_buffers(&s, rows[i].window_bytes), rows[i].want);
    }
}
