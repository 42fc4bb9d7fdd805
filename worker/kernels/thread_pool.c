/* Each thread has its own share of the items: a contiguous range, the same in every loop of as many
 * items, so that it finds in its cache what it wrote in the loop before. When its share is done, it
 * takes items from the shares of the others, so a thread that is delayed does fewer.
 *
 * A thread that waits for another one spins for a while before it sleeps: a training step has
 * hundreds of loops, and many are shorter than the time to wake a thread. */
#include "worker/kernels/thread_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

#define SPINS 2000 /* before sleeping: about 40 microseconds */
#define CACHE_LINE_BYTES 64

struct loop {
    parallel_item item;
    void *ctx;
    size_t n;
};

struct share {
    _Alignas(CACHE_LINE_BYTES) atomic_size_t next; /* the next item */
    size_t end;                                    /* written before a round, like `loop` below */
};

struct thread_pool {
    unsigned n; /* threads, the caller included */
    unsigned started;
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t begun, ended;
    bool stop;            /* under the mutex */
    struct loop loop;     /* written before a round, read during it */
    atomic_size_t round;  /* the number of loops so far; changes under the mutex */
    atomic_uint busy;     /* started threads that have not finished this round */
    struct share *shares; /* (n) */
};

struct seat { /* the argument of a thread, which frees it */
    struct thread_pool *pool;
    unsigned thread;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` would take no time */
#endif
}

static bool has_begun(struct thread_pool *p, size_t seen)
{
    return atomic_load_explicit(&p->round, memory_order_acquire) != seen;
}

static bool has_ended(struct thread_pool *p)
{
    return atomic_load_explicit(&p->busy, memory_order_acquire) == 0;
}

/* Returns false if the pool ends instead. */
static bool wait_for_round(struct thread_pool *p, size_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (has_begun(p, seen)) {
            return true;
        }
        relax();
    }
    (void)pthread_mutex_lock(&p->mutex); /* these cannot fail: a default mutex, held correctly */
    while (!p->stop && !has_begun(p, seen)) {
        (void)pthread_cond_wait(&p->begun, &p->mutex);
    }
    bool goes_on = !p->stop;
    (void)pthread_mutex_unlock(&p->mutex);
    return goes_on;
}

static void wait_for_end(struct thread_pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (has_ended(p)) {
            return;
        }
        relax();
    }
    (void)pthread_mutex_lock(&p->mutex);
    while (!has_ended(p)) {
        (void)pthread_cond_wait(&p->ended, &p->mutex);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}

static void run_items(struct thread_pool *p, const struct loop *loop, unsigned thread)
{
    for (unsigned turn = 0; turn < p->n; turn++) {
        struct share *share = &p->shares[(thread + turn) % p->n];
        for (;;) {
            size_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
            if (i >= share->end) {
                break;
            }
            loop->item(loop->ctx, i, thread);
        }
    }
}

static void *work(void *arg)
{
    struct seat *seat = arg;
    struct thread_pool *p = seat->pool;
    unsigned thread = seat->thread;
    free(seat);
    for (size_t seen = 0; wait_for_round(p, seen); seen++) {
        struct loop loop = p->loop;
        run_items(p, &loop, thread);
        if (atomic_fetch_sub_explicit(&p->busy, 1, memory_order_acq_rel) == 1) {
            (void)pthread_mutex_lock(&p->mutex); /* the caller may be about to sleep */
            (void)pthread_cond_signal(&p->ended);
            (void)pthread_mutex_unlock(&p->mutex);
        }
    }
    return NULL;
}

int thread_pool_new(unsigned n, struct thread_pool **ret, struct err *err)
{
    assert(n >= 1);
    struct thread_pool *p = xnew(struct thread_pool);
    p->n = n;
    p->threads = xnew_array(pthread_t, n);
    p->shares = aligned_alloc(CACHE_LINE_BYTES, n * sizeof(*p->shares));
    if (p->shares == NULL) {
        free(p->threads);
        free(p);
        return err_set(err, ENOMEM, "no memory for %u threads", n);
    }
    (void)pthread_mutex_init(&p->mutex, NULL); /* default attributes: cannot fail */
    (void)pthread_cond_init(&p->begun, NULL);
    (void)pthread_cond_init(&p->ended, NULL);
    for (unsigned i = 1; i < n; i++) {
        struct seat *seat = xnew(struct seat);
        *seat = (struct seat){p, i};
        int code = pthread_create(&p->threads[i], NULL, work, seat);
        if (code != 0) {
            free(seat);
            thread_pool_free(p);
            return err_set_errno(err, code, "start thread %u of %u", i + 1, n);
        }
        p->started++;
    }
    *ret = p;
    return 0;
}

void thread_pool_free(struct thread_pool *p)
{
    if (p == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&p->mutex);
    p->stop = true;
    (void)pthread_cond_broadcast(&p->begun);
    (void)pthread_mutex_unlock(&p->mutex);
    for (unsigned i = 1; i <= p->started; i++) {
        (void)pthread_join(p->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&p->begun);
    (void)pthread_cond_destroy(&p->ended);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p->threads);
    free(p->shares);
    free(p);
}

unsigned thread_pool_size(const struct thread_pool *p)
{
    return p == NULL ? 1 : p->n;
}

void parallel_for(struct thread_pool *p, size_t n, parallel_item item, void *ctx)
{
    if (p == NULL || p->n == 1 || n < 2) {
        for (size_t i = 0; i < n; i++) {
            item(ctx, i, 0);
        }
        return;
    }
    struct loop loop = {item, ctx, n};
    p->loop = loop;
    for (unsigned i = 0; i < p->n; i++) {
        atomic_store_explicit(&p->shares[i].next, n * i / p->n, memory_order_relaxed);
        p->shares[i].end = n * (i + 1) / p->n;
    }
    atomic_store_explicit(&p->busy, p->started, memory_order_relaxed);
    (void)pthread_mutex_lock(&p->mutex);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    (void)pthread_cond_broadcast(&p->begun);
    (void)pthread_mutex_unlock(&p->mutex);
    run_items(p, &loop, 0);
    wait_for_end(p);
}
