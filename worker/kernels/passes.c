/* The passes over memory: BN, ReLU, dropout and pooling, each read once where it can be. Loops over
 * channels, written so that the compiler vectorises them; built once for each instruction set.
 *
 * Sums: fp32 over at most 1/64 of the pixels ("slots"), slots added in double and in order. */
#include <stdbool.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/isa.h"
#include "worker/kernels/moments.h"
#include "worker/tensor/rng_tile.h"

/* One pass: arrays as in kernels.h, NULL where it does not use them. A unit is a pixel, or a row of
 * 2x2 blocks where it pools. */
struct pass {
    size_t k, w, units, of; /* of: units of a slot */
    const struct dropout_mask *mask;
    const float *y, *scale, *shift, *a, *da, *mean;
    float *out; /* a or dy */
    float *sums; /* (slots, 2, k): of g and of g * (y - mean) */
    float *mul, *sub, *slope; /* (k) each: dy = mul * (g - sub - (y - mean) * slope) */
};

static void pass_run(struct pass *p, size_t units, pool_item item, const struct work *work)
{
    p->units = units;
    p->of = moment_slots(units, BN_SCRATCH_SLOTS);
    parallel_for(work->pool, moment_slots(units, p->of), item, p);
}

static size_t pass_end(const struct pass *p, size_t slot)
{
    size_t end = (slot + 1) * p->of;
    return end < p->units ? end : p->units;
}

static float relu(float v)
{
    return v > 0 ? v : 0;
}

static void relu_row(size_t n, const float *restrict y, const float *restrict scale,
                     const float *restrict shift, float *restrict a)
{
    for (size_t k = 0; k < n; k++) {
        a[k] = relu(scale[k] * y[k] + shift[k]);
    }
}

/* Random words of groups of RNG_TILE elements, two groups a tile (kernels.h). */
struct dropper {
    const struct dropout_mask *mask;
    uint32_t words[RNG_TILE];
    bool is_begun;
};

/* Readies the next group; groups come in order. Bits `shift`.. of a word are its element's. */
static inline __attribute__((always_inline)) uint32_t dropper_next(struct dropper *d, size_t group)
{
    if (group % 2 == 0 || !d->is_begun) {
        rng_tile_inline(d->mask->key, group / 2, d->words);
        d->is_begun = true;
    }
    return 16 * (uint32_t)(group % 2);
}

/* A row of whole groups, of which `group` is the first. */
static void relu_drop_row(size_t n, struct dropper *d, size_t group, const float *restrict y,
                          const float *restrict scale, const float *restrict shift,
                          float *restrict a)
{
    uint32_t below = d->mask->below;
    for (size_t k = 0; k < n; k += RNG_TILE) {
        uint32_t bits = dropper_next(d, group + k / RNG_TILE);
        for (size_t j = 0; j < RNG_TILE; j++) {
            float v = relu(scale[k + j] * y[k + j] + shift[k + j]);
            a[k + j] = (d->words[j] >> bits & 0xffff) < below ? 0 : v;
        }
    }
}

static void item_relu(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    struct dropper d = {.mask = p->mask};
    (void)thread;
    for (size_t i = slot * p->of; i < pass_end(p, slot); i++) {
        size_t at = i * p->k;
        if (p->mask != NULL) {
            relu_drop_row(p->k, &d, at / RNG_TILE, p->y + at, p->scale, p->shift, p->out + at);
        } else {
            relu_row(p->k, p->y + at, p->scale, p->shift, p->out + at);
        }
    }
}

static void dropout(size_t n, const struct dropout_mask *mask, const float *x, float *y)
{
    struct dropper d = {.mask = mask};
    float tile[RNG_TILE] = {0}; /* so that y may be x and the loop still vectorises */
    for (size_t i = 0; i < n; i += RNG_TILE) {
        size_t count = n - i < RNG_TILE ? n - i : RNG_TILE;
        uint32_t bits = dropper_next(&d, i / RNG_TILE);
        memcpy(tile, x + i, count * sizeof(*x));
        for (size_t j = 0; j < RNG_TILE; j++) {
            tile[j] = (d.words[j] >> bits & 0xffff) < mask->below ? 0 : tile[j];
        }
        memcpy(y + i, tile, count * sizeof(*y));
    }
}

static void bn_relu_forward(const struct bn_shape *s, const struct dropout_mask *mask,
                            const float *y, const float *scale, const float *shift, float *a,
                            const struct work *work)
{
    struct pass p = {.k = s->k, .y = y, .scale = scale, .shift = shift, .out = a};
    bool is_fused = s->k % RNG_TILE == 0;
    size_t pixels = (size_t)s->n * s->h * s->w;
    p.mask = is_fused ? mask : NULL;
    pass_run(&p, pixels, item_relu, work);
    if (mask != NULL && !is_fused) {
        dropout(pixels * s->k, mask, a, a);
    }
}

/* sums (2, n) += g and g * (y - mean). */
static void reduce_row(size_t n, const float *restrict y, const float *restrict a,
                       const float *restrict da, const float *restrict mean, float *restrict sum,
                       float *restrict dot)
{
    for (size_t k = 0; k < n; k++) {
        float d = da[k], g = a[k] > 0 ? d : 0;
        sum[k] += g;
        dot[k] += g * (y[k] - mean[k]);
    }
}

static void item_reduce(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    float *sums = p->sums + slot * 2 * p->k;
    (void)thread;
    memset(sums, 0, 2 * p->k * sizeof(*sums));
    for (size_t i = slot * p->of; i < pass_end(p, slot); i++) {
        size_t at = i * p->k;
        reduce_row(p->k, p->y + at, p->a + at, p->da + at, p->mean, sums, sums + p->k);
    }
}

/* dy may be da: element by element. */
static void apply_row(const struct pass *p, size_t at)
{
    const float *y = p->y + at, *a = p->a + at, *da = p->da + at;
    const float *mul = p->mul, *sub = p->sub, *slope = p->slope, *mean = p->mean;
    float *dy = p->out + at;
    size_t n = p->k;
#pragma GCC ivdep
    for (size_t k = 0; k < n; k++) {
        float d = da[k], g = a[k] > 0 ? d : 0;
        dy[k] = mul[k] * (g - sub[k] - (y[k] - mean[k]) * slope[k]);
    }
}

static void item_apply(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    (void)thread;
    for (size_t i = slot * p->of; i < pass_end(p, slot); i++) {
        apply_row(p, i * p->k);
    }
}

/* From the sums of all slots: dgamma, dbeta, and the line that makes dy. */
static void finish_sums(struct pass *p, double pixels, const float *inv_std, const float *gamma,
                        float *dgamma, float *dbeta)
{
    for (size_t k = 0; k < p->k; k++) {
        double sum = 0, dot = 0, inv = (double)inv_std[k];
        for (size_t slot = 0; slot < moment_slots(p->units, p->of); slot++) {
            sum += (double)p->sums[slot * 2 * p->k + k];
            dot += (double)p->sums[slot * 2 * p->k + p->k + k];
        }
        dgamma[k] = (float)(dot * inv);
        dbeta[k] = (float)sum;
        p->mul[k] = (float)((double)gamma[k] * inv);
        p->sub[k] = (float)(sum / pixels);
        p->slope[k] = (float)(dot * inv * inv / pixels);
    }
}

static void place_sums(struct pass *p, const struct work *work)
{
    struct carver scratch = {.base = work->scratch};
    p->sums = carve(&scratch, (size_t)BN_SCRATCH_SLOTS * 2 * p->k);
    p->mul = carve(&scratch, p->k);
    p->sub = carve(&scratch, p->k);
    p->slope = carve(&scratch, p->k);
}

static void bn_relu_backward(const struct bn_shape *s, const float *y, const float *a,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta,
                             const struct work *work)
{
    struct pass p = {.k = s->k, .y = y, .a = a, .da = da, .mean = mean, .out = dy};
    size_t pixels = (size_t)s->n * s->h * s->w;
    place_sums(&p, work);
    pass_run(&p, pixels, item_reduce, work);
    finish_sums(&p, (double)pixels, inv_std, gamma, dgamma, dbeta);
    pass_run(&p, pixels, item_apply, work);
}

/* Block `at` of a row of blocks: its four pixels, in row order, and its pooled one. */
struct block {
    size_t px[4], pooled;
};

static struct block block_at(const struct pass *p, size_t row, size_t x)
{
    size_t first = (2 * row * p->w + 2 * x) * p->k, below = p->w * p->k;
    return (struct block){{first, first + p->k, first + below, first + below + p->k},
                          (row * (p->w / 2) + x) * p->k};
}

static void pool_block(size_t n, const float *y0, const float *y1, const float *y2, const float *y3,
                       const float *scale, const float *shift, float *restrict a)
{
#pragma GCC ivdep
    for (size_t k = 0; k < n; k++) {
        float v0 = scale[k] * y0[k] + shift[k], v1 = scale[k] * y1[k] + shift[k];
        float v2 = scale[k] * y2[k] + shift[k], v3 = scale[k] * y3[k] + shift[k];
        float upper = v1 > v0 ? v1 : v0, lower = v3 > v2 ? v3 : v2;
        a[k] = relu(lower > upper ? lower : upper);
    }
}

static void item_pool(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    (void)thread;
    for (size_t row = slot * p->of; row < pass_end(p, slot); row++) {
        for (size_t x = 0; x < p->w / 2; x++) {
            struct block b = block_at(p, row, x);
            pool_block(p->k, p->y + b.px[0], p->y + b.px[1], p->y + b.px[2], p->y + b.px[3],
                       p->scale, p->shift, p->out + b.pooled);
        }
    }
}

static void bn_relu_pool_forward(const struct bn_shape *s, const float *y, const float *scale,
                                 const float *shift, float *a, const struct work *work)
{
    struct pass p = {.k = s->k, .w = s->w, .y = y, .scale = scale, .shift = shift, .out = a};
    pass_run(&p, (size_t)s->n * s->h / 2, item_pool, work);
}

static void reduce_block(const struct pass *p, const struct block *b, float *restrict sum,
                         float *restrict dot)
{
    const float *y0 = p->y + b->px[0], *y1 = p->y + b->px[1], *y2 = p->y + b->px[2];
    const float *y3 = p->y + b->px[3], *da = p->da + b->pooled;
    const float *scale = p->scale, *shift = p->shift, *mean = p->mean;
    size_t n = p->k;
#pragma GCC ivdep
    for (size_t k = 0; k < n; k++) {
        float x0 = y0[k], x1 = y1[k], x2 = y2[k], x3 = y3[k], d = da[k];
        float v0 = scale[k] * x0 + shift[k], v1 = scale[k] * x1 + shift[k];
        float v2 = scale[k] * x2 + shift[k], v3 = scale[k] * x3 + shift[k];
        float upper = v1 > v0 ? v1 : v0, lower = v3 > v2 ? v3 : v2;
        float y_upper = v1 > v0 ? x1 : x0, y_lower = v3 > v2 ? x3 : x2;
        float best = lower > upper ? lower : upper, y = lower > upper ? y_lower : y_upper;
        float g = best > 0 ? d : 0;
        sum[k] += g;
        dot[k] += g * (y - mean[k]);
    }
}

static void item_pool_reduce(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    float *sums = p->sums + slot * 2 * p->k;
    (void)thread;
    memset(sums, 0, 2 * p->k * sizeof(*sums));
    for (size_t row = slot * p->of; row < pass_end(p, slot); row++) {
        for (size_t x = 0; x < p->w / 2; x++) {
            struct block b = block_at(p, row, x);
            reduce_block(p, &b, sums, sums + p->k);
        }
    }
}

static void apply_block(const struct pass *p, const struct block *b)
{
    const float *y0 = p->y + b->px[0], *y1 = p->y + b->px[1], *y2 = p->y + b->px[2];
    const float *y3 = p->y + b->px[3], *da = p->da + b->pooled;
    const float *scale = p->scale, *shift = p->shift, *mean = p->mean;
    const float *mul = p->mul, *sub = p->sub, *slope = p->slope;
    float *d0 = p->out + b->px[0], *d1 = p->out + b->px[1];
    float *d2 = p->out + b->px[2], *d3 = p->out + b->px[3];
    size_t n = p->k;
#pragma GCC ivdep
    for (size_t k = 0; k < n; k++) {
        float x0 = y0[k], x1 = y1[k], x2 = y2[k], x3 = y3[k], d = da[k];
        float v0 = scale[k] * x0 + shift[k], v1 = scale[k] * x1 + shift[k];
        float v2 = scale[k] * x2 + shift[k], v3 = scale[k] * x3 + shift[k];
        float upper = v1 > v0 ? v1 : v0, lower = v3 > v2 ? v3 : v2;
        float g = (lower > upper ? lower : upper) > 0 ? d : 0;
        float g_lower = lower > upper ? g : 0, g_upper = g - g_lower;
        float g1 = v1 > v0 ? g_upper : 0, g0 = g_upper - g1;
        float g3 = v3 > v2 ? g_lower : 0, g2 = g_lower - g3;
        d0[k] = mul[k] * (g0 - sub[k] - (x0 - mean[k]) * slope[k]);
        d1[k] = mul[k] * (g1 - sub[k] - (x1 - mean[k]) * slope[k]);
        d2[k] = mul[k] * (g2 - sub[k] - (x2 - mean[k]) * slope[k]);
        d3[k] = mul[k] * (g3 - sub[k] - (x3 - mean[k]) * slope[k]);
    }
}

static void item_pool_apply(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    (void)thread;
    for (size_t row = slot * p->of; row < pass_end(p, slot); row++) {
        for (size_t x = 0; x < p->w / 2; x++) {
            struct block b = block_at(p, row, x);
            apply_block(p, &b);
        }
    }
}

static void bn_relu_pool_backward(const struct bn_shape *s, const float *y, const float *scale,
                                  const float *shift, const float *da, const float *mean,
                                  const float *inv_std, const float *gamma, float *dy,
                                  float *dgamma, float *dbeta, const struct work *work)
{
    struct pass p = {.k = s->k, .w = s->w, .y = y, .scale = scale, .shift = shift, .da = da,
                     .mean = mean, .out = dy};
    size_t rows = (size_t)s->n * s->h / 2;
    place_sums(&p, work);
    pass_run(&p, rows, item_pool_reduce, work);
    finish_sums(&p, (double)s->n * s->h * s->w, inv_std, gamma, dgamma, dbeta);
    pass_run(&p, rows, item_pool_apply, work);
}

static float max2(float a, float b)
{
    return b > a ? b : a;
}

static void maxpool2x2_forward(const struct pool_shape *s, const float *restrict x,
                               float *restrict y)
{
    struct pass p = {.k = s->c, .w = s->w};
    for (size_t row = 0; row < (size_t)s->n * s->h / 2; row++) {
        for (size_t ox = 0; ox < s->w / 2; ox++) {
            struct block b = block_at(&p, row, ox);
            for (size_t c = 0; c < s->c; c++) {
                y[b.pooled + c] = max2(max2(x[b.px[0] + c], x[b.px[1] + c]),
                                       max2(x[b.px[2] + c], x[b.px[3] + c]));
            }
        }
    }
}

static void maxpool2x2_backward(const struct pool_shape *s, const float *restrict x,
                                const float *restrict dy, float *restrict dx)
{
    struct pass p = {.k = s->c, .w = s->w};
    for (size_t row = 0; row < (size_t)s->n * s->h / 2; row++) {
        for (size_t ox = 0; ox < s->w / 2; ox++) {
            struct block b = block_at(&p, row, ox);
            for (size_t c = 0; c < s->c; c++) {
                float x0 = x[b.px[0] + c], x1 = x[b.px[1] + c];
                float x2 = x[b.px[2] + c], x3 = x[b.px[3] + c], g = dy[b.pooled + c];
                float upper = max2(x0, x1) >= max2(x2, x3) ? g : 0, lower = g - upper;
                dx[b.px[0] + c] = x0 >= x1 ? upper : 0;
                dx[b.px[1] + c] = x0 >= x1 ? 0 : upper;
                dx[b.px[2] + c] = x2 >= x3 ? lower : 0;
                dx[b.px[3] + c] = x2 >= x3 ? 0 : lower;
            }
        }
    }
}

void ISA_SYMBOL(passes_init)(struct kernels *k)
{
    k->bn_stats = moments_of;
    k->bn_relu_forward = bn_relu_forward;
    k->bn_relu_backward = bn_relu_backward;
    k->bn_relu_pool_forward = bn_relu_pool_forward;
    k->bn_relu_pool_backward = bn_relu_pool_backward;
    k->dropout = dropout;
    k->maxpool2x2_forward = maxpool2x2_forward;
    k->maxpool2x2_backward = maxpool2x2_backward;
}
