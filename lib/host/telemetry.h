/* What the GPUs of this machine did while steps were measured: readings, ten in a second,
 * and the figures of a stretch of time among them (docs/results.md#power-energy-and-clocks). */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "core/metric_set.h"
#include "host/gpu.h"

#define TELEMETRY_INTERVAL_MS 100
#define TELEMETRY_READINGS_MIN 10    /* in the time, or nothing is said of it */
#define TELEMETRY_READINGS_MAX 32768 /* when it is reached, every other one is dropped */

struct telemetry_reading {
    int64_t t_ns; /* monotonic */
    struct gpu_reading gpu;
};
struct telemetry { /* all zero: no reading */
    VEC(struct telemetry_reading) readings;
    unsigned n_seen, halved; /* every (1 << halved)th is kept */
};
void telemetry_clear(struct telemetry *t);
void telemetry_add(struct telemetry *t, const struct telemetry_reading *reading);
/* Sets what is known of the time from `from_ns` to `to_ns`. */
void telemetry_figures(const struct telemetry *t, int64_t from_ns, int64_t to_ns,
                       struct metrics *ret);
