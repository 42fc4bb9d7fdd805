#include "worker/kernels/moments.h"

#include "worker/kernels/ceil_div.h"

#include <string.h>

#include "worker/kernels/pool.h"

#define COLUMNS 64 /* channels whose sums are registers */

/* `columns` channels of each pixel; a constant where this is inlined but for the last few. */
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

void moments_merge(const float *slots, size_t k_n, size_t pixels, size_t of, float *mean,
                   float *var)
{
    size_t n_slots = ceil_div(pixels, of);
    for (size_t k = 0; k < k_n; k++) {
        double total = 0, squares = 0, mid = (double)slots[k]; /* all about the first pivot */
        for (size_t s = 0; s < n_slots; s++) {
            const float *slot = slots + s * 3 * k_n + k;
            double count = (double)(s + 1 < n_slots ? of : pixels - s * of);
            double shift = (double)slot[0] - mid, sum = (double)slot[k_n];
            total += sum + count * shift;
            squares += (double)slot[2 * k_n] + shift * (2 * sum + count * shift);
        }
        double offset = total / (double)pixels, variance;
        variance = squares / (double)pixels - offset * offset;
        mean[k] = (float)(mid + offset);
        var[k] = (float)(variance > 0 ? variance : 0);
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
    parallel_for(work->pool, ceil_div(stats.pixels, stats.of), item_slot, &stats);
    moments_merge(stats.slots, s->k, stats.pixels, stats.of, mean, var);
}
