/* A fixed pool of threads with one operation, parallel_for. The items of a loop may run in any
 * order on any thread, so what an item writes must depend on its number alone: then results do not
 * depend on the number of threads, and kernels need no locks. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct thread_pool;

/* A pool of n >= 1 threads: n - 1 are started, the caller of parallel_for is the other one. Only
 * one thread may use a pool at a time. */
int thread_pool_new(unsigned n, struct thread_pool **ret, struct err *err);
void thread_pool_free(struct thread_pool *p);
unsigned thread_pool_size(const struct thread_pool *p); /* 1 for NULL */
/* Calls item(ctx, i, thread) for all i below n, with `thread` below thread_pool_size, and returns
 * when all are done. Without a pool (NULL) the caller runs the items in order. */
typedef void (*parallel_item)(void *ctx, size_t i, unsigned thread);
void parallel_for(struct thread_pool *p, size_t n, parallel_item item, void *ctx);
