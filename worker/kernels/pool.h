/* A fixed pool of threads with one operation. The items of a loop may run in any order on any
 * thread, so what an item writes must depend on its number alone: then results do not depend on the
 * number of threads. No locks in kernels. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct pool;

/* The caller is one of the n >= 1 threads: n - 1 are started. A pool is used by one caller at a
 * time. */
int pool_new(unsigned n, struct pool **ret, struct err *err);
void pool_free(struct pool *p);
unsigned pool_threads(const struct pool *p); /* 1 for NULL */
/* item(ctx, i, thread) for all i below n, `thread` below pool_threads; returns when all are done.
 * Without a pool (NULL) the caller runs them in order. */
typedef void (*pool_item)(void *ctx, size_t i, unsigned thread);
void parallel_for(struct pool *p, size_t n, pool_item item, void *ctx);
