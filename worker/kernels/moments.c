#include "worker/kernels/moments.h"

#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/slots.h"
#include "worker/kernels/thread_pool.h"

#define COLUMNS 64     /* channels whose sums fit the registers */
#define SUM_PIXELS 256 /* of a sum in fp32 */

/* `columns` channels of each pixel; a constant in the inlined code except for the last few
 * channels. */
static inline __attribute__((always_inline)) void take(const float *restrict y, size_t pixels,
                                                       size_t k, size_t columns,
                                                       float *restrict slot)
{
    float pivot[COLUMNS], sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    memcpy(pivot, y, columns * sizeof(*y));
    for (size_t i = 0; i < pixels; i++) {
        for (size_t j = 0; j < columns; j++) {
            float off = y[i * k + j] - pivot[j];
            sum[j] += off;
            squares[j] += off * off;
        }
    }
    memcpy(slot, pivot, columns * sizeof(*slot));
    memcpy(slot + k, sum, columns * sizeof(*slot));
    memcpy(slot + 2 * k, squares, columns * sizeof(*slot));
}

void moments_take(const float *y, size_t pixels, size_t k, float *slot)
{
    size_t j = 0;
    for (; j + COLUMNS <= k; j += COLUMNS) {
        take(y + j, pixels, k, COLUMNS, slot + j);
    }
    if (j < k) {
        take(y + j, pixels, k, k - j, slot + j);
    }
}

/* At most SLOT_COLUMNS channels. */
static void merge(const float *slots, size_t k, size_t columns, size_t pixels, size_t of,
                  float *restrict mean, float *restrict var)
{
    const float *mid = slots; /* all sums are about the first pivots */
    double total[SLOT_COLUMNS] = {0}, squares[SLOT_COLUMNS] = {0};
    for (size_t left = pixels; left > 0; slots += 3 * k) {
        double count = (double)(left < of ? left : of);
        for (size_t j = 0; j < columns; j++) {
            double shift = (double)slots[j] - (double)mid[j], sum = (double)slots[k + j];
            total[j] += sum + count * shift;
            squares[j] += (double)slots[2 * k + j] + shift * (2 * sum + count * shift);
        }
        left -= left < of ? left : of;
    }
    for (size_t j = 0; j < columns; j++) {
        double offset = total[j] / (double)pixels, variance;
        variance = squares[j] / (double)pixels - offset * offset;
        mean[j] = (float)((double)mid[j] + offset);
        var[j] = (float)(variance > 0 ? variance : 0);
    }
}

void moments_merge(const float *slots, size_t k, size_t pixels, size_t of, float *mean, float *var)
{
    for (size_t j = 0; j < k; j += SLOT_COLUMNS) {
        size_t columns = k - j < SLOT_COLUMNS ? k - j : SLOT_COLUMNS;
        merge(slots + j, k, columns, pixels, of, mean + j, var + j);
    }
}

struct stats {
    const float *y;
    size_t k, pixels, of;
    float *slots;
};

static void item_slot(void *ctx, size_t slot, unsigned thread)
{
    const struct stats *s = ctx;
    size_t first = slot * s->of, left = s->pixels - first;
    (void)thread;
    moments_take(s->y + first * s->k, left < s->of ? left : s->of, s->k,
                 s->slots + slot * 3 * s->k);
}

void moments_of(const struct bn_shape *s, const float *y, float *mean, float *var,
                const struct work *work)
{
    struct stats stats = {.y = y, .k = s->k, .pixels = (size_t)s->n * s->h * s->w};
    stats.of = ceil_div(stats.pixels, BN_SCRATCH_SLOTS);
    stats.slots = work->scratch;
    parallel_for(work->threads, ceil_div(stats.pixels, stats.of), item_slot, &stats);
    moments_merge(stats.slots, s->k, stats.pixels, stats.of, mean, var);
}

void sum_pixels(size_t pixels, size_t k_n, const float *y, float *sums)
{
    for (size_t k0 = 0; k0 < k_n; k0 += COLUMNS) {
        size_t columns = k_n - k0 < COLUMNS ? k_n - k0 : COLUMNS;
        double total[COLUMNS] = {0};
        for (size_t first = 0; first < pixels; first += SUM_PIXELS) {
            size_t left = pixels - first, count = left < SUM_PIXELS ? left : SUM_PIXELS;
            float sum[COLUMNS] = {0};
            for (size_t i = first; i < first + count; i++) {
                for (size_t k = 0; k < columns; k++) {
                    sum[k] += y[i * k_n + k0 + k];
                }
            }
            for (size_t k = 0; k < columns; k++) {
                total[k] += (double)sum[k];
            }
        }
        for (size_t k = 0; k < columns; k++) {
            sums[k0 + k] = (float)total[k];
        }
    }
}
