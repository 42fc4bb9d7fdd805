/* A short look at the machine before and after the measured steps: how fast the core's clock is,
 * how fast memory is copied, and how fast one core multiplies and adds, while no replica of the
 * gang computes. Used by role_trainer.c (docs/numbers.md, "Noise of the machine"). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

/* Of one probe. A part begins no piece after its time, so it also ends on a machine that is
 * stalled; but the clock has three at least, or the one that another process interrupted
 * could be all there is. */
struct probe_limits {
    int64_t spin_ns, copy_ns; /* a quarter of spin_ns more for multiplying and adding */
    size_t copy_bytes;        /* of both buffers together */
};
#define PROBE_SPIN_MAX_NS INT64_C(50000000)
#define PROBE_COPY_MAX_NS INT64_C(150000000)
#define PROBE_COPY_MIN_BYTES ((size_t)4 << 20)
#define PROBE_COPY_MAX_BYTES ((size_t)64 << 20)

/* Twice the last cache, but at most PROBE_COPY_MAX_BYTES and 1/32 of the memory that the cgroup of
 * the machine at `root` allows. */
struct probe_limits probe_limits_of(const char *root);
/* Each figure is the median over its pieces, so that a piece in which another process or machine
 * had the core does not count. No copy is known (0) without memory for it, or where its time is
 * over before a first pass: the machine is that busy. */
void probe_run(const struct probe_limits *limits, struct noise_probe *ret);
