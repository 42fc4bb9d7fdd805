/* What the GPUs of this machine did while steps were measured: readings, ten in a second,
 * and the figures of a stretch of time among them (docs/results.md#power-energy-and-clocks). */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "core/metric_set.h"

/* ---- readings ---- */

/* What the GPUs say of themselves, by libnvidia-ml.so.1 of NVIDIA's driver, which is loaded when it
 * is asked for. Used by one thread at a time. */
#define GPU_LIBRARY "libnvidia-ml.so.1"

/* By how much counters have risen together since they were first read. A rise that is not known,
 * because a counter was not there or fell, is a gap: its two sides do not compare. */
struct rise {
    double sum;
    unsigned gaps;
};

/* Why a device runs slower than it could. */
enum gpu_slow { GPU_SLOW_POWER, GPU_SLOW_HEAT, GPU_SLOW_HARDWARE, GPU_SLOW_ANY, GPU_SLOW_COUNT };

/* Of all chosen devices together. NaN: one of them does not say it. */
struct gpu_reading {
    int64_t t_ns; /* monotonic; gpus_read leaves it 0 */
    unsigned n_devices;
    struct rise energy_j, ecc_errors; /* sums */
    double power_w;                   /* the mean; not read of a device that counts its energy */
    double clock_mhz;                 /* of the streaming multiprocessors: the mean */
    double slow[GPU_SLOW_COUNT];      /* devices that are slowed for this reason */
    double memory_bytes;              /* in use, of the device with the most */
};

struct gpus;
/* NULL: the library or one of its first calls is missing, or refuses, as without a device or with a
 * driver of another version. */
struct gpus *gpus_open(const char *library);
void gpus_close(struct gpus *g); /* NULL is fine */
/* Adds those that a program with this CUDA_VISIBLE_DEVICES uses, by their numbers, or "all". */
void gpus_choose(struct gpus *g, const char *visible);
void gpus_forget(struct gpus *g); /* no device is chosen */
/* Memory and errors are read every tenth time. */
void gpus_read(struct gpus *g, struct gpu_reading *ret);

/* ---- figures ---- */

#define TELEMETRY_INTERVAL_MS 100
#define TELEMETRY_READINGS_MIN 10    /* in the time, or nothing is said of it */
#define TELEMETRY_READINGS_MAX 32768 /* when it is reached, every other one is dropped */

struct telemetry { /* all zero: no reading */
    VEC(struct gpu_reading) readings;
    unsigned n_seen, halved; /* every (1 << halved)th is kept */
};
void telemetry_clear(struct telemetry *t);
void telemetry_add(struct telemetry *t, const struct gpu_reading *reading);
/* Sets what is known of the time from `from_ns` to `to_ns`. */
void telemetry_figures(const struct telemetry *t, int64_t from_ns, int64_t to_ns,
                       struct metrics *ret);
