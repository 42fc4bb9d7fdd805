/* A fixed pool of threads with one operation. The items of a loop may run in any order on any
 * thread, so what an item writes must depend on its number alone: then results do not depend on the
 * number of threads. No locks in kernels. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct thread_pool;

/* The caller is one of the n >= 1 threads: n - 1 are started. A pool is used by one caller at a
 * time. */
int thread_pool_new(unsigned n, struct thread_pool **ret, struct err *err);
void thread_pool_free(struct thread_pool *p);
unsigned thread_pool_size(const struct thread_pool *p); /* 1 for NULL */
/* item(ctx, i, thread) for all i below n, `thread` below thread_pool_size; returns when all are done.
 * Without a pool (NULL) the caller runs them in order. */
typedef void (*parallel_item)(void *ctx, size_t i, unsigned thread);
void parallel_for(struct thread_pool *p, size_t n, parallel_item item, void *ctx);
