/* See elector.h. During a release the timer asks again, until release_by_ns at the latest. */
#include "daemon/cluster/elector.h"

#include "base/clock.h"
#include "base/mem.h"

#define RELEASE_WAIT_NS (4 * INT64_C(1000000000)) /* less than a pod's grace period */

static void step(struct elector *e);

static void on_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)r; /* the state machine reads the response */
    (void)err;
    struct elector *e = ctx;
    e->call = NULL;
    kube_lease_answer(e->lease, clock_boottime_ns(), res);
    step(e);
}

/* Sends what is due. Returns when to look again unless an answer comes first. */
static int64_t send_due(struct elector *e)
{
    struct kube_request req;
    int64_t deadline_ns = INT64_MAX;
    if (e->call == NULL && kube_lease_next(e->lease, clock_boottime_ns(), clock_steady_unix_ms(),
                                           &req, &deadline_ns)) {
        const struct kube_call_options options = {
            .timeout_ns = kube_lease_request_timeout_ns(e->lease), .max_tries = 1};
        e->call = kube_call(e->client, &req, &options, on_answer, e);
    }
    return e->call == NULL ? deadline_ns : INT64_MAX;
}

static void release_step(struct elector *e, int64_t now_ns)
{
    if (kube_lease_is_released(e->lease, now_ns) || now_ns >= e->release_by_ns) {
        (void)uv_timer_stop(&e->timer); /* never fails */
        kube_call_cancel(e->call);
        e->call = NULL;
        e->on_done(e->done_ctx);
    }
}

static void step(struct elector *e)
{
    int64_t deadline_ns = send_due(e);
    const int64_t now_ns = clock_boottime_ns();
    if (e->release_by_ns != 0 && e->release_by_ns < deadline_ns) {
        deadline_ns = e->release_by_ns;
    }
    int64_t wait_ms = 1000; /* also to notice a passed deadline while an answer is awaited */
    if (deadline_ns != INT64_MAX) {
        const int64_t left_ms = (deadline_ns - now_ns) / 1000000;
        wait_ms = left_ms < 0 ? 0 : left_ms < wait_ms ? left_ms + 1 : wait_ms;
    }
    /* Cannot fail: the callback is not NULL and the handle is not closing. */
    (void)uv_timer_start(&e->timer, on_timer, (uint64_t)wait_ms, 0);
    if (e->release_by_ns != 0) {
        release_step(e, now_ns);
        return;
    }
    const enum kube_lease_state state = kube_lease_state(e->lease, now_ns);
    if (state != e->state) {
        e->state = state;
        e->on_change(e->ctx);
    }
}

struct elector *elector_new(struct kube_client *client, const struct kube_lease_params *params,
                            void (*on_change)(void *ctx), void *ctx)
{
    struct elector *e = xnew(struct elector);
    e->client = client;
    e->lease = kube_lease_new(params);
    e->on_change = on_change;
    e->ctx = ctx;
    (void)uv_timer_init(kube_client_loop(client), &e->timer); /* never fails */
    e->timer.data = e;
    (void)uv_timer_start(&e->timer, on_timer, 0, 0); /* as in step */
    return e;
}

bool elector_may_write(struct elector *e)
{
    return kube_lease_may_write(e->lease, clock_boottime_ns());
}

int64_t elector_careful_unix_ms(const struct elector *e)
{
    const int64_t ahead_ms = kube_lease_skew_ms(e->lease);
    return clock_steady_unix_ms() + (ahead_ms < 0 ? ahead_ms : 0);
}

void elector_release(struct elector *e, void (*on_done)(void *ctx), void *ctx)
{
    const int64_t now_ns = clock_boottime_ns();
    e->on_done = on_done;
    e->done_ctx = ctx;
    e->release_by_ns = now_ns + RELEASE_WAIT_NS;
    kube_lease_release(e->lease, now_ns);
    (void)uv_timer_start(&e->timer, on_timer, 0, 0); /* as in step */
}

static void on_closed(uv_handle_t *handle)
{
    struct elector *e = handle->data;
    kube_lease_free(e->lease);
    free(e);
}

void elector_free(struct elector *e)
{
    if (e == NULL) {
        return;
    }
    kube_call_cancel(e->call);
    uv_close((uv_handle_t *)&e->timer, on_closed);
}
