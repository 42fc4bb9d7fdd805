/* The inside of the transport, shared by transport.c (multi handles, the loop) and transfer.c (one
 * easy handle); nobody else includes it. */
#pragma once

#include <sys/queue.h>

#include <curl/curl.h>
#include <uv.h>

#include "base/buf.h"
#include "kube/transport.h"

/* Connections that may share requests. Freed when its handles have closed. */
struct pool {
    CURLM *multi; /* NULL once it is closing */
    uv_timer_t timer;
    struct kube_transport *transport;
    enum kube_pool kind;
    TAILQ_HEAD(, kube_transfer) transfers; /* all */
    TAILQ_HEAD(, kube_transfer) ready;     /* with something to deliver */
    LIST_HEAD(, socket_watch) sockets;
    unsigned n_handles; /* not yet closed */
    LIST_ENTRY(pool) in_transport;
};

#define POOL_COUNT 2

struct kube_transport {
    uv_loop_t *loop;
    struct pool *current[POOL_COUNT]; /* by kind; where new requests go */
    LIST_HEAD(, pool) pools;          /* these, and the ones that were left */
    bool is_closing;
    void (*on_closed)(void *ctx);
    void *ctx;
    uint64_t connections, bytes_in;
};

struct kube_transfer {
    struct kube_transfer_params params;
    struct pool *pool;
    CURL *easy;
    struct curl_slist *headers, *connect_to;
    char error[CURL_ERROR_SIZE];

    /* The answer. */
    struct kube_response res; /* numbers; its texts are set when it is told */
    struct buf content_type, audit_id, warning;
    struct buf body; /* whole, or what a stream has not delivered yet */
    bool has_headers, is_too_large;
    bool is_open_told;

    bool is_ready; /* in the pool's list */
    bool is_done;  /* curl has finished it with `result` */
    CURLcode result;
    bool *is_gone; /* while a callback runs: set when it is cancelled in there */
    TAILQ_ENTRY(kube_transfer) in_all, in_ready;
};

/* --- transfer.c --- */

/* The easy handle with every option set. */
int transfer_prepare(struct kube_transfer *t, struct err *err);
/* Tells the owner what has come; may free t. */
void transfer_deliver(struct kube_transfer *t);
/* After curl_multi_remove_handle. */
void transfer_release(struct kube_transfer *t);
bool transfer_is_success(const struct kube_transfer *t);

/* --- transport.c --- */

/* Puts it into the pool's list, once. */
void transfer_is_ready(struct kube_transfer *t);
/* Out of the pool's lists and out of curl. */
void transfer_detach(struct kube_transfer *t);
/* New requests get other connections than these. */
void pool_leave(struct pool *p);
