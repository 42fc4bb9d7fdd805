/* Limits of emulated trainers, which definitions and benchworker share. Pure. */
#pragma once

/* Warm-up included: a checksum is kept for each slice of each step, and the first trainer of a
 * machine computes them all before it connects. */
#define EMULATED_STEPS_MAX 1000
/* Of the standard deviation of a step's time, as a ratio; cut at three of them, the shortest step
 * still has a tenth of its time. */
#define EMULATED_JITTER_MAX 0.3
#define EMULATED_LAYER_US_MAX 3600000000
