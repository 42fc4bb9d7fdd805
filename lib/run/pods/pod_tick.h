/* The timer of the pod launcher. Its function runs in the next iteration of the loop after
 * pod_tick_soon, and then every POD_TICK_MS until pod_tick_stop. Edge file: the loop's timer. */
#pragma once

#include <uv.h>

#define POD_TICK_MS 500

struct pod_tick {
    uv_timer_t timer;
    void (*on_tick)(void *ctx);
    void (*on_closed)(void *ctx);
    void *ctx;
};

void pod_tick_init(struct pod_tick *t, uv_loop_t *loop, void (*on_tick)(void *ctx), void *ctx);
/* Calling it several times leads to one tick. */
void pod_tick_soon(struct pod_tick *t);
void pod_tick_stop(struct pod_tick *t);
/* No tick follows; on_closed may free the memory. */
void pod_tick_close(struct pod_tick *t, void (*on_closed)(void *ctx));
