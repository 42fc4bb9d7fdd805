/* See list_watch.h. Edge file: libuv and signals, in a loop of its own. */
#include "ctl/runs/list_watch.h"

#include <signal.h>

#include <uv.h>

struct list_watch {
    enum exit_code (*look)(void *ctx);
    void *ctx;
    uint64_t period_ms;
    enum exit_code code;
    uv_loop_t loop;
    uv_timer_t timer;
    uv_signal_t interrupt, terminate;
};

static void end(struct list_watch *w, enum exit_code code)
{
    w->code = code;
    uv_close((uv_handle_t *)&w->timer, NULL);
    uv_close((uv_handle_t *)&w->interrupt, NULL);
    uv_close((uv_handle_t *)&w->terminate, NULL);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    end(handle->data, EXIT_INTERRUPTED);
}

/* The next look is a period after this one has ended: a slow server is asked less often. */
static void on_timer(uv_timer_t *timer)
{
    struct list_watch *w = timer->data;
    const enum exit_code code = w->look(w->ctx);
    if (code != EXIT_OK) {
        end(w, code);
        return;
    }
    uv_update_time(&w->loop);
    (void)uv_timer_start(timer, on_timer, w->period_ms, 0); /* fails on a closing handle only */
}

enum exit_code list_watch(enum exit_code (*look)(void *ctx), void *ctx, uint64_t period_ms)
{
    struct list_watch w = {.look = look, .ctx = ctx, .period_ms = period_ms};
    if (uv_loop_init(&w.loop) < 0) {
        return EXIT_LOCAL_RESOURCE;
    }
    (void)uv_timer_init(&w.loop, &w.timer); /* always 0 */
    (void)uv_signal_init(&w.loop, &w.interrupt);
    (void)uv_signal_init(&w.loop, &w.terminate);
    w.timer.data = w.interrupt.data = w.terminate.data = &w;
    (void)uv_signal_start(&w.interrupt, on_signal, SIGINT); /* else the signal ends the program */
    (void)uv_signal_start(&w.terminate, on_signal, SIGTERM);
    (void)uv_timer_start(&w.timer, on_timer, 0, 0);
    (void)uv_run(&w.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&w.loop);
    return w.code;
}
