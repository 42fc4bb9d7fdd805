/* How long each turn of a loop works, and so keeps everything else waiting: the time from one poll
 * for events to the next, without the time in which the poll found nothing. A long turn delays the
 * Lease, the watches and every run. */
#pragma once

#include <uv.h>

#include "base/histogram.h"

struct loop_meter {
    uv_prepare_t before_poll;
    int64_t polled_ns;      /* when the last poll began; 0: none yet */
    uint64_t idle_ns;       /* of the loop, at that time */
    int64_t cpu_ns;         /* CPU time of its thread, at that time */
    struct histogram turns; /* read it on the loop's thread */
};
/* Measures until it is stopped; does not keep the loop alive. Call it before the loop runs. */
void loop_meter_start(struct loop_meter *m, uv_loop_t *loop);
/* The loop's next turn closes the handle. */
void loop_meter_stop(struct loop_meter *m);
