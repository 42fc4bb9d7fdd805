/* Sums over many pixels are kept in parts ("slots", rows of fp32) and added in double and in order,
 * so that they do not depend on threads. Blocks of channels are added at a time, so the compiler
 * uses vectors. */
#pragma once

#include <stddef.h>
#include <string.h>

#define SLOT_COLUMNS 64

/* sums (n, at most SLOT_COLUMNS) = those of `n_slots` slots, which lie `row` floats apart. */
static inline void slots_sum(const float *slots, size_t n_slots, size_t row, size_t n,
                             double *restrict sums)
{
    memset(sums, 0, n * sizeof(*sums));
    for (size_t slot = 0; slot < n_slots; slot++, slots += row) {
        for (size_t i = 0; i < n; i++) {
            sums[i] += (double)slots[i];
        }
    }
}

/* out (n) = the sums of slots (n_slots, n). */
static inline void slots_sum_all(const float *slots, size_t n_slots, size_t n, float *out)
{
    for (size_t first = 0; first < n; first += SLOT_COLUMNS) {
        size_t count = n - first < SLOT_COLUMNS ? n - first : SLOT_COLUMNS;
        double sums[SLOT_COLUMNS];
        slots_sum(slots + first, n_slots, n, count, sums);
        for (size_t i = 0; i < count; i++) {
            out[first + i] = (float)sums[i];
        }
    }
}
