/* The measurement of all-reduce with collectives that are the test's own: formulas, sizes, and
 * sums that are wrong. */
#include <math.h>

#include "tests/test.h"
#include "worker/allreduce_measure.h"

/* One rank of two; the other one has the same numbers as the first would have as rank 1. */
struct fake {
    struct collective base;
    size_t n_calls, n_beats;
    bool loses_sums; /* what the ranks counted does not come back */
    size_t wrong_at; /* one number of every call of 100 is wrong; SIZE_MAX: none */
    size_t n_written, n_read;
};

static int fake_all_reduce(struct collective *c, const float *from, float *to, size_t n,
                           struct err *err)
{
    struct fake *f = (struct fake *)c;
    (void)err;
    f->n_calls++;
    for (size_t i = 0; i < n; i++) {
        /* Rank 1 has 7 more, modulo 61; figures of the ranks (n < 100) are the same twice. */
        const float other = n < 100 ? from[i] : (float)(((int)from[i] + 7) % 61);
        to[i] = from[i] + other + (n >= 100 && i == f->wrong_at);
        to[i] = n == 1 && f->loses_sums ? NAN : to[i];
    }
    return 0;
}

static int fake_beat(struct collective *c, struct err *err)
{
    ((struct fake *)c)->n_beats++;
    (void)err;
    return 0;
}

static const char *fake_way(const struct collective *c, size_t n)
{
    (void)c, (void)n;
    return "fake";
}

static const struct collective_ops fake_ops = {
    .all_reduce = fake_all_reduce,
    .beat = fake_beat,
    .way = fake_way,
};

/* ---- arrays that are elsewhere, as on a GPU: reading their addresses ends this test ---- */

enum { N_ELSEWHERE = 100, AWAY = 1 << 20 };
static float elsewhere[2][N_ELSEWHERE];

static float *away_from(float *array)
{
    return (float *)((uintptr_t)array + ((uintptr_t)AWAY << 36));
}

static float *home_of(const float *array)
{
    return (float *)((uintptr_t)array - ((uintptr_t)AWAY << 36));
}

static void memory_elsewhere(const struct collective *c, struct collective_memory *ret)
{
    (void)c;
    *ret = (struct collective_memory){away_from(elsewhere[0]), away_from(elsewhere[1])};
}

static int write_elsewhere(struct collective *c, float *to, const float *numbers, size_t n,
                           struct err *err)
{
    (void)err;
    ((struct fake *)c)->n_written += n;
    memcpy(home_of(to), numbers, n * sizeof(float));
    return 0;
}

static int read_elsewhere(struct collective *c, float *ret, const float *from, size_t n,
                          struct err *err)
{
    (void)err;
    ((struct fake *)c)->n_read += n;
    memcpy(ret, home_of(from), n * sizeof(float));
    return 0;
}

static int reduce_elsewhere(struct collective *c, const float *from, float *to, size_t n,
                            struct err *err)
{
    return n < N_ELSEWHERE ? fake_all_reduce(c, from, to, n, err)
                           : fake_all_reduce(c, home_of(from), home_of(to), n, err);
}

static const struct collective_ops elsewhere_ops = {
    .all_reduce = reduce_elsewhere,
    .write = write_elsewhere,
    .read = read_elsewhere,
    .beat = fake_beat,
    .way = fake_way,
    .memory = memory_elsewhere,
};

TEST(arrays_elsewhere_are_written_and_read)
{
    const struct allreduce_params p = {
        .n_ranks = 2, .min_bytes = 400, .max_bytes = 400, .iters = 1, .checks = 2};
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct fake f = {.base = {&elsewhere_ops}, .wrong_at = is_wrong ? 99 : SIZE_MAX};
        _cleanup_(allreduce_arrays_done) struct allreduce_arrays arrays;
        struct allreduce_row row;
        struct err err;
        assert_int_equal(allreduce_arrays_new(&p, &f.base, &arrays, &err), 0);
        assert_int_equal(allreduce_measure(&p, &f.base, &arrays, 400, &row, &err), 0);
        assert_int_equal(row.out_of_place.n_wrong, is_wrong ? 2 * 2 : 0);
        assert_int_equal(row.in_place.n_wrong, is_wrong ? 2 * 2 : 0);
        /* Out of place zeros, and twice NaN and numbers; in place no NaN. Each check reads. */
        assert_int_equal(f.n_written, N_ELSEWHERE * (1 + 2 * 2 + 1 + 2));
        assert_int_equal(f.n_read, N_ELSEWHERE * (2 + 2));
    }
}

static const struct collective without_memory = {&fake_ops};

static float shared[2][16];

static void shared_memory(const struct collective *c, struct collective_memory *ret)
{
    (void)c;
    *ret = (struct collective_memory){shared[0], shared[1]};
}

/* Arrays that peers can read are the collective's, and stay its own. */
TEST(arrays_of_the_collective_are_taken)
{
    const struct collective_ops ops = {.memory = shared_memory};
    const struct collective c = {&ops};
    const struct allreduce_params p = {.max_bytes = sizeof(shared[0])};
    struct allreduce_arrays arrays;
    struct err err;
    assert_int_equal(allreduce_arrays_new(&p, &c, &arrays, &err), 0);
    assert_ptr_equal(arrays.from, shared[0]);
    assert_ptr_equal(arrays.to, shared[1]);
    allreduce_arrays_done(&arrays);
    assert_null(arrays.from);
}

TEST(sums_are_checked)
{
    const struct allreduce_params p = {
        .n_ranks = 2, .min_bytes = 400, .max_bytes = 400, .warmup = 2, .iters = 3, .checks = 5};
    _cleanup_(allreduce_arrays_done) struct allreduce_arrays arrays;
    struct allreduce_row row;
    struct err err;
    assert_int_equal(allreduce_arrays_new(&p, &without_memory, &arrays, &err), 0);
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct fake f = {.base = {&fake_ops}, .wrong_at = is_wrong ? 99 : SIZE_MAX};
        assert_int_equal(allreduce_measure(&p, &f.base, &arrays, 400, &row, &err), 0);
        assert_int_equal(row.bytes, 400);
        assert_string_equal(row.way, "fake");
        assert_int_equal(row.out_of_place.n_wrong, is_wrong ? 2 * 5 : 0); /* of both ranks */
        assert_int_equal(row.in_place.n_wrong, is_wrong ? 2 * 5 : 0);
        assert_true(row.in_place.least_us <= row.in_place.most_us);
        /* twice: warm-up, barrier, measured, figures, checks, wrong numbers */
        assert_int_equal(f.n_calls, 2 * (2 + 1 + 3 + 1 + 5 + 1));
    }
}

/* A rank believes what it saw itself, whatever comes back of the others: no number
 * at all is wrong too. */
TEST(wrong_numbers_are_not_lost)
{
    const struct allreduce_params p = {
        .n_ranks = 2, .min_bytes = 400, .max_bytes = 400, .iters = 1, .checks = 3};
    _cleanup_(allreduce_arrays_done) struct allreduce_arrays arrays;
    struct allreduce_row row;
    struct err err;
    struct fake f = {.base = {&fake_ops}, .wrong_at = 0, .loses_sums = true};
    assert_int_equal(allreduce_arrays_new(&p, &without_memory, &arrays, &err), 0);
    assert_int_equal(allreduce_measure(&p, &f.base, &arrays, 400, &row, &err), 0);
    assert_int_equal(row.out_of_place.n_wrong, 3 + 1);
    assert_int_equal(row.in_place.n_wrong, 3 + 1);
}

/* Peers give up a rank that is silent for 6 s: writing a long array for the
 * first time takes longer. */
TEST(a_long_array_is_written_between_signs_of_life)
{
    enum { PIECES = 3, PIECE_BYTES = 16 << 20 };
    const struct allreduce_params p = {.n_ranks = 2,
                                       .min_bytes = PIECES * PIECE_BYTES,
                                       .max_bytes = PIECES * PIECE_BYTES,
                                       .iters = 1,
                                       .checks = 1};
    _cleanup_(allreduce_arrays_done) struct allreduce_arrays arrays;
    struct allreduce_row row;
    struct err err;
    struct fake f = {.base = {&fake_ops}, .wrong_at = SIZE_MAX};
    assert_int_equal(allreduce_arrays_new(&p, &without_memory, &arrays, &err), 0);
    assert_int_equal(allreduce_measure(&p, &f.base, &arrays, p.max_bytes, &row, &err), 0);
    /* Out of place zeros, NaN, numbers and the check; in place no NaN. */
    assert_true(f.n_beats >= (4 + 3) * PIECES);
}

TEST(bandwidths_follow_the_formulas)
{
    /* A row of nccl-tests with 8 ranks: 134217728 bytes, 1209.5 us, 110.97 and 194.20 GB/s. */
    assert_float_equal(allreduce_algbw(134217728, 1209.5), 110.97, 0.005);
    assert_float_equal(allreduce_busbw(134217728, 1209.5, 8), 194.20, 0.005);
    assert_float_equal(allreduce_busbw(1000000, 1000, 2), 1.0, 1e-9);
    assert_float_equal(allreduce_busbw(1000000, 1000, 1), 0, 0);
}

TEST(sizes_grow_by_factor_or_step)
{
    const struct allreduce_params by_factor = {.min_bytes = 4, .max_bytes = 100, .factor = 5};
    assert_int_equal(allreduce_next_bytes(&by_factor, 4), 20);
    assert_int_equal(allreduce_next_bytes(&by_factor, 20), 100);
    assert_int_equal(allreduce_next_bytes(&by_factor, 100), 0);
    const struct allreduce_params by_step = {.min_bytes = 4, .max_bytes = 100, .step_bytes = 48};
    assert_int_equal(allreduce_next_bytes(&by_step, 4), 52);
    assert_int_equal(allreduce_next_bytes(&by_step, 52), 100);
    assert_int_equal(allreduce_next_bytes(&by_step, 100), 0);
}
