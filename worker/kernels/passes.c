/* BN, ReLU, dropout and pooling: passes over memory that read each array once if possible. Loops
 * over channels are written so that the compiler vectorises them. Compiled once for each
 * instruction set.
 *
 * Sums are in fp32 over at most 1/64 of the pixels (a "slot"); slots are added in double and in
 * order. */
#include <stdbool.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/isa.h"
#include "worker/kernels/moments.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/slots.h"
#include "worker/tensor/rng_tile.h"

#define STREAM_FLOATS (1u << 20) /* a larger a or dy has left the cache before it is read */
#define STREAM_CHANNELS 512      /* at most, of a dy that is written past the caches */

/* One pass. Arrays as in kernels.h, NULL if it does not use them. A unit is a pixel, or a row of
 * 2x2 blocks in passes with pooling. */
struct pass {
    size_t k, w, units, of; /* of: units per slot */
    bool streams;           /* out is written past the caches */
    const struct dropout_mask *mask;
    const float *y, *scale, *shift, *da, *mean;
    const uint32_t *kept;
    float *out; /* a or dy */
    uint32_t *kept_out;
    float *sums;              /* (slots, 2, k): of g and of g * (y - mean) */
    float *mul, *sub, *slope; /* (k) each: dy = mul * (g - sub - (y - mean) * slope) */
};

static void pass_run(struct pass *p, size_t units, parallel_item item, const struct work *work)
{
    p->units = units;
    p->of = ceil_div(units, BN_SCRATCH_SLOTS);
    parallel_for(work->threads, ceil_div(units, p->of), item, p);
}

static size_t pass_end(const struct pass *p, size_t slot)
{
    size_t end = (slot + 1) * p->of;
    return end < p->units ? end : p->units;
}

/* The random words of one tile, which decide about 2 * RNG_TILE elements (kernels.h). */
struct dropper {
    const struct dropout_mask *mask;
    size_t tile;
    uint32_t words[RNG_TILE];
};
#define DROPPER(mask_)                                                                             \
    {                                                                                              \
        .mask = (mask_), .tile = SIZE_MAX                                                          \
    }

/* The mask of consecutive elements up to the end of the tile: bits from `first` on
 * of their words. */
struct drop {
    const uint32_t *words; /* NULL: no element is dropped */
    uint32_t first, below;
};

/* The mask from `element` on, which is a multiple of 32. */
SIMD_INLINE struct drop dropper_at(struct dropper *d, size_t element)
{
    size_t tile = element / (2 * RNG_TILE);
    if (tile != d->tile) {
        rng_tile_inline(d->mask->key, tile, d->words);
        d->tile = tile;
    }
    return (struct drop){.words = d->words + element % RNG_TILE,
                         .first = 16 * (uint32_t)(element / RNG_TILE % 2),
                         .below = d->mask->below};
}

SIMD_INLINE vmask drop_stays(struct drop drop, size_t j)
{
    vi words;
    memcpy(&words, drop.words + j, sizeof(words));
    return vnot_less(words >> (int)drop.first & 0xffff, (vi){0} + (int)drop.below);
}

/* 32 elements; returns the bits of those above 0. */
SIMD_INLINE uint32_t relu_word(const float *y, const float *scale, const float *shift,
                               struct drop drop, bool streams, float *a)
{
    uint32_t kept = 0;
    for (size_t j = 0; j < 32; j += VL) {
        vf v = vload(scale + j) * vload(y + j) + vload(shift + j);
        vmask stays = vpositive(v);
        if (drop.words != NULL) {
            stays &= drop_stays(drop, j);
        }
        vstore_or_stream(a + j, vkeep(stays, v), streams);
        kept |= vmask_bits(stays) << j;
    }
    return kept;
}

/* d NULL (constant in the inlined code): no dropout. */
SIMD_INLINE void relu_pixel(const struct pass *p, size_t pixel, struct dropper *d)
{
    size_t n = p->k, at = pixel * n;
    const float *y = p->y + at, *scale = p->scale, *shift = p->shift;
    float *a = p->out + at;
    uint32_t *kept = p->kept_out == NULL ? NULL : p->kept_out + at / 32;
    for (size_t k = 0; k < n; k += 32) {
        struct drop drop = {0};
        if (d != NULL) {
            drop = dropper_at(d, at + k);
        }
        uint32_t bits = relu_word(y + k, scale + k, shift + k, drop, p->streams, a + k);
        if (kept != NULL) {
            kept[k / 32] = bits;
        }
    }
}

static void item_relu(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    struct dropper d = DROPPER(p->mask);
    (void)thread;
    for (size_t i = slot * p->of; i < pass_end(p, slot); i++) {
        if (p->mask != NULL) {
            relu_pixel(p, i, &d);
        } else {
            relu_pixel(p, i, NULL);
        }
    }
    if (p->streams) {
        vstream_end();
    }
}

static void dropout(size_t n, const struct dropout_mask *mask, const float *x, float *y)
{
    struct dropper d = DROPPER(mask);
    float tile[RNG_TILE] = {0}; /* y may be x, and the loop is still vectorised */
    for (size_t i = 0; i < n; i += RNG_TILE) {
        size_t count = n - i < RNG_TILE ? n - i : RNG_TILE;
        struct drop drop = dropper_at(&d, i);
        memcpy(tile, x + i, count * sizeof(*x));
        for (size_t j = 0; j < RNG_TILE; j++) {
            tile[j] = (drop.words[j] >> drop.first & 0xffff) < drop.below ? 0 : tile[j];
        }
        memcpy(y + i, tile, count * sizeof(*y));
    }
}

static void bn_relu_forward(const struct bn_shape *s, const struct dropout_mask *mask,
                            const float *y, const float *scale, const float *shift, float *a,
                            uint32_t *kept, const struct work *work)
{
    struct pass p = {.k = s->k,
                     .y = y,
                     .scale = scale,
                     .shift = shift,
                     .out = a,
                     .kept_out = kept,
                     .mask = mask};
    size_t pixels = (size_t)s->n * s->h * s->w;
    p.streams = pixels * s->k > STREAM_FLOATS;
    pass_run(&p, pixels, item_relu, work);
}

/* g of channels from k on: da where the bits are set. */
SIMD_INLINE vf kept_of(const uint32_t *kept, const float *da, size_t k)
{
    return vkeep(vmask_from(kept[k / 32] >> k % 32), vload(da + k));
}

/* sum += g, dot += g * (y - mean). */
static void reduce_row(size_t n, const float *y, const uint32_t *kept, const float *da,
                       const float *mean, float *sum, float *dot)
{
    for (size_t k = 0; k < n; k += VL) {
        vf g = kept_of(kept, da, k);
        vstore(sum + k, vload(sum + k) + g);
        vstore(dot + k, vload(dot + k) + g * (vload(y + k) - vload(mean + k)));
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
        reduce_row(p->k, p->y + at, p->kept + at / 32, p->da + at, p->mean, sums, sums + p->k);
    }
}

/* dy may be da, because it works element by element. */
static void apply_row(const struct pass *p, size_t pixel)
{
    size_t n = p->k, at = pixel * n;
    const float *y = p->y + at, *da = p->da + at;
    const float *mul = p->mul, *sub = p->sub, *slope = p->slope, *mean = p->mean;
    const uint32_t *kept = p->kept + at / 32;
    float *dy = p->out + at;
    for (size_t k = 0; k < n; k += VL) {
        vf g = kept_of(kept, da, k), off = vload(y + k) - vload(mean + k);
        vstore(dy + k, vload(mul + k) * (g - vload(sub + k) - off * vload(slope + k)));
    }
}

static void item_apply(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    (void)thread;
    for (size_t i = slot * p->of; i < pass_end(p, slot); i++) {
        apply_row(p, i);
    }
}

/* Adds the sums of all slots to dgamma, dbeta and the coefficients of dy (mul, sub, slope). */
static void finish_sums(struct pass *p, double pixels, const float *inv_std, const float *gamma,
                        float *dgamma, float *dbeta)
{
    size_t n_slots = ceil_div(p->units, p->of);
    for (size_t first = 0; first < p->k; first += SLOT_COLUMNS) {
        size_t count = p->k - first < SLOT_COLUMNS ? p->k - first : SLOT_COLUMNS;
        double sum[SLOT_COLUMNS], dot[SLOT_COLUMNS];
        slots_sum(p->sums + first, n_slots, 2 * p->k, count, sum);
        slots_sum(p->sums + p->k + first, n_slots, 2 * p->k, count, dot);
        for (size_t i = 0; i < count; i++) {
            size_t k = first + i;
            double inv = (double)inv_std[k];
            dgamma[k] = (float)(dot[i] * inv);
            dbeta[k] = (float)sum[i];
            p->mul[k] = (float)((double)gamma[k] * inv);
            p->sub[k] = (float)(sum[i] / pixels);
            p->slope[k] = (float)(dot[i] * inv * inv / pixels);
        }
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

static void bn_relu_backward(const struct bn_shape *s, const float *y, const uint32_t *kept,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta,
                             const struct work *work)
{
    struct pass p = {.k = s->k, .y = y, .kept = kept, .da = da, .mean = mean, .out = dy};
    size_t pixels = (size_t)s->n * s->h * s->w;
    place_sums(&p, work);
    pass_run(&p, pixels, item_reduce, work);
    finish_sums(&p, (double)pixels, inv_std, gamma, dgamma, dbeta);
    pass_run(&p, pixels, item_apply, work);
}

/* The offsets of a 2x2 block: its four pixels in row order, and its pooled pixel. */
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
    SIMD_LOOP
    for (size_t k = 0; k < n; k++) {
        float v0 = scale[k] * y0[k] + shift[k], v1 = scale[k] * y1[k] + shift[k];
        float v2 = scale[k] * y2[k] + shift[k], v3 = scale[k] * y3[k] + shift[k];
        float upper = v1 > v0 ? v1 : v0, lower = v3 > v2 ? v3 : v2;
        float best = lower > upper ? lower : upper;
        a[k] = best > 0 ? best : 0;
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
    SIMD_LOOP
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

/* Writes dy of the four pixels. */
static void apply_block(const struct pass *p, const struct block *b, float *const dy[4])
{
    const float *y0 = p->y + b->px[0], *y1 = p->y + b->px[1], *y2 = p->y + b->px[2];
    const float *y3 = p->y + b->px[3], *da = p->da + b->pooled;
    const float *scale = p->scale, *shift = p->shift, *mean = p->mean;
    const float *mul = p->mul, *sub = p->sub, *slope = p->slope;
    float *d0 = dy[0], *d1 = dy[1], *d2 = dy[2], *d3 = dy[3];
    size_t n = p->k;
    SIMD_LOOP
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

/* n is a multiple of VL. */
static void stream_row(size_t n, const float *from, float *to)
{
    for (size_t k = 0; k < n; k += VL) {
        vstream(to + k, vload(from + k));
    }
}

static void item_pool_apply(void *ctx, size_t slot, unsigned thread)
{
    const struct pass *p = ctx;
    (void)thread;
    for (size_t row = slot * p->of; row < pass_end(p, slot); row++) {
        for (size_t x = 0; x < p->w / 2; x++) {
            struct block b = block_at(p, row, x);
            float *dy[4], near[4][STREAM_CHANNELS];
            for (size_t i = 0; i < 4; i++) {
                dy[i] = p->streams ? near[i] : p->out + b.px[i];
            }
            apply_block(p, &b, dy);
            for (size_t i = 0; p->streams && i < 4; i++) {
                stream_row(p->k, near[i], p->out + b.px[i]);
            }
        }
    }
    if (p->streams) {
        vstream_end();
    }
}

static void bn_relu_pool_backward(const struct bn_shape *s, const float *y, const float *scale,
                                  const float *shift, const float *da, const float *mean,
                                  const float *inv_std, const float *gamma, float *dy,
                                  float *dgamma, float *dbeta, const struct work *work)
{
    struct pass p = {.k = s->k,
                     .w = s->w,
                     .y = y,
                     .scale = scale,
                     .shift = shift,
                     .da = da,
                     .mean = mean,
                     .out = dy};
    size_t rows = (size_t)s->n * s->h / 2;
    place_sums(&p, work);
    pass_run(&p, rows, item_pool_reduce, work);
    finish_sums(&p, (double)s->n * s->h * s->w, inv_std, gamma, dgamma, dbeta);
    p.streams = (size_t)s->n * s->h * s->w * s->k > STREAM_FLOATS && s->k <= STREAM_CHANNELS;
    pass_run(&p, rows, item_pool_apply, work);
}

void ISA_SYMBOL(passes_init)(struct kernels *k)
{
    k->bn_stats = moments_of;
    k->bn_relu_forward = bn_relu_forward;
    k->bn_relu_backward = bn_relu_backward;
    k->bn_relu_pool_forward = bn_relu_pool_forward;
    k->bn_relu_pool_backward = bn_relu_pool_backward;
    k->dropout = dropout;
}
