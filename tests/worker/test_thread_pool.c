/* The pool runs every item once, on a thread that exists, and the caller waits for all. */
#include <stdatomic.h>

#include "tests/test.h"
#include "base/clock.h"
#include "worker/kernels/cpu.h"
#include "worker/kernels/kernels.h"

enum { MAX_ITEMS = 1000 };

struct loop {
    atomic_uint runs[MAX_ITEMS];
    atomic_uint outside; /* items on a thread that there is not */
    unsigned threads;
};

static void item(void *ctx, size_t i, unsigned thread)
{
    struct loop *l = ctx;
    atomic_fetch_add(&l->runs[i], 1);
    atomic_fetch_add(&l->outside, thread >= l->threads ? 1u : 0u);
}

TEST(runs_each_once)
{
    static const struct {
        unsigned threads;
        size_t items;
    } rows[] = {{1, 0}, {1, 7}, {2, 0}, {2, 1}, {2, 2}, {3, 1000}, {8, 5}};
    static struct loop l;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct thread_pool *p = NULL;
        assert_int_equal(thread_pool_new(rows[r].threads, &p, NULL), 0);
        assert_int_equal(thread_pool_size(p), rows[r].threads);
        for (unsigned round = 1; round <= 100; round++) {
            memset(&l, 0, sizeof(l));
            l.threads = rows[r].threads;
            parallel_for(p, rows[r].items, item, &l);
            for (size_t i = 0; i < MAX_ITEMS; i++) {
                unsigned want = i < rows[r].items ? 1 : 0, got = atomic_load(&l.runs[i]);
                if (got != want) {
                    fail_msg("%u threads, %zu items, round %u: item %zu ran %u times, expected %u",
                             rows[r].threads, rows[r].items, round, i, got, want);
                }
            }
            assert_int_equal(atomic_load(&l.outside), 0);
        }
        thread_pool_free(p);
    }
}

static void compute_for_a_millisecond(void)
{
    int64_t end_ns = clock_monotonic_ns() + 1000000;
    while (clock_monotonic_ns() < end_ns) {
    }
}

static void long_item(void *ctx, size_t i, unsigned thread)
{
    if (thread > 0) {
        compute_for_a_millisecond();
    }
    item(ctx, i, thread);
}

/* Between loops, and at the end of one, a wait that is long enough to fall asleep. */
TEST(sleeps_and_wakes)
{
    enum { ITEMS = 4 };
    static struct loop l;
    struct thread_pool *p = NULL;
    assert_int_equal(thread_pool_new(3, &p, NULL), 0);
    for (unsigned round = 1; round <= 20; round++) {
        memset(&l, 0, sizeof(l));
        l.threads = 3;
        parallel_for(p, ITEMS, long_item, &l);
        for (size_t i = 0; i < ITEMS; i++) {
            assert_int_equal(atomic_load(&l.runs[i]), 1);
        }
        compute_for_a_millisecond();
    }
    thread_pool_free(p);
}

static void note_denormals(void *ctx, size_t i, unsigned thread)
{
    bool *flushes = ctx;
    (void)i;
    compute_for_a_millisecond(); /* so that each thread gets one */
    flushes[thread] = cpu_flushes_denormals();
}

/* As main does, before it starts a thread. */
TEST(threads_flush_denormals_as_their_starter)
{
    enum { N = 3 };
    bool flushes[N] = {false};
    struct thread_pool *p = NULL;
    assert_false(cpu_flushes_denormals());
    cpu_flush_denormals();
    assert_true(cpu_flushes_denormals());
    assert_int_equal(thread_pool_new(N, &p, NULL), 0);
    for (int64_t end_ns = clock_monotonic_ns() + INT64_C(60000000000);
         !(flushes[0] && flushes[1] && flushes[2]) && clock_monotonic_ns() < end_ns;) {
        parallel_for(p, 3 * N, note_denormals, flushes);
    }
    thread_pool_free(p);
    for (size_t i = 0; i < N; i++) {
        assert_true(flushes[i]);
    }
}

static void note_order(void *ctx, size_t i, unsigned thread)
{
    size_t *next = ctx;
    assert_int_equal(i, *next);
    assert_int_equal(thread, 0);
    ++*next;
}

TEST(without_a_pool)
{
    size_t next = 0;
    parallel_for(NULL, 5, note_order, &next);
    assert_int_equal(next, 5);
    assert_int_equal(thread_pool_size(NULL), 1);
    thread_pool_free(NULL);
}

/* BENCH_CPU_MASK lowers the instruction set, never raises it; another word masks nothing. */
TEST(cpu_mask)
{
    static const char *const isas[] = {"avx512", "avx2", "baseline", "neon"};
    struct kernels k, best;
    assert_int_equal(unsetenv("BENCH_CPU_MASK"), 0);
    kernels_init_best(&best);
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
        assert_int_equal(setenv("BENCH_CPU_MASK", isas[i], 1), 0);
        kernels_init_best(&k);
        bool has_it = kernels_init_isa(&(struct kernels){0}, isas[i]) == 0;
        assert_string_equal(k.isa, has_it ? isas[i] : best.isa);
    }
    assert_int_equal(setenv("BENCH_CPU_MASK", "sse9", 1), 0);
    kernels_init_best(&k);
    assert_string_equal(k.isa, best.isa);
    assert_int_equal(unsetenv("BENCH_CPU_MASK"), 0);
}
