/* The timer of the pod launcher: its one function runs every POD_TICK_MS while it is needed, and in
 * the next turn of the loop when something was heard or asked for. Edge file: the loop's timer. */
#pragma once

#include <stdbool.h>

#include <uv.h>

#define POD_TICK_MS 500

struct pod_tick {
    uv_timer_t timer;
    void (*on_tick)(void *ctx);
    void (*on_closed)(void *ctx);
    void *ctx;
};

void pod_tick_init(struct pod_tick *t, uv_loop_t *loop, void (*on_tick)(void *ctx), void *ctx);
/* However often it is called, the function runs once in the next turn of the loop. */
void pod_tick_soon(struct pod_tick *t);
void pod_tick_stop(struct pod_tick *t);
/* No tick any more; on_closed may free the memory. */
void pod_tick_close(struct pod_tick *t, void (*on_closed)(void *ctx));
