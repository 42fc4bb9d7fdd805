/* curl's multi handles on the loop, see transport.h and transport_internal.h. Edge
 * file: libcurl, libuv. */
#include "kube/transport.h"

#include <assert.h>

#include <uv.h>

#include "base/mem.h"
#include "kube/transport_internal.h"

#define STREAMS_PER_CONNECTION 100L /* the API server's own limit */
/* A pool of KUBE_POOL_FOLLOW rests after so many bytes: at most 6 MiB a second are taken of all
 * logs, and a turn of the loop works on little, however busy the machine is. */
#define PACE_BYTES ((size_t)64 * 1024)
#define PACE_MS 10U

/* One socket that curl wants to know about. Freed when its handle has closed. */
struct socket_watch {
    uv_poll_t poll;
    struct pool *pool;
    curl_socket_t fd;
    LIST_ENTRY(socket_watch) in_pool;
};

/* Connections that may share requests. Freed when its handles have closed. */
struct pool {
    CURLM *multi; /* NULL once it is closing */
    uv_timer_t timer, rest;
    size_t allowance; /* bytes until it rests */
    struct kube_transport *transport;
    enum kube_pool kind;
    TAILQ_HEAD(, pool_item) items; /* all */
    TAILQ_HEAD(, pool_item) ready; /* with something to deliver */
    LIST_HEAD(, socket_watch) sockets;
    unsigned n_handles; /* not yet closed */
    unsigned n_streams; /* of the items */
    uint64_t heard_ns;  /* when a byte came, or its first stream began; of uv_hrtime() */
    LIST_ENTRY(pool) in_transport;
};

#define POOL_COUNT 2

struct kube_transport {
    uv_loop_t *loop;
    struct pool *current[POOL_COUNT]; /* by kind; where new requests go */
    LIST_HEAD(, pool) pools;          /* these, and those that pool_leave replaced */
    bool is_closing;
    void (*on_closed)(void *ctx);
    void *ctx;
    uint64_t connections, bytes_in;
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

/* --- delivery --- */

void pool_item_ready(struct pool_item *item)
{
    if (!item->is_ready) {
        item->is_ready = true;
        TAILQ_INSERT_TAIL(&item->pool->ready, item, in_ready);
    }
}

static void collect_finished(struct pool *p)
{
    int n_left;
    for (CURLMsg *msg; (msg = curl_multi_info_read(p->multi, &n_left)) != NULL;) {
        struct pool_item *item = NULL;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
                                (char **)&item); /* by pool_add */
        if (msg->msg == CURLMSG_DONE) {
            item->is_done = true;
            item->result = msg->data.result;
            pool_item_ready(item);
        }
    }
}

static void on_rested(uv_timer_t *timer);

static void deliver(struct pool *p)
{
    collect_finished(p);
    /* A callback may cancel any transfer, or free the transport. So each step starts from the list;
     * the pool's memory stays until its handles have closed. */
    for (struct pool_item *item; (item = TAILQ_FIRST(&p->ready)) != NULL;) {
        TAILQ_REMOVE(&p->ready, item, in_ready);
        item->is_ready = false;
        item->deliver(item);
    }
    if (p->allowance == 0 && p->multi != NULL && !uv_is_active((uv_handle_t *)&p->rest)) {
        uv_update_time(p->transport->loop); /* it rests from its work, which may have been long */
        (void)uv_timer_start(&p->rest, on_rested, PACE_MS, 0); /* not closing */
    }
}

bool pool_takes(struct pool *p, size_t n_bytes)
{
    const bool takes = p->allowance > 0;
    if (p->kind == KUBE_POOL_FOLLOW) {
        p->allowance -= n_bytes < p->allowance ? n_bytes : p->allowance;
    }
    return takes;
}

static void on_rested(uv_timer_t *timer)
{
    struct pool *p = timer->data;
    p->allowance = PACE_BYTES;
    struct pool_item *item = TAILQ_FIRST(&p->items);
    if (item != NULL) { /* another is the first next time */
        TAILQ_REMOVE(&p->items, item, in_all);
        TAILQ_INSERT_TAIL(&p->items, item, in_all);
    }
    TAILQ_FOREACH (item, &p->items, in_all) {
        (void)curl_easy_pause(item->easy, CURLPAUSE_CONT); /* a transfer that fails reports it */
    }
    deliver(p);
}

/* --- curl and the loop --- */

static void act(struct pool *p, curl_socket_t fd, int events)
{
    if (p->multi == NULL) {
        return;
    }
    int n_running;
    /* Fails only for a bad handle; failures of a transfer are reported by the transfer. */
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
    (void)curl_multi_assign(p->multi, fd, w); /* cannot fail: curl has just named this socket */
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
    *p = (struct pool){
        .multi = multi, .transport = t, .kind = kind, .allowance = PACE_BYTES, .n_handles = 2};
    TAILQ_INIT(&p->items);
    TAILQ_INIT(&p->ready);
    LIST_INIT(&p->sockets);
    LIST_INSERT_HEAD(&t->pools, p, in_transport);
    (void)uv_timer_init(t->loop, &p->timer); /* cannot fail */
    p->timer.data = p;
    (void)uv_timer_init(t->loop, &p->rest); /* nor can this */
    p->rest.data = p;
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

/* Only when it has no items left. */
static void pool_close(struct pool *p)
{
    /* The sockets leave the loop before curl closes them: it does not report all of them. */
    (void)curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, NULL); /* cannot fail */
    for (struct socket_watch *w; (w = LIST_FIRST(&p->sockets)) != NULL;) {
        unwatch(w);
    }
    (void)curl_multi_cleanup(p->multi); /* a good handle, and we are not inside it */
    p->multi = NULL;
    uv_close((uv_handle_t *)&p->timer, on_timer_closed);
    uv_close((uv_handle_t *)&p->rest, on_timer_closed);
}

static void close_if_left(struct pool *p)
{
    if (p != p->transport->current[p->kind] && TAILQ_EMPTY(&p->items)) {
        pool_close(p);
    }
}

void pool_leave(struct pool *p)
{
    struct kube_transport *t = p->transport;
    struct pool *next = p == t->current[p->kind] ? pool_new(t, p->kind) : NULL;
    if (next != NULL) { /* if there is no memory, the old one stays in use */
        t->current[p->kind] = next;
    }
}

/* --- its requests --- */

int pool_add(struct kube_transport *t, enum kube_pool kind, struct pool_item *item,
             const char *what, struct err *err)
{
    struct pool *p = t->current[kind];
    item->pool = p;
    CURLMcode code = CURLM_OUT_OF_MEMORY;
    if (curl_easy_setopt(item->easy, CURLOPT_PRIVATE, item) == CURLE_OK) {
        code = curl_multi_add_handle(p->multi, item->easy);
    }
    if (code != CURLM_OK) {
        return err_set(err, EIO, "%s: %s", what, curl_multi_strerror(code));
    }
    TAILQ_INSERT_TAIL(&p->items, item, in_all);
    if (item->is_stream && p->n_streams++ == 0) {
        p->heard_ns = uv_hrtime();
    }
    return 0;
}

void pool_remove(struct pool_item *item)
{
    struct pool *p = item->pool;
    if (item->is_ready) {
        TAILQ_REMOVE(&p->ready, item, in_ready);
        item->is_ready = false;
    }
    TAILQ_REMOVE(&p->items, item, in_all);
    p->n_streams -= item->is_stream;
    (void)curl_multi_remove_handle(p->multi, item->easy); /* it is there; we are not in curl */
    close_if_left(p);
}

void pool_count_connection(struct pool *p)
{
    p->transport->connections++;
}

void pool_heard(struct pool *p, size_t n_bytes)
{
    p->heard_ns = uv_hrtime();
    p->transport->bytes_in += n_bytes;
}

/* --- silence --- */

static bool is_silent(const struct pool *p, enum kube_pool kind, int64_t silent_ns)
{
    return p->kind == kind && p->n_streams > 0 && uv_hrtime() - p->heard_ns >= (uint64_t)silent_ns;
}

/* A silent pool that was left and has streams that have not ended yet, or NULL. */
static struct pool *find_dead(const struct kube_transport *t, enum kube_pool kind,
                              int64_t silent_ns)
{
    struct pool *p;
    LIST_FOREACH(p, &t->pools, in_transport)
    {
        if (p != t->current[kind] && is_silent(p, kind, silent_ns)) {
            return p;
        }
    }
    return NULL;
}

static void end_streams(struct pool *p)
{
    struct pool_item *item;
    TAILQ_FOREACH (item, &p->items, in_all) {
        if (item->is_stream && !item->is_done) {
            item->is_done = true;
            item->result = CURLE_OPERATION_TIMEDOUT;
            pool_item_ready(item);
        }
    }
    deliver(p);
}

bool kube_transport_check(struct kube_transport *t, enum kube_pool kind, int64_t silent_ns)
{
    /* A callback may free the transport; its memory remains until its handles have closed. */
    for (struct pool *p; !t->is_closing && (p = find_dead(t, kind, silent_ns)) != NULL;) {
        end_streams(p);
    }
    return !t->is_closing && is_silent(t->current[kind], kind, silent_ns);
}

/* --- the transport --- */

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
    if (LIST_EMPTY(&t->pools)) { /* it could not be created */
        free(t);
        on_closed(ctx);
        return;
    }
    for (int i = 0; i < POOL_COUNT; i++) {
        t->current[i] = NULL; /* then a pool closes with its last transfer */
    }
    struct pool *p;
    LIST_FOREACH(p, &t->pools, in_transport)
    {
        for (struct pool_item *item; (item = TAILQ_FIRST(&p->items)) != NULL;) {
            item->cancel(item);
        }
        if (p->multi != NULL) { /* it had no transfers */
            pool_close(p);
        }
    }
}

void kube_transport_count(const struct kube_transport *t, uint64_t *ret_connections,
                          uint64_t *ret_bytes_in)
{
    *ret_connections = t->connections;
    *ret_bytes_in = t->bytes_in;
}
