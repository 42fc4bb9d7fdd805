/* A reflector on a client, see informer.h. Edge file: libuv's timer and clock. */
#include "kube/informer.h"

#include <uv.h>

#include "base/mem.h"

#define NS_PER_MS INT64_C(1000000)
#define LIST_TIMEOUT_NS (60 * INT64_C(1000000000))

struct kube_informer {
    struct kube_client *client;
    struct kube_reflector *reflector;
    uv_timer_t timer;
    struct kube_call *list;    /* NULL: no request in flight */
    struct kube_stream *watch; /* the same */
    struct kube_informer_stats stats;
};

static void step(struct kube_informer *i);

static int64_t now(void)
{
    return (int64_t)uv_hrtime();
}

static void on_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void on_list_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r; /* the reflector reads the response itself */
    (void)err;
    struct kube_informer *i = ctx;
    i->list = NULL;
    kube_reflector_list_done(i->reflector, now(), res);
    step(i);
}

static void on_open(void *ctx, const struct kube_response *res)
{
    (void)res;
    struct kube_informer *i = ctx;
    kube_reflector_watch_opened(i->reflector, now());
    step(i);
}

static void on_data(void *ctx, const char *data, size_t len)
{
    struct kube_informer *i = ctx;
    if (kube_reflector_watch_data(i->reflector, now(), data, len) < 0) {
        kube_stream_cancel(i->watch);
        i->watch = NULL;
    }
    step(i);
}

static void on_end(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r;
    (void)err;
    struct kube_informer *i = ctx;
    i->watch = NULL;
    kube_reflector_watch_end(i->reflector, now(), res);
    step(i);
}

static const struct kube_stream_ops watch_ops = {
    .on_open = on_open, .on_data = on_data, .on_end = on_end};

static void wait_until(struct kube_informer *i, int64_t deadline_ns)
{
    if (deadline_ns == INT64_MAX) {
        (void)uv_timer_stop(&i->timer); /* cannot fail */
        return;
    }
    const int64_t now_ns = now();
    const int64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uv_update_time(kube_client_loop(i->client)); /* timers count from the loop's cached time */
    (void)uv_timer_start(&i->timer, on_timer, (uint64_t)((wait_ns + NS_PER_MS - 1) / NS_PER_MS),
                         0); /* fails only for a closing handle */
}

static void step(struct kube_informer *i)
{
    static const struct kube_call_options once = {
        .max_bytes = KUBE_LIST_MAX, .timeout_ns = LIST_TIMEOUT_NS, .max_tries = 1};
    for (;;) {
        struct kube_request req;
        int64_t deadline_ns;
        switch (kube_reflector_next(i->reflector, now(), &req, &deadline_ns)) {
        case KUBE_REFLECTOR_LIST:
            i->stats.lists++;
            i->list = kube_call(i->client, &req, &once, on_list_done, i);
            break;
        case KUBE_REFLECTOR_WATCH:
            i->stats.watches++;
            i->watch = kube_stream_open(i->client, &req, KUBE_POOL_ORDINARY, &watch_ops, i);
            break;
        case KUBE_REFLECTOR_STOP:
            kube_stream_cancel(i->watch);
            i->watch = NULL;
            break;
        case KUBE_REFLECTOR_ABANDON:
            kube_stream_abandon(i->watch);
            i->watch = NULL;
            break;
        case KUBE_REFLECTOR_WAIT:
            wait_until(i, deadline_ns);
            return;
        }
    }
}

struct kube_informer *kube_informer_new(struct kube_client *client,
                                        const struct kube_reflector_params *params)
{
    struct kube_informer *i = xnew(struct kube_informer);
    i->client = client;
    i->reflector = kube_reflector_new(params);
    (void)uv_timer_init(kube_client_loop(client), &i->timer); /* cannot fail */
    i->timer.data = i;
    step(i);
    return i;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void kube_informer_free(struct kube_informer *i)
{
    if (i == NULL) {
        return;
    }
    kube_call_cancel(i->list);
    kube_stream_cancel(i->watch);
    kube_reflector_free(i->reflector);
    uv_close((uv_handle_t *)&i->timer, on_closed);
}

const struct kube_reflector *kube_informer_reflector(const struct kube_informer *i)
{
    return i->reflector;
}

void kube_informer_get_stats(const struct kube_informer *i, struct kube_informer_stats *ret)
{
    *ret = i->stats;
}

const struct kube_cache *kube_informer_cache(const struct kube_informer *i)
{
    return kube_reflector_cache(i->reflector);
}
