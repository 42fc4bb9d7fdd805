/* See loop_meter.h. libuv calls back for sockets from inside its poll, so the time around the poll
 * would miss them: libuv itself counts the time in which it only waited. */
#include "daemon/loop_meter.h"

#include "base/clock.h"

static void on_poll_next(uv_prepare_t *handle)
{
    struct loop_meter *m = handle->data;
    const int64_t now_ns = clock_monotonic_ns();
    const uint64_t idle_ns = uv_metrics_idle_time(handle->loop);
    if (m->polled_ns != 0) {
        histogram_add(&m->turns, now_ns - m->polled_ns - (int64_t)(idle_ns - m->idle_ns));
    }
    m->polled_ns = now_ns;
    m->idle_ns = idle_ns;
    m->cpu_ns = clock_thread_cpu_ns();
}

void loop_meter_start(struct loop_meter *m, uv_loop_t *loop)
{
    *m = (struct loop_meter){0};
    (void)uv_loop_configure(loop,
                            UV_METRICS_IDLE_TIME); /* libuv 1.39 has it; none of these fails */
    (void)uv_prepare_init(loop, &m->before_poll);
    m->before_poll.data = m;
    (void)uv_prepare_start(&m->before_poll, on_poll_next);
    uv_unref((uv_handle_t *)&m->before_poll);
}

void loop_meter_stop(struct loop_meter *m)
{
    uv_close((uv_handle_t *)&m->before_poll, NULL);
}
