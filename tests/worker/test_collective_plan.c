/* The plans of all-reduce, carried out in memory: what one rank sends the other expects, every rank
 * ends with the sum, and with the same bits. */
#include "tests/test.h"
#include "worker/comm/collective/collective_sum.h"

#define MAX_RANKS 17u

/* What a rank has: its own numbers, and what a call would return. */
struct rank {
    float *own, *to; /* (n) owned */
    float *sent;     /* (n) as they were when the step began */
};

static struct collective_step step_of(enum collective_way way, uint32_t n_ranks, uint32_t rank,
                                      size_t n, uint32_t k)
{
    return collective_step_at(way, n_ranks, rank, n, k);
}

static void send_all(struct rank *ranks, enum collective_way way, uint32_t n_ranks, size_t n,
                     uint32_t k)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        const struct collective_step s = step_of(way, n_ranks, r, n, k);
        assert_true(s.send.at + s.send.n <= n);
        memcpy(ranks[r].sent, s.sends_own ? ranks[r].own : ranks[r].to, n * sizeof(float));
    }
}

static void receive_all(struct rank *ranks, enum collective_way way, uint32_t n_ranks, size_t n,
                        uint32_t k)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        const struct collective_step s = step_of(way, n_ranks, r, n, k);
        const struct collective_step theirs = step_of(way, n_ranks, s.from, n, k);
        assert_int_equal(theirs.to, r);
        assert_int_equal(theirs.send.at, s.receive.at);
        assert_int_equal(theirs.send.n, s.receive.n);
        assert_int_equal(s.is_passed_on,
                         way == WAY_RING && k + 1 < collective_n_steps(way, n_ranks));
        if (s.is_passed_on) {
            const struct collective_step next = step_of(way, n_ranks, r, n, k + 1);
            assert_int_equal(next.send.at, s.receive.at);
            assert_int_equal(next.send.n, s.receive.n);
        }
        const float *add = s.adds_own ? ranks[r].own : ranks[r].to;
        for (size_t i = s.receive.at; i < s.receive.at + s.receive.n; i++) {
            ranks[r].to[i] = (s.adds ? add[i] : 0) + ranks[s.from].sent[i];
        }
    }
}

/* What the ranks have computed together, each of them can compute alone, in place or not. */
static void check_alone(const struct rank *ranks, enum collective_way way, uint32_t n_ranks,
                        size_t n)
{
    float *scratch = xnew_array(float, COLLECTIVE_SUM_SCRATCH), *to = xnew_array(float, n + 1);
    for (uint32_t owner = 0; owner < n_ranks; owner++) {
        const struct collective_range b = collective_block(n_ranks, n, owner);
        for (int is_in_place = 0; is_in_place < 2; is_in_place++) {
            const float *numbers[MAX_RANKS];
            for (uint32_t r = 0; r < n_ranks; r++) {
                numbers[r] = ranks[r].own + b.at;
            }
            if (is_in_place) {
                memcpy(to, ranks[owner].own + b.at, b.n * sizeof(float));
                numbers[owner] = to;
            }
            collective_sum(way, n_ranks, owner, numbers, to, b.n, scratch);
            assert_memory_equal(to, ranks[0].to + b.at, b.n * sizeof(float));
        }
    }
    free(scratch);
    free(to);
}

/* Runs a whole call, with whole numbers or with sums that round. */
static void check_sums(enum collective_way way, uint32_t n_ranks, size_t n, bool rounds)
{
    struct rank ranks[MAX_RANKS];
    for (uint32_t r = 0; r < n_ranks; r++) {
        ranks[r] = (struct rank){xnew_array(float, n + 1), xnew_array(float, n + 1),
                                 xnew_array(float, n + 1)};
        memset(ranks[r].to, 0xff, n * sizeof(float));
        for (size_t i = 0; i < n; i++) {
            const float whole = (float)((i * 7 + r * 31) % 101);
            ranks[r].own[i] = rounds ? 1.0f / (whole + 3) : whole;
        }
    }
    for (uint32_t k = 0; k < collective_n_steps(way, n_ranks); k++) {
        send_all(ranks, way, n_ranks, n, k);
        receive_all(ranks, way, n_ranks, n, k);
    }
    for (size_t i = 0; i < n && !rounds; i++) {
        float want = 0;
        for (uint32_t r = 0; r < n_ranks; r++) {
            want += ranks[r].own[i];
        }
        assert_true(ranks[0].to[i] == want);
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        assert_memory_equal(ranks[r].to, ranks[0].to, n * sizeof(float));
    }
    check_alone(ranks, way, n_ranks, n);
    for (uint32_t r = 0; r < n_ranks; r++) {
        free(ranks[r].own);
        free(ranks[r].to);
        free(ranks[r].sent);
    }
}

static const size_t sizes[] = {1, 2, 15, 16, 17, 100, 256, 1000, 4099};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

TEST(a_ring_sums)
{
    for (uint32_t n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++) {
        for (size_t i = 0; i < N_SIZES; i++) {
            check_sums(WAY_RING, n_ranks, sizes[i], false);
            check_sums(WAY_RING, n_ranks, sizes[i], true);
        }
    }
}

TEST(halving_and_doubling_sum)
{
    for (uint32_t n_ranks = 2; n_ranks <= 16; n_ranks *= 2) {
        for (size_t i = 0; i < N_SIZES; i++) {
            for (enum collective_way way = WAY_HALVING; way <= WAY_DOUBLING; way++) {
                check_sums(way, n_ranks, sizes[i], false);
                check_sums(way, n_ranks, sizes[i], true);
            }
        }
    }
}

/* What a rank sends in a call: 2 (n - 1)/n of the message, and by doubling log2 n times of it. */
TEST(bytes_are_those_of_the_formula)
{
    static const struct {
        enum collective_way way;
        uint32_t n_ranks, n_steps;
        size_t n, want;
    } rows[] = {
        {WAY_RING, 4, 6, 64000, 96000},      {WAY_HALVING, 4, 4, 64000, 96000},
        {WAY_DOUBLING, 4, 2, 64000, 128000}, {WAY_RING, 2, 2, 64000, 64000},
        {WAY_HALVING, 2, 2, 64000, 64000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t sent = 0;
        assert_int_equal(collective_n_steps(rows[i].way, rows[i].n_ranks), rows[i].n_steps);
        for (uint32_t k = 0; k < rows[i].n_steps; k++) {
            sent += step_of(rows[i].way, rows[i].n_ranks, 1, rows[i].n, k).send.n;
        }
        assert_int_equal(sent, rows[i].want);
    }
}

/* Blocks of a long message have their length, in the ring alone. */
TEST(a_ring_has_segments)
{
    const size_t block = COLLECTIVE_BLOCK_BYTES / sizeof(float);
    assert_int_equal(collective_segment(WAY_RING, 3, 100 * block), 3 * block);
    assert_int_equal(
        step_of(WAY_RING, 3, 0, collective_segment(WAY_RING, 3, 100 * block), 0).send.n, block);
    assert_int_equal(collective_segment(WAY_RING, 3, 3 * block), 3 * block);
    assert_int_equal(collective_segment(WAY_RING, 3, 3 * block - 1), 3 * block - 1);
    assert_int_equal(collective_segment(WAY_HALVING, 2, 100 * block), 100 * block);
}

TEST(the_way_follows_from_size_and_ranks)
{
    const size_t doubling = COLLECTIVE_DOUBLING_BYTES / sizeof(float);
    const size_t halving = COLLECTIVE_HALVING_BYTES / sizeof(float);
    static const struct {
        enum collective_algorithm algorithm;
        uint32_t n_ranks;
        int at; /* 0: at the first limit, 1: beyond it, 2: at the second, 3: beyond it */
        enum collective_way want;
    } rows[] = {
        {COLLECTIVE_AUTO, 4, 0, WAY_DOUBLING},
        {COLLECTIVE_AUTO, 4, 1, WAY_HALVING},
        {COLLECTIVE_AUTO, 2, 1, WAY_DOUBLING},
        {COLLECTIVE_AUTO, 8, 2, WAY_HALVING},
        {COLLECTIVE_AUTO, 8, 3, WAY_RING},
        {COLLECTIVE_AUTO, 3, 0, WAY_RING},
        {COLLECTIVE_HALVING_DOUBLING, 4, 0, WAY_DOUBLING},
        {COLLECTIVE_HALVING_DOUBLING, 4, 3, WAY_HALVING},
        {COLLECTIVE_HALVING_DOUBLING, 6, 3, WAY_RING},
        {COLLECTIVE_RING, 2, 0, WAY_RING},
        {COLLECTIVE_HALVING, 2, 0, WAY_HALVING},
        {COLLECTIVE_HALVING, 2, 3, WAY_HALVING},
        {COLLECTIVE_DOUBLING, 4, 0, WAY_DOUBLING},
        {COLLECTIVE_DOUBLING, 3, 0, WAY_RING},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t n = rows[i].at == 0   ? doubling
                         : rows[i].at == 1 ? doubling + 1
                         : rows[i].at == 2 ? halving
                                           : halving + 1;
        assert_int_equal(collective_way_of(rows[i].algorithm, rows[i].n_ranks, n), rows[i].want);
    }
    const size_t most = COLLECTIVE_DOUBLING_MOST_BYTES / sizeof(float);
    assert_int_equal(collective_way_of(COLLECTIVE_DOUBLING, 4, most), WAY_DOUBLING);
    assert_int_equal(collective_way_of(COLLECTIVE_DOUBLING, 4, most + 1), WAY_HALVING);
    assert_int_equal(collective_way_of(COLLECTIVE_AUTO, 2, most), WAY_DOUBLING);
    assert_int_equal(collective_way_of(COLLECTIVE_AUTO, 2, most + 1), WAY_HALVING);
}
