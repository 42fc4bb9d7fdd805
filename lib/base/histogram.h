/* How often something took how long, in fixed buckets: those of client-go's request
 * durations, and one below for what should not take a millisecond. Plain data of a fixed
 * size, copied as a whole. Pure. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_N_BOUNDS 13
extern const int64_t
    histogram_bounds_ns[HISTOGRAM_N_BOUNDS]; /* ascending; a bound is in its bucket */

struct histogram {
    uint64_t counts[HISTOGRAM_N_BOUNDS + 1]; /* of each bucket alone; the last has no bound */
    int64_t sum_ns;
    int64_t longest_ns;
};

void histogram_add(struct histogram *h, int64_t took_ns); /* a negative time counts as 0 */
uint64_t histogram_count(const struct histogram *h);
