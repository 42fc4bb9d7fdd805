/* See holder.h. */
#include "daemon/holder.h"

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"

#define RELEASE_TIMEOUT_NS (2 * INT64_C(1000000000))

struct holder {
    struct kube_client *client;
    struct kube_lease *lease;
    uv_timer_t timer;
    struct kube_call *call;
    enum kube_lease_state state; /* as told last */
    void (*on_change)(void *ctx);
    void (*on_done)(void *ctx); /* of the release */
    void *ctx, *done_ctx;
    bool is_releasing;
};

static void step(struct holder *h);

static void on_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r; /* the machine reads the answer itself */
    (void)err;
    struct holder *h = ctx;
    h->call = NULL;
    kube_lease_answer(h->lease, clock_boottime_ns(), res);
    step(h);
}

static void step(struct holder *h)
{
    if (h->is_releasing) {
        return;
    }
    struct kube_request req;
    int64_t deadline_ns = INT64_MAX;
    if (h->call == NULL && kube_lease_next(h->lease, clock_boottime_ns(), clock_unix_ms(), &req,
                                           &deadline_ns)) {
        const struct kube_call_options options = {
            .timeout_ns = kube_lease_request_timeout_ns(h->lease), .max_tries = 1};
        h->call = kube_call(h->client, &req, &options, on_answer, h);
    }
    int64_t wait_ms = 1000; /* also to notice a passed deadline while an answer is awaited */
    if (h->call == NULL && deadline_ns != INT64_MAX) {
        const int64_t left_ms = (deadline_ns - clock_boottime_ns()) / 1000000;
        wait_ms = left_ms < 0 ? 0 : left_ms < wait_ms ? left_ms + 1 : wait_ms;
    }
    /* Cannot fail: the callback is not NULL and the handle is not closing. */
    (void)uv_timer_start(&h->timer, on_timer, (uint64_t)wait_ms, 0);
    const enum kube_lease_state state = kube_lease_state(h->lease, clock_boottime_ns());
    if (state != h->state) {
        h->state = state;
        h->on_change(h->ctx);
    }
}

struct holder *holder_new(struct kube_client *client, const struct kube_lease_params *params,
                          void (*on_change)(void *ctx), void *ctx)
{
    struct holder *h = xnew(struct holder);
    h->client = client;
    h->lease = kube_lease_new(params);
    h->on_change = on_change;
    h->ctx = ctx;
    (void)uv_timer_init(kube_client_loop(client), &h->timer); /* never fails */
    h->timer.data = h;
    (void)uv_timer_start(&h->timer, on_timer, 0, 0); /* as in step */
    return h;
}

enum kube_lease_state holder_state(const struct holder *h)
{
    return h->state;
}

bool holder_may_write(struct holder *h)
{
    return kube_lease_may_write(h->lease, clock_boottime_ns());
}

const char *holder_name(const struct holder *h)
{
    return kube_lease_holder(h->lease);
}

const struct err *holder_error(const struct holder *h)
{
    return kube_lease_error(h->lease);
}

static void on_released(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r; /* otherwise it runs out by itself */
    (void)res;
    (void)err;
    struct holder *h = ctx;
    h->call = NULL;
    h->on_done(h->done_ctx);
}

static void on_nothing_to_release(uv_timer_t *timer)
{
    struct holder *h = timer->data;
    h->on_done(h->done_ctx);
}

void holder_release(struct holder *h, void (*on_done)(void *ctx), void *ctx)
{
    h->is_releasing = true;
    h->on_done = on_done;
    h->done_ctx = ctx;
    if (h->call != NULL) {
        kube_call_cancel(h->call);
        h->call = NULL;
    }
    struct kube_request req;
    if (kube_lease_release(h->lease, clock_boottime_ns(), clock_unix_ms(), &req)) {
        (void)uv_timer_stop(&h->timer); /* never fails */
        const struct kube_call_options options = {.timeout_ns = RELEASE_TIMEOUT_NS, .max_tries = 1};
        h->call = kube_call(h->client, &req, &options, on_released, h);
    } else {
        (void)uv_timer_start(&h->timer, on_nothing_to_release, 0, 0); /* as in step */
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct holder *h = handle->data;
    kube_lease_free(h->lease);
    free(h);
}

void holder_free(struct holder *h)
{
    if (h == NULL) {
        return;
    }
    if (h->call != NULL) {
        kube_call_cancel(h->call);
    }
    uv_close((uv_handle_t *)&h->timer, on_closed);
}
