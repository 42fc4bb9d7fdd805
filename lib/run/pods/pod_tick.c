/* When the pod launcher acts, see pod_tick.h. */
#include "run/pods/pod_tick.h"

static void on_timer(uv_timer_t *timer)
{
    struct pod_tick *t = timer->data;
    t->on_tick(t->ctx);
}

void pod_tick_init(struct pod_tick *t, uv_loop_t *loop, void (*on_tick)(void *ctx), void *ctx)
{
    *t = (struct pod_tick){.on_tick = on_tick, .ctx = ctx};
    (void)uv_timer_init(loop, &t->timer); /* never fails */
    t->timer.data = t;
}

void pod_tick_soon(struct pod_tick *t)
{
    if (!uv_is_closing((uv_handle_t *)&t->timer)) {
        /* Cannot fail: the callback is not NULL and the handle is not closing. */
        (void)uv_timer_start(&t->timer, on_timer, 0, POD_TICK_MS);
    }
}

void pod_tick_stop(struct pod_tick *t)
{
    (void)uv_timer_stop(&t->timer); /* never fails */
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct pod_tick *t = handle->data;
    t->on_closed(t->ctx);
}

void pod_tick_close(struct pod_tick *t, void (*on_closed)(void *ctx))
{
    t->on_closed = on_closed;
    uv_close((uv_handle_t *)&t->timer, on_timer_closed);
}
