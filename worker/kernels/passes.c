/* The passes over memory, written so that the compiler vectorises them; built once for each
 * instruction set (isa.h).
 *
 * Sums: 16 fp32 lanes within a plane, planes added in double in the order of the images. So they
 * do not depend on vector width (but for fused multiply-adds) and lose nothing with the batch. */
#include <string.h>

#include "worker/kernels/isa.h"
#include "worker/tensor/rng_tile.h"

#define LANES 16
#define CHANNEL_BLOCK 64 /* channels whose sums are kept at once: contiguous reads, no heap */

static float lane_total(const float lanes[LANES])
{
    float sum = 0;
    for (int l = 0; l < LANES; l++) {
        sum += lanes[l];
    }
    return sum;
}

/* Moments about a pixel of the channel, which lies within a few deviations of the mean: so the
 * variance does not cancel as E[y^2] - E[y]^2 does. */
struct moments {
    float shift;
    double sum, squares; /* of y - shift */
};

static void moments_add_plane(struct moments *m, const float *restrict y, size_t n)
{
    float sum_lanes[LANES] = {0}, square_lanes[LANES] = {0}, shift = m->shift;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            float d = y[i + l] - shift;
            sum_lanes[l] += d;
            square_lanes[l] += d * d;
        }
    }
    float sum = lane_total(sum_lanes), squares = lane_total(square_lanes);
    for (; i < n; i++) {
        float d = y[i] - shift;
        sum += d;
        squares += d * d;
    }
    m->sum += (double)sum;
    m->squares += (double)squares;
}

static void bn_stats(const struct bn_shape *s, const float *y, float *mean, float *var)
{
    double count = (double)s->n * s->hw;
    for (size_t k0 = 0; k0 < s->k; k0 += CHANNEL_BLOCK) {
        size_t block = s->k - k0 < CHANNEL_BLOCK ? s->k - k0 : CHANNEL_BLOCK;
        struct moments sums[CHANNEL_BLOCK] = {0};
        for (size_t k = 0; k < block; k++) {
            sums[k].shift = y[(k0 + k) * s->hw];
        }
        for (size_t n = 0; n < s->n; n++) {
            for (size_t k = 0; k < block; k++) {
                moments_add_plane(&sums[k], y + (n * s->k + k0 + k) * s->hw, s->hw);
            }
        }
        for (size_t k = 0; k < block; k++) {
            double offset = sums[k].sum / count;
            mean[k0 + k] = (float)((double)sums[k].shift + offset);
            double variance = sums[k].squares / count - offset * offset;
            var[k0 + k] = (float)(variance > 0 ? variance : 0);
        }
    }
}

static void bn_relu_forward(const struct bn_shape *s, const float *restrict y,
                            const float *restrict scale, const float *restrict shift,
                            float *restrict a)
{
    size_t k = 0;
    for (size_t plane = 0; plane < (size_t)s->n * s->k; plane++) {
        const float *src = y + plane * s->hw;
        float *dst = a + plane * s->hw;
        float mul = scale[k], add = shift[k];
        for (size_t i = 0; i < s->hw; i++) {
            float v = mul * src[i] + add;
            dst[i] = v > 0 ? v : 0;
        }
        k = k + 1 == s->k ? 0 : k + 1;
    }
}

struct grad_sums {
    double sum, dot; /* of g and of g * (y - mean), g = da where a > 0 */
};

static void grad_add_plane(struct grad_sums *sums, const float *restrict y, const float *restrict a,
                           const float *restrict da, size_t n, float mean)
{
    float sum_lanes[LANES] = {0}, dot_lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            float g = a[i + l] > 0 ? da[i + l] : 0;
            sum_lanes[l] += g;
            dot_lanes[l] += g * (y[i + l] - mean);
        }
    }
    float sum = lane_total(sum_lanes), dot = lane_total(dot_lanes);
    for (; i < n; i++) {
        float g = a[i] > 0 ? da[i] : 0;
        sum += g;
        dot += g * (y[i] - mean);
    }
    sums->sum += (double)sum;
    sums->dot += (double)dot;
}

struct grad_line { /* dy = mul * (g - sub - (y - mean) * slope) */
    float mean, mul, sub, slope;
};

static void grad_write_plane(struct grad_line line, const float *restrict y,
                             const float *restrict a, const float *restrict da, size_t n,
                             float *restrict dy)
{
    for (size_t i = 0; i < n; i++) {
        float g = a[i] > 0 ? da[i] : 0;
        dy[i] = line.mul * (g - line.sub - (y[i] - line.mean) * line.slope);
    }
}

static void bn_relu_backward(const struct bn_shape *s, const float *y, const float *a,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta)
{
    double count = (double)s->n * s->hw;
    for (size_t k0 = 0; k0 < s->k; k0 += CHANNEL_BLOCK) {
        size_t block = s->k - k0 < CHANNEL_BLOCK ? s->k - k0 : CHANNEL_BLOCK;
        struct grad_sums sums[CHANNEL_BLOCK] = {0};
        struct grad_line lines[CHANNEL_BLOCK];
        for (size_t n = 0; n < s->n; n++) {
            for (size_t k = 0; k < block; k++) {
                size_t i = (n * s->k + k0 + k) * s->hw;
                grad_add_plane(&sums[k], y + i, a + i, da + i, s->hw, mean[k0 + k]);
            }
        }
        for (size_t k = 0; k < block; k++) {
            double inv = (double)inv_std[k0 + k];
            dgamma[k0 + k] = (float)(sums[k].dot * inv);
            dbeta[k0 + k] = (float)sums[k].sum;
            lines[k] = (struct grad_line){
                .mean = mean[k0 + k],
                .mul = (float)((double)gamma[k0 + k] * inv),
                .sub = (float)(sums[k].sum / count),
                .slope = (float)(sums[k].dot * inv * inv / count),
            };
        }
        for (size_t n = 0; n < s->n; n++) {
            for (size_t k = 0; k < block; k++) {
                size_t i = (n * s->k + k0 + k) * s->hw;
                grad_write_plane(lines[k], y + i, a + i, da + i, s->hw, dy + i);
            }
        }
    }
}

static void dropout(size_t n, const struct dropout_mask *mask, const float *x, float *y)
{
    uint32_t words[RNG_TILE];
    float tile[RNG_TILE] = {0}; /* so that y may be x and the loop still vectorises */
    for (size_t i = 0; i < n; i += RNG_TILE) {
        size_t count = n - i < RNG_TILE ? n - i : RNG_TILE;
        rng_tile_inline(mask->key, i / RNG_TILE, words);
        memcpy(tile, x + i, count * sizeof(*x));
        for (size_t j = 0; j < RNG_TILE; j++) {
            tile[j] = words[j] < mask->below ? 0 : tile[j];
        }
        memcpy(y + i, tile, count * sizeof(*y));
    }
}

static float max2(float a, float b)
{
    return a > b ? a : b;
}

static void maxpool2x2_forward(const struct pool_shape *s, const float *restrict x,
                               float *restrict y)
{
    size_t w = s->w;
    for (size_t row = 0; row < (size_t)s->planes * s->h / 2; row++) { /* h is even */
        const float *top = x + 2 * row * w, *bottom = top + w;
        for (size_t o = 0; o < w / 2; o++) {
            y[row * (w / 2) + o] =
                max2(max2(top[2 * o], top[2 * o + 1]), max2(bottom[2 * o], bottom[2 * o + 1]));
        }
    }
}

static void maxpool2x2_backward(const struct pool_shape *s, const float *restrict x,
                                const float *restrict dy, float *restrict dx)
{
    size_t w = s->w;
    for (size_t row = 0; row < (size_t)s->planes * s->h / 2; row++) {
        const float *top = x + 2 * row * w, *bottom = top + w;
        float *dtop = dx + 2 * row * w, *dbottom = dtop + w;
        for (size_t o = 0; o < w / 2; o++) {
            float x0 = top[2 * o], x1 = top[2 * o + 1], x2 = bottom[2 * o], x3 = bottom[2 * o + 1];
            float g = dy[row * (w / 2) + o];
            float upper = max2(x0, x1) >= max2(x2, x3) ? g : 0, lower = g - upper;
            int top_left = x0 >= x1, bottom_left = x2 >= x3;
            dtop[2 * o] = top_left ? upper : 0;
            dtop[2 * o + 1] = top_left ? 0 : upper;
            dbottom[2 * o] = bottom_left ? lower : 0;
            dbottom[2 * o + 1] = bottom_left ? 0 : lower;
        }
    }
}

void ISA_SYMBOL(passes_init)(struct kernels *k)
{
    k->bn_stats = bn_stats;
    k->bn_relu_forward = bn_relu_forward;
    k->bn_relu_backward = bn_relu_backward;
    k->dropout = dropout;
    k->maxpool2x2_forward = maxpool2x2_forward;
    k->maxpool2x2_backward = maxpool2x2_backward;
}
