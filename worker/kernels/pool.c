/* Items are dealt by an atomic counter, so a thread that was held up takes fewer. */
#include "worker/kernels/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

struct loop {
    pool_item item;
    void *ctx;
    size_t n;
};

struct pool {
    unsigned n;        /* threads, the caller included */
    unsigned started;
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t begun, ended;
    /* Under the mutex: */
    struct loop loop;
    size_t round;      /* counts loops */
    unsigned busy;     /* started threads that have not finished this round */
    bool stop;
    atomic_size_t next; /* item to be dealt */
};

struct seat { /* what a thread is told; freed by it */
    struct pool *pool;
    unsigned thread;
};

static void run_items(struct pool *p, const struct loop *loop, unsigned thread)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= loop->n) {
            return;
        }
        loop->item(loop->ctx, i, thread);
    }
}

static void *work(void *arg)
{
    struct seat *seat = arg;
    struct pool *p = seat->pool;
    unsigned thread = seat->thread;
    size_t seen = 0;
    free(seat);
    (void)pthread_mutex_lock(&p->mutex); /* these cannot fail: a default mutex, held correctly */
    for (;;) {
        while (!p->stop && p->round == seen) {
            (void)pthread_cond_wait(&p->begun, &p->mutex);
        }
        if (p->stop) {
            break;
        }
        seen = p->round;
        struct loop loop = p->loop;
        (void)pthread_mutex_unlock(&p->mutex);
        run_items(p, &loop, thread);
        (void)pthread_mutex_lock(&p->mutex);
        if (--p->busy == 0) {
            (void)pthread_cond_signal(&p->ended);
        }
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

int pool_new(unsigned n, struct pool **ret, struct err *err)
{
    assert(n >= 1);
    struct pool *p = xnew(struct pool);
    p->n = n;
    p->threads = xnew_array(pthread_t, n);
    (void)pthread_mutex_init(&p->mutex, NULL); /* default attributes: cannot fail */
    (void)pthread_cond_init(&p->begun, NULL);
    (void)pthread_cond_init(&p->ended, NULL);
    for (unsigned i = 1; i < n; i++) {
        struct seat *seat = xnew(struct seat);
        *seat = (struct seat){p, i};
        int code = pthread_create(&p->threads[i], NULL, work, seat);
        if (code != 0) {
            free(seat);
            pool_free(p);
            return err_set_errno(err, code, "start thread %u of %u", i + 1, n);
        }
        p->started++;
    }
    *ret = p;
    return 0;
}

void pool_free(struct pool *p)
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
    free(p);
}

unsigned pool_threads(const struct pool *p)
{
    return p == NULL ? 1 : p->n;
}

void parallel_for(struct pool *p, size_t n, pool_item item, void *ctx)
{
    if (p == NULL || p->n == 1 || n < 2) {
        for (size_t i = 0; i < n; i++) {
            item(ctx, i, 0);
        }
        return;
    }
    struct loop loop = {item, ctx, n};
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    (void)pthread_mutex_lock(&p->mutex);
    p->loop = loop;
    p->busy = p->started;
    p->round++;
    (void)pthread_cond_broadcast(&p->begun);
    (void)pthread_mutex_unlock(&p->mutex);
    run_items(p, &loop, 0);
    (void)pthread_mutex_lock(&p->mutex);
    while (p->busy > 0) {
        (void)pthread_cond_wait(&p->ended, &p->mutex);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}
