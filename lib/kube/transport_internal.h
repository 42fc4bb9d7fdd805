/* What transport.c does for transfer.c: one request among the others of its connections. No other
 * file includes it. transport.c knows nothing of requests; it calls back. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include <curl/curl.h>

#include "base/err.h"
#include "kube/client.h"
#include "kube/transport.h"

/* A multi handle: connections that may share requests. */
struct pool;

/* One request in a pool; part of its transfer, which fills the first four. */
struct pool_item {
    CURL *easy;
    bool is_stream;                          /* it has no timeout of its own */
    void (*deliver)(struct pool_item *item); /* curl has returned; may free the item */
    void (*cancel)(struct pool_item *item);  /* the transport is being freed: remove and free it */
    /* Kept by transport.c. */
    struct pool *pool;
    bool is_ready; /* in the pool's list of those with something to deliver */
    bool is_done;  /* curl has finished it with `result` */
    CURLcode result;
    TAILQ_ENTRY(pool_item) in_all, in_ready;
};

/* Starts it on the current connections of this kind. `what` is for the message. */
int pool_add(struct kube_transport *t, enum kube_pool kind, struct pool_item *item,
             const char *what, struct err *err);
/* Out of the pool's lists and out of curl. Not from curl's callbacks. */
void pool_remove(struct pool_item *item);
/* From curl's callbacks: deliver is called as soon as curl has returned. */
void pool_item_ready(struct pool_item *item);
/* New requests get other connections than these, which close with the last one that is there. */
void pool_leave(struct pool *p);
void pool_count_connection(struct pool *p);
/* From curl's callback for a body. False: the pool rests, and curl has to offer the bytes again
 * (CURL_WRITEFUNC_PAUSE). */
bool pool_takes(struct pool *p, size_t n_bytes);
/* So many bytes of a body came, or 0: a header. */
void pool_heard(struct pool *p, size_t n_bytes);
