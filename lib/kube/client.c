/* Requests and streams, see client.h: the queue and retries on top of session.h and transfer.h.
 * Edge file: libuv's timer and clock.
 *
 *   kube_call --> WAITING --due, and room--> RUNNING --final answer--> on_done, freed
 *                    ^                          |
 *                    '--------- retry ---------'
 *
 * One timer starts what is due, so that nothing happens inside kube_call itself. */
#include "kube/client.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <sys/queue.h>

#include <uv.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/retry.h"
#include "kube/session.h"
#include "kube/transfer.h"
#include "kube/transport.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S (1000 * NS_PER_MS)
#define GUARD_NS (100 * NS_PER_MS) /* until a request that may not be sent is examined again */
#define DEFAULT_TIMEOUT_NS (30 * NS_PER_S)
#define DEFAULT_SILENCE_NS                                                                         \
    (15 * NS_PER_S) /* with a third until it is noticed, and half for the answer: 27 s */
#define N_POOLS (KUBE_POOL_FOLLOW + 1)
#define DEFAULT_MAX_BYTES ((size_t)16 * 1024 * 1024)

struct kube_call {
    struct kube_client *client;
    struct kube_request req;
    struct kube_call_options options;
    kube_done_fn on_done;
    void *ctx;
    struct kube_retry retry;
    int64_t due_ns;
    int64_t sent_ns;
    struct kube_transfer *transfer; /* NULL: waiting */
    unsigned generation;            /* of the credentials that it was sent with */
    TAILQ_ENTRY(kube_call) link;
};

struct kube_stream {
    struct kube_client *client;
    struct kube_request req;
    enum kube_pool pool;
    struct kube_stream_ops ops;
    void *ctx;
    struct kube_transfer *transfer; /* NULL: waiting for the next iteration of the loop */
    unsigned generation;            /* of the credentials that it was sent with */
    bool is_refreshed;              /* sent again with new ones */
    bool is_open;
    int64_t sent_ns;
    unsigned outage; /* the client's, when it opened */
    TAILQ_ENTRY(kube_stream) link;
};

/* Asks the connections of a kind whether they live. */
struct health {
    struct kube_client *client;
    struct kube_call *call; /* NULL: not asked */
};

struct kube_client {
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_timer_t health_timer;
    struct health health[N_POOLS]; /* by enum kube_pool */
    int64_t silence_ns;
    struct kube_session *session;          /* NULL: being freed */
    unsigned in_flight[KUBE_N_PRIORITIES]; /* calls */
    uint64_t seed;
    bool is_closing;
    bool is_away;       /* the server did not listen at the latest request */
    unsigned outages;   /* how often the server became unreachable */
    unsigned n_handles; /* the timers, the session */
    TAILQ_HEAD(, kube_call) waiting, running;
    TAILQ_HEAD(, kube_stream) streams;
    struct kube_client_stats stats;
    bool (*may_write)(void *ctx); /* NULL: always */
    void *guard_ctx;
};

static void on_timer(uv_timer_t *timer);

static int64_t now(void)
{
    return (int64_t)uv_hrtime();
}

/* --- life --- */

static void on_ready(void *ctx);
static void health_start(struct kube_client *c, int64_t silence_ns);

/* A user in the URL is left out. client_server() has accepted the URL. */
static void put_host(const char *url, char *dst, size_t size)
{
    const char *host = strstr(url, "://") + strlen("://"), *end = host + strcspn(host, "/?#");
    const char *at = memrchr(host, '@', (size_t)(end - host));
    host = at == NULL ? host : at + 1;
    text_put(dst, size, "%.*s", (int)(end - host), host);
}

int kube_client_new(const struct kube_client_params *params, struct kube_client **ret,
                    struct err *err)
{
    struct kube_client *c = xnew(struct kube_client);
    c->loop = params->loop;
    c->seed = params->seed;
    TAILQ_INIT(&c->waiting);
    TAILQ_INIT(&c->running);
    TAILQ_INIT(&c->streams);
    int r = kube_session_new(params, on_ready, c, &c->session, err);
    if (r < 0) {
        free(c);
        return r;
    }
    put_host(params->config->server, c->stats.host, sizeof(c->stats.host));
    (void)uv_timer_init(c->loop, &c->timer); /* cannot fail */
    c->timer.data = c;
    health_start(c, params->silence_ns == 0 ? DEFAULT_SILENCE_NS : params->silence_ns);
    c->n_handles = 3;
    *ret = c;
    return 0;
}

static void release_handle(void *ctx)
{
    struct kube_client *c = ctx;
    if (--c->n_handles == 0) {
        free(c);
    }
}

static void on_timer_closed(uv_handle_t *handle)
{
    release_handle(handle->data);
}

void kube_client_free(struct kube_client *c)
{
    if (c == NULL) {
        return;
    }
    c->is_closing = true;
    for (struct kube_call *call; (call = TAILQ_FIRST(&c->waiting)) != NULL;) {
        kube_call_cancel(call);
    }
    for (struct kube_call *call; (call = TAILQ_FIRST(&c->running)) != NULL;) {
        kube_call_cancel(call);
    }
    for (struct kube_stream *s; (s = TAILQ_FIRST(&c->streams)) != NULL;) {
        kube_stream_cancel(s);
    }
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    uv_close((uv_handle_t *)&c->health_timer, on_timer_closed);
    kube_session_free(take_ptr(c->session), release_handle);
}

struct uv_loop_s *kube_client_loop(const struct kube_client *c)
{
    return c->loop;
}

void kube_client_set_guard(struct kube_client *c, bool (*may_write)(void *ctx), void *ctx)
{
    c->may_write = may_write;
    c->guard_ctx = ctx;
}

void kube_client_get_stats(const struct kube_client *c, struct kube_client_stats *ret)
{
    *ret = c->stats;
    kube_transport_count(kube_session_transport(c->session), &ret->connections, &ret->bytes_in);
}

/* --- what calls and streams share --- */

/* Calls of other priorities do not count; the rest queues. */
static bool has_room(const struct kube_call *call)
{
    static const unsigned most[KUBE_N_PRIORITIES] = {
        [KUBE_NORMAL] = 32, [KUBE_PROMPT] = 8, [KUBE_URGENT] = UINT_MAX};
    return call->client->in_flight[call->req.priority] < most[call->req.priority];
}

static bool may_write(const struct kube_client *c)
{
    return c->may_write == NULL || c->may_write(c->guard_ctx);
}

static bool needs_guard(const struct kube_call *call)
{
    return call->req.priority != KUBE_URGENT && call->req.method != KUBE_GET;
}

/* Starts the timer for the waiting call that is due first. Calls that wait for room need no timer:
 * an answer makes room. */
static void arm(struct kube_client *c)
{
    if (c->is_closing) {
        return;
    }
    const int64_t now_ns = now();
    const bool is_shut = !may_write(c);
    int64_t due_ns = INT64_MAX;
    struct kube_call *call;
    TAILQ_FOREACH (call, &c->waiting, link) {
        const int64_t call_ns = is_shut && needs_guard(call) ? now_ns + GUARD_NS : call->due_ns;
        due_ns = has_room(call) && call_ns < due_ns ? call_ns : due_ns;
    }
    struct kube_stream *s;
    TAILQ_FOREACH (s, &c->streams, link) {
        due_ns = s->transfer == NULL ? INT64_MIN : due_ns;
    }
    if (due_ns == INT64_MAX || kube_session_is_waiting(c->session, now_ns)) {
        (void)uv_timer_stop(&c->timer); /* cannot fail */
        return;
    }
    const int64_t wait_ns = due_ns <= now_ns ? 0 : due_ns - now_ns;
    uv_update_time(c->loop); /* timers count from the loop's cached time */
    (void)uv_timer_start(&c->timer, on_timer, (uint64_t)((wait_ns + NS_PER_MS - 1) / NS_PER_MS),
                         0); /* fails only for a closing handle */
}

static int start(struct kube_client *c, struct kube_transfer_params *params,
                 struct kube_transfer **ret, unsigned *ret_generation, struct err *err)
{
    const int r = kube_session_start(c->session, now(), params, ret, ret_generation, err);
    c->stats.requests += r == 0;
    return r;
}

static struct kube_response no_answer(enum kube_failure failure, const char *text)
{
    return (struct kube_response){.failure = failure,
                                  .failure_text = text,
                                  .content_type = "",
                                  .body = "",
                                  .retry_after_s = -1,
                                  .date_unix_ms = -1,
                                  .warning = ""};
}

static void notice_outage(struct kube_client *c, const struct kube_response *res);

/* --- calls --- */

struct kube_call *kube_call(struct kube_client *c, struct kube_request *req,
                            const struct kube_call_options *options, kube_done_fn on_done,
                            void *ctx)
{
    assert(!c->is_closing);
    struct kube_call *call = xnew(struct kube_call);
    *call = (struct kube_call){
        .client = c, .req = *req, .on_done = on_done, .ctx = ctx, .due_ns = INT64_MIN};
    *req = (struct kube_request){0};
    if (options != NULL) {
        call->options = *options;
    }
    struct kube_call_options *o = &call->options;
    o->max_bytes = o->max_bytes == 0 ? DEFAULT_MAX_BYTES : o->max_bytes;
    o->timeout_ns = o->timeout_ns == 0 ? DEFAULT_TIMEOUT_NS : o->timeout_ns;
    o->max_tries = o->max_tries == 0 ? KUBE_RETRY_TRIES : o->max_tries;
    kube_retry_init(&call->retry, o->max_tries, c->seed++);
    TAILQ_INSERT_TAIL(&c->waiting, call, link);
    c->stats.queued++;
    arm(c);
    return call;
}

static void call_stops_waiting(struct kube_call *call)
{
    TAILQ_REMOVE(&call->client->waiting, call, link);
    call->client->stats.queued--;
}

static void call_stops_running(struct kube_call *call)
{
    struct kube_client *c = call->client;
    TAILQ_REMOVE(&c->running, call, link);
    c->in_flight[call->req.priority]--;
    c->stats.in_flight--;
    call->transfer = NULL;
}

static void call_free(struct kube_call *call)
{
    kube_request_done(&call->req);
    free(call);
}

void kube_call_cancel(struct kube_call *call)
{
    if (call == NULL) {
        return;
    }
    struct kube_client *c = call->client;
    if (call->transfer != NULL) {
        kube_transfer_cancel(call->transfer);
        call_stops_running(call);
    } else {
        call_stops_waiting(call);
    }
    call_free(call);
    arm(c);
}

/* The call is no longer in a list. */
static void call_end(struct kube_call *call, int r, const struct kube_response *res,
                     const struct err *err)
{
    call->client->stats.failures += r < 0;
    call->on_done(call->ctx, r, res, err);
    call_free(call);
}

static void on_answer(void *ctx, const struct kube_response *res)
{
    struct kube_call *call = ctx;
    struct kube_client *c = call->client;
    call_stops_running(call);
    kube_traffic_count(&c->stats.traffic, &call->req, res, now() - call->sent_ns);
    kube_session_heed(c->session, res);
    int64_t wait_ns = 0;
    const bool is_worth_it = kube_session_learn(c->session, now(), res, call->generation);
    const enum kube_verdict verdict = kube_retry_decide(&call->retry, res, &wait_ns);
    if (verdict == KUBE_RETRY_WAIT || (verdict == KUBE_RETRY_REFRESH && is_worth_it)) {
        if (call->options.on_again != NULL) {
            call->options.on_again(call->ctx);
        }
        call->due_ns = now() + wait_ns;
        TAILQ_INSERT_TAIL(&c->waiting, call, link);
        c->stats.queued++;
        c->stats.retries++;
    } else {
        struct err err = {0};
        const int r = kube_check(&call->req, res, &err);
        call_end(call, r, res, &err);
    }
    notice_outage(c, res);
    arm(c);
}

static void on_call_data(void *ctx, const char *data, size_t len)
{
    const struct kube_call *call = ctx;
    call->options.on_data(call->ctx, data, len);
}

static void call_start(struct kube_call *call)
{
    struct kube_client *c = call->client;
    call_stops_waiting(call);
    struct kube_transfer_params params = {.req = &call->req,
                                          .pool = call->options.pool,
                                          .max_bytes = call->options.max_bytes,
                                          .timeout_ns = call->options.timeout_ns,
                                          .on_data =
                                              call->options.on_data == NULL ? NULL : on_call_data,
                                          .on_done = on_answer,
                                          .ctx = call};
    struct err err = {0};
    call->sent_ns = now();
    const int r = start(c, &params, &call->transfer, &call->generation, &err);
    if (r < 0) {
        const struct kube_response res = no_answer(KUBE_LOCAL, err.msg);
        call_end(call, r, &res, &err);
        return;
    }
    TAILQ_INSERT_TAIL(&c->running, call, link);
    c->in_flight[call->req.priority]++;
    c->stats.in_flight++;
}

/* The next call to start: by priority, then in the order of kube_call. */
static struct kube_call *next_call(const struct kube_client *c, int64_t now_ns)
{
    const bool is_shut = !may_write(c);
    struct kube_call *call, *first = NULL;
    TAILQ_FOREACH (call, &c->waiting, link) {
        if (call->due_ns > now_ns || !has_room(call) || (is_shut && needs_guard(call))) {
            continue;
        }
        if (first == NULL || call->req.priority > first->req.priority) {
            first = call;
        }
    }
    return first;
}

/* --- streams --- */

struct kube_stream *kube_stream_open(struct kube_client *c, struct kube_request *req,
                                     enum kube_pool pool, const struct kube_stream_ops *ops,
                                     void *ctx)
{
    assert(!c->is_closing);
    struct kube_stream *s = xnew(struct kube_stream);
    *s = (struct kube_stream){.client = c, .req = *req, .pool = pool, .ops = *ops, .ctx = ctx};
    *req = (struct kube_request){0};
    TAILQ_INSERT_TAIL(&c->streams, s, link);
    c->stats.streams++;
    arm(c);
    return s;
}

static void stream_detach(struct kube_stream *s)
{
    TAILQ_REMOVE(&s->client->streams, s, link);
    s->client->stats.streams--;
}

static void stream_free(struct kube_stream *s)
{
    kube_request_done(&s->req);
    free(s);
}

static void stream_over(struct kube_stream *s, int r, const struct kube_response *res,
                        const struct err *err)
{
    stream_detach(s);
    s->client->stats.failures += r < 0;
    s->ops.on_end(s->ctx, r, res, err);
    stream_free(s);
}

/* A stream that was open before the latest outage. */
static struct kube_stream *next_left_over(const struct kube_client *c)
{
    struct kube_stream *s;
    TAILQ_FOREACH (s, &c->streams, link) {
        if (s->is_open && s->outage != c->outages) {
            return s;
        }
    }
    return NULL;
}

/* A server that shuts down stops listening at once, but leaves its streams open and silent for up
 * to a minute. When it is back, or another replaces it, those streams have ended. */
static void notice_outage(struct kube_client *c, const struct kube_response *res)
{
    if (res->failure == KUBE_UNREACHABLE) {
        c->outages += !c->is_away;
        c->is_away = true;
    } else if (res->failure == KUBE_ANSWERED && c->is_away) {
        c->is_away = false;
        const struct kube_response lost =
            no_answer(KUBE_BROKEN, "the server stopped and came back");
        for (struct kube_stream *s; (s = next_left_over(c)) != NULL;) {
            struct err err = {0};
            const int r = kube_check(&s->req, &lost, &err);
            kube_transfer_cancel(s->transfer);
            stream_over(s, r, &lost, &err);
        }
    }
}

static void stream_end(struct kube_stream *s, void (*end_transfer)(struct kube_transfer *))
{
    if (s->transfer != NULL) {
        end_transfer(s->transfer);
    }
    stream_detach(s);
    stream_free(s);
}

void kube_stream_cancel(struct kube_stream *s)
{
    if (s != NULL) {
        stream_end(s, kube_transfer_cancel);
    }
}

void kube_stream_abandon(struct kube_stream *s)
{
    stream_end(s, kube_transfer_abandon);
}

static void on_stream_open(void *ctx, const struct kube_response *res)
{
    struct kube_stream *s = ctx;
    struct kube_client *c = s->client;
    s->is_open = true;
    s->outage = c->outages;
    kube_session_heed(c->session, res);
    kube_traffic_count(&c->stats.traffic, &s->req, res, now() - s->sent_ns);
    if (s->ops.on_open != NULL) {
        s->ops.on_open(s->ctx, res); /* may free s */
    }
    notice_outage(c, res);
}

static void on_stream_data(void *ctx, const char *data, size_t len)
{
    const struct kube_stream *s = ctx;
    if (s->ops.on_data != NULL) {
        s->ops.on_data(s->ctx, data, len);
    }
}

static void on_stream_done(void *ctx, const struct kube_response *res)
{
    struct kube_stream *s = ctx;
    struct kube_client *c = s->client;
    if (!s->is_open) { /* its headers were counted, its end is not an answer of the server */
        kube_traffic_count(&c->stats.traffic, &s->req, res, now() - s->sent_ns);
    }
    if (kube_session_learn(c->session, now(), res, s->generation) && !s->is_refreshed) {
        s->is_refreshed = true;
        s->is_open = false;
        s->transfer = NULL;
        c->stats.retries++;
        arm(c);
        return;
    }
    struct err err = {0};
    const int r = kube_check(&s->req, res, &err);
    stream_over(s, r, res, &err);
    notice_outage(c, res);
    arm(c);
}

static void stream_start(struct kube_stream *s)
{
    struct kube_transfer_params params = {.req = &s->req,
                                          .pool = s->pool,
                                          .is_stream = true,
                                          .on_open = on_stream_open,
                                          .on_data = on_stream_data,
                                          .on_done = on_stream_done,
                                          .ctx = s};
    struct err err = {0};
    s->sent_ns = now();
    const int r = start(s->client, &params, &s->transfer, &s->generation, &err);
    if (r < 0) {
        const struct kube_response res = no_answer(KUBE_LOCAL, err.msg);
        stream_over(s, r, &res, &err);
    }
}

static struct kube_stream *next_stream(const struct kube_client *c)
{
    struct kube_stream *s;
    TAILQ_FOREACH (s, &c->streams, link) {
        if (s->transfer == NULL) {
            return s;
        }
    }
    return NULL;
}

/* --- silence --- */

/* The timer asks again: after a failure at once (connection refused, no credentials)
 * the silence continues. */
static void on_health(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r; /* any answer is one, and after a time-out the transport has left these connections */
    (void)res;
    (void)err;
    struct health *h = ctx;
    h->call = NULL;
}

/* Any answer will do, also a refusal. */
static void check_health(struct health *h)
{
    struct kube_client *c = h->client;
    const enum kube_pool kind = (enum kube_pool)(h - c->health);
    if (c->is_closing || h->call != NULL ||
        !kube_transport_check(kube_session_transport(c->session), kind, c->silence_ns)) {
        return;
    }
    const struct kube_call_options once = {
        .pool = kind, .timeout_ns = c->silence_ns / 2, .max_tries = 1};
    struct kube_request req;
    kube_request_raw("/version", "ask whether the connection lives", &req);
    req.priority = KUBE_URGENT;
    h->call = kube_call(c, &req, &once, on_health, h);
}

static void on_health_timer(uv_timer_t *timer)
{
    struct kube_client *c = timer->data;
    for (size_t i = 0; i < N_POOLS; i++) {
        check_health(&c->health[i]);
    }
}

static void health_start(struct kube_client *c, int64_t silence_ns)
{
    const uint64_t every_ms = (uint64_t)(silence_ns / 3 / NS_PER_MS);
    c->silence_ns = silence_ns;
    for (size_t i = 0; i < N_POOLS; i++) {
        c->health[i].client = c;
    }
    (void)uv_timer_init(c->loop, &c->health_timer); /* cannot fail */
    c->health_timer.data = c;
    /* Fails only for a closing handle. */
    (void)uv_timer_start(&c->health_timer, on_health_timer, every_ms, every_ms);
    uv_unref((uv_handle_t *)&c->health_timer); /* it keeps no loop going */
}

/* False: its credentials are on their way. */
static bool may_send(struct kube_client *c)
{
    return !c->is_closing && kube_session_prepare(c->session, now());
}

static void on_ready(void *ctx)
{
    arm(ctx);
}

static void on_timer(uv_timer_t *timer)
{
    struct kube_client *c = timer->data;
    const int64_t now_ns = now();
    /* If a request cannot be started, its callback may cancel others or free the client. The
     * client's memory stays until its handles have closed, with empty lists. */
    for (struct kube_call *call; (call = next_call(c, now_ns)) != NULL && may_send(c);) {
        call_start(call);
    }
    for (struct kube_stream *s; (s = next_stream(c)) != NULL && may_send(c);) {
        stream_start(s);
    }
    arm(c);
}
