/* curl's multi handles on the loop, see transport.h. Edge file: libcurl, libuv. */
#include "kube/transport.h"

#include <assert.h>

#include "base/mem.h"
#include "kube/transport_parts.h"

#define STREAMS_PER_CONNECTION 100L /* the API server's own limit */

/* One socket that curl wants to know about. Freed when its handle has closed. */
struct socket_watch {
    uv_poll_t poll;
    struct pool *pool;
    curl_socket_t fd;
    LIST_ENTRY(socket_watch) in_pool;
};

static void release_handle(struct pool *p)
{
    assert(p->n_handles > 0);
    if (--p->n_handles > 0 || p->multi != NULL) {
        return;
    }
    struct kube_transport *t = p->transport;
    LIST_REMOVE(p, in_transport);
    free(p);
    if (t->is_closing && LIST_EMPTY(&t->pools)) {
        void (*on_closed)(void *ctx) = t->on_closed;
        void *ctx = t->ctx;
        free(t);
        on_closed(ctx);
    }
}

static void close_if_left(struct pool *p);

/* --- delivery --- */

void transfer_is_ready(struct kube_transfer *t)
{
    if (!t->is_ready) {
        t->is_ready = true;
        TAILQ_INSERT_TAIL(&t->pool->ready, t, in_ready);
    }
}

void transfer_detach(struct kube_transfer *t)
{
    if (t->is_ready) {
        TAILQ_REMOVE(&t->pool->ready, t, in_ready);
        t->is_ready = false;
    }
    TAILQ_REMOVE(&t->pool->transfers, t, in_all);
    (void)curl_multi_remove_handle(t->pool->multi, t->easy); /* it is there; we are not in curl */
    close_if_left(t->pool);
}

static void collect_finished(struct pool *p)
{
    int n_left;
    for (CURLMsg *msg; (msg = curl_multi_info_read(p->multi, &n_left)) != NULL;) {
        struct kube_transfer *t = NULL;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t); /* always set */
        if (msg->msg == CURLMSG_DONE) {
            t->is_done = true;
            t->result = msg->data.result;
            transfer_is_ready(t);
        }
    }
}

static void deliver(struct pool *p)
{
    collect_finished(p);
    /* A callback may cancel any transfer, or free the transport: the list is all that is trusted,
     * and the pool's memory lives till its handles have closed. */
    for (struct kube_transfer *t; (t = TAILQ_FIRST(&p->ready)) != NULL;) {
        TAILQ_REMOVE(&p->ready, t, in_ready);
        t->is_ready = false;
        transfer_deliver(t);
    }
}

/* --- curl and the loop --- */

static void act(struct pool *p, curl_socket_t fd, int events)
{
    if (p->multi == NULL) {
        return;
    }
    int n_running;
    /* Fails only for a bad handle; what goes wrong with a transfer is told by the transfer. */
    (void)curl_multi_socket_action(p->multi, fd, events, &n_running);
    deliver(p);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_watch *w = poll->data;
    const int flags = status < 0 ? CURL_CSELECT_ERR
                                 : ((events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0) |
                                       ((events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0);
    act(w->pool, w->fd, flags);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_watch_closed(uv_handle_t *handle)
{
    struct socket_watch *w = handle->data;
    struct pool *p = w->pool;
    free(w);
    release_handle(p);
}

static void unwatch(struct socket_watch *w)
{
    LIST_REMOVE(w, in_pool);
    uv_close((uv_handle_t *)&w->poll, on_watch_closed); /* stops at once: curl closes the socket */
}

static struct socket_watch *watch(struct pool *p, curl_socket_t fd)
{
    struct socket_watch *w = xnew(struct socket_watch);
    w->pool = p;
    w->fd = fd;
    if (uv_poll_init_socket(p->transport->loop, &w->poll, fd) < 0) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    p->n_handles++;
    LIST_INSERT_HEAD(&p->sockets, w, in_pool);
    (void)curl_multi_assign(p->multi, fd, w); /* curl has just told us of this socket */
    return w;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    (void)easy;
    struct pool *p = ctx;
    struct socket_watch *w = socket_ctx;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL) {
            unwatch(w);
            (void)curl_multi_assign(p->multi, fd, NULL); /* forgotten anyway */
        }
        return 0;
    }
    if (w == NULL && (w = watch(p, fd)) == NULL) {
        return -1;
    }
    const int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                       ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, on_poll) < 0 ? -1 : 0;
}

static int on_timeout_wanted(CURLM *multi, long timeout_ms, void *ctx)
{
    (void)multi;
    struct pool *p = ctx;
    if (timeout_ms < 0) {
        return uv_timer_stop(&p->timer);
    }
    return uv_timer_start(&p->timer, on_timer, (uint64_t)timeout_ms, 0);
}

/* --- life --- */

/* NULL: no memory. */
static struct pool *pool_new(struct kube_transport *t, enum kube_pool kind)
{
    CURLM *multi = curl_multi_init();
    if (multi == NULL) {
        return NULL;
    }
    struct pool *p = xnew(struct pool);
    *p = (struct pool){.multi = multi, .transport = t, .kind = kind, .n_handles = 1};
    TAILQ_INIT(&p->transfers);
    TAILQ_INIT(&p->ready);
    LIST_INIT(&p->sockets);
    LIST_INSERT_HEAD(&t->pools, p, in_transport);
    (void)uv_timer_init(t->loop, &p->timer); /* cannot fail */
    p->timer.data = p;
    /* Plain settings of a new handle: none of them can fail. */
    (void)curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    (void)curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
    (void)curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    (void)curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    (void)curl_multi_setopt(p->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_PER_CONNECTION);
    return p;
}

static void on_timer_closed(uv_handle_t *handle)
{
    release_handle(handle->data);
}

/* It has no transfers any more. */
static void pool_close(struct pool *p)
{
    (void)curl_multi_cleanup(p->multi); /* a good handle, and we are not inside it */
    p->multi = NULL;
    for (struct socket_watch *w; (w = LIST_FIRST(&p->sockets)) != NULL;) {
        unwatch(w); /* of idle connections that curl closed without a word */
    }
    uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}

static void close_if_left(struct pool *p)
{
    if (p != p->transport->current[p->kind] && TAILQ_EMPTY(&p->transfers)) {
        pool_close(p);
    }
}

void pool_leave(struct pool *p)
{
    struct kube_transport *t = p->transport;
    struct pool *next = p == t->current[p->kind] ? pool_new(t, p->kind) : NULL;
    if (next != NULL) { /* without memory the old one has to do */
        t->current[p->kind] = next;
        close_if_left(p);
    }
}

static void no_owner(void *ctx)
{
    (void)ctx;
}

int kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return err_set(err, ENOMEM, "libcurl cannot be started");
    }
    struct kube_transport *t = xnew(struct kube_transport);
    t->loop = loop;
    LIST_INIT(&t->pools);
    for (enum kube_pool kind = 0; kind < POOL_COUNT; kind++) {
        t->current[kind] = pool_new(t, kind);
        if (t->current[kind] == NULL) {
            kube_transport_free(t, no_owner, NULL);
            return err_set(err, ENOMEM, "libcurl cannot make a handle");
        }
    }
    *ret = t;
    return 0;
}

void kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx)
{
    t->is_closing = true;
    t->on_closed = on_closed;
    t->ctx = ctx;
    if (LIST_EMPTY(&t->pools)) { /* it could not be made */
        free(t);
        on_closed(ctx);
        return;
    }
    for (int i = 0; i < POOL_COUNT; i++) {
        t->current[i] = NULL; /* a pool that is left closes with its last transfer */
    }
    struct pool *p;
    LIST_FOREACH(p, &t->pools, in_transport)
    {
        for (struct kube_transfer *transfer; (transfer = TAILQ_FIRST(&p->transfers)) != NULL;) {
            kube_transfer_cancel(transfer);
        }
        if (p->multi != NULL) { /* it had none */
            pool_close(p);
        }
    }
}

uint64_t kube_transport_connections(const struct kube_transport *t)
{
    return t->connections;
}

uint64_t kube_transport_bytes_in(const struct kube_transport *t)
{
    return t->bytes_in;
}

int kube_transfer_start(struct kube_transport *t, const struct kube_transfer_params *params,
                        struct kube_transfer **ret, struct err *err)
{
    struct kube_transfer *transfer = xnew(struct kube_transfer);
    transfer->params = *params;
    transfer->pool = t->current[params->pool];
    const int r = transfer_prepare(transfer, err);
    if (r < 0) {
        transfer_release(transfer);
        return r;
    }
    const CURLMcode code = curl_multi_add_handle(transfer->pool->multi, transfer->easy);
    if (code != CURLM_OK) {
        transfer_release(transfer);
        return err_set(err, EIO, "%s: %s", params->req->what, curl_multi_strerror(code));
    }
    TAILQ_INSERT_TAIL(&transfer->pool->transfers, transfer, in_all);
    *ret = transfer;
    return 0;
}

void kube_transfer_cancel(struct kube_transfer *t)
{
    if (t->is_gone != NULL) {
        *t->is_gone = true;
    }
    transfer_detach(t);
    transfer_release(t);
}

void kube_transfer_abandon(struct kube_transfer *t)
{
    pool_leave(t->pool);
    kube_transfer_cancel(t);
}
