/* See holder.h. While it is released, the timer is what asks again, and release_by_ns the end. */
#include "daemon/holder.h"

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"

#define RELEASE_WAIT_NS (4 * INT64_C(1000000000)) /* less than a pod's grace period */

struct holder {
    struct kube_client *client;
    struct kube_lease *lease;
    uv_timer_t timer;
    struct kube_call *call;
    enum kube_lease_state state; /* as told last */
    void (*on_change)(void *ctx);
    void (*on_done)(void *ctx); /* of the release */
    void *ctx, *done_ctx;
    int64_t release_by_ns; /* 0: it is to be held */
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

/* Sends what is due. Returns when to look again, if nothing is heard before. */
static int64_t send_due(struct holder *h)
{
    struct kube_request req;
    int64_t deadline_ns = INT64_MAX;
    if (h->call == NULL &&
        kube_lease_next(h->lease, clock_boottime_ns(), clock_unix_ms(), &req, &deadline_ns)) {
        const struct kube_call_options options = {
            .timeout_ns = kube_lease_request_timeout_ns(h->lease), .max_tries = 1};
        h->call = kube_call(h->client, &req, &options, on_answer, h);
    }
    return h->call == NULL ? deadline_ns : INT64_MAX;
}

static void release_step(struct holder *h, int64_t now_ns)
{
    if (kube_lease_is_released(h->lease, now_ns) || now_ns >= h->release_by_ns) {
        (void)uv_timer_stop(&h->timer); /* never fails */
        if (h->call != NULL) {
            kube_call_cancel(h->call);
            h->call = NULL;
        }
        h->on_done(h->done_ctx);
    }
}

static void step(struct holder *h)
{
    int64_t deadline_ns = send_due(h);
    const int64_t now_ns = clock_boottime_ns();
    if (h->release_by_ns != 0 && h->release_by_ns < deadline_ns) {
        deadline_ns = h->release_by_ns;
    }
    int64_t wait_ms = 1000; /* also to notice a passed deadline while an answer is awaited */
    if (deadline_ns != INT64_MAX) {
        const int64_t left_ms = (deadline_ns - now_ns) / 1000000;
        wait_ms = left_ms < 0 ? 0 : left_ms < wait_ms ? left_ms + 1 : wait_ms;
    }
    /* Cannot fail: the callback is not NULL and the handle is not closing. */
    (void)uv_timer_start(&h->timer, on_timer, (uint64_t)wait_ms, 0);
    if (h->release_by_ns != 0) {
        release_step(h, now_ns);
        return;
    }
    const enum kube_lease_state state = kube_lease_state(h->lease, now_ns);
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

void holder_release(struct holder *h, void (*on_done)(void *ctx), void *ctx)
{
    const int64_t now_ns = clock_boottime_ns();
    h->on_done = on_done;
    h->done_ctx = ctx;
    h->release_by_ns = now_ns + RELEASE_WAIT_NS;
    kube_lease_release(h->lease, now_ns);
    (void)uv_timer_start(&h->timer, on_timer, 0, 0); /* as in step */
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
