/* The first layer, C = 3: with 27 products per pixel and output channel a bilinear scheme would
 * save nothing. Each image is copied into a frame of zeros. The nine values that a row of taps
 * needs for a pixel are then contiguous, so the product reads the frame
 * directly, without im2col. */
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/moments.h"
#include "worker/kernels/product.h"
#include "worker/kernels/slots.h"
#include "worker/kernels/thread_pool.h"

#define C 3
#define TAP_ROW (3 * C) /* values per row of taps */
#define GRAD_IMAGES 4   /* images whose gradients are summed in fp32 before they go into doubles */

struct rgb {
    const struct conv_shape *s;
    const float *x, *weight, *bias, *dy;
    float *y;
    /* Scratch: */
    size_t frame_each;
    float *frames;   /* (threads, h+2, w+2, 3) */
    float *moments;  /* (n, 3, k); NULL: not computed */
    float *dweights; /* (parts, 27, k) */
    float *dbiases;  /* (n, k) */
};

static size_t hw(const struct rgb *r)
{
    return (size_t)r->s->h * r->s->w;
}

static void plan(struct rgb *r, unsigned threads, struct carver *scratch)
{
    r->frame_each = (size_t)(r->s->h + 2) * (r->s->w + 2) * C;
    r->frames = carve(scratch, r->frame_each * threads);
    r->moments = carve(scratch, (size_t)r->s->n * 3 * r->s->k);
    r->dweights = carve(scratch, ceil_div(r->s->n, GRAD_IMAGES) * 3 * TAP_ROW * r->s->k);
    r->dbiases = carve(scratch, (size_t)r->s->n * r->s->k);
}

static void copy_image(const struct rgb *r, size_t n, float *frame)
{
    size_t row = (size_t)r->s->w * C, frame_row = row + 2 * C;
    const float *x = r->x + n * hw(r) * C;
    for (size_t i = 0; i < r->s->h; i++) {
        memcpy(frame + (i + 1) * frame_row + C, x + i * row, row * sizeof(*x));
    }
}

static void item_forward(void *ctx, size_t n, unsigned thread)
{
    const struct rgb *r = ctx;
    size_t k = r->s->k, w = r->s->w, frame_row = (w + 2) * C;
    float *frame = r->frames + thread * r->frame_each, *y = r->y + n * hw(r) * k;
    copy_image(r, n, frame);
    for (size_t i = 0; i < r->s->h; i++) {
        for (size_t at = 0; at < k; at += PANEL) {
            struct product p = {.a = frame + i * frame_row,
                                .a_panel = frame_row,
                                .b = r->weight + at,
                                .b_step = k,
                                .c = y + i * w * k + at,
                                .c_row = k,
                                .init = r->bias + at,
                                .panels = 3,
                                .steps = TAP_ROW};
            product_pixels(&p, w);
        }
    }
    if (r->moments != NULL) {
        moments_take(y, hw(r), k, r->moments + n * 3 * k);
    }
}

void conv_rgb_forward(const struct conv_shape *s, const float *x, const float *weight,
                      const float *bias, float *y, float *mean, float *var, const struct work *work)
{
    struct rgb r = {.s = s, .x = x, .weight = weight, .bias = bias, .y = y};
    struct carver scratch = {.base = work->scratch};
    unsigned threads = thread_pool_size(work->threads);
    plan(&r, threads, &scratch);
    memset(r.frames, 0, r.frame_each * threads * sizeof(float));
    float *moments = r.moments;
    r.moments = mean == NULL ? NULL : moments;
    parallel_for(work->threads, s->n, item_forward, &r);
    if (mean != NULL) {
        moments_merge(moments, s->k, s->n * hw(&r), hw(&r), mean, var);
    }
}

/* The sum over GRAD_IMAGES images, in order. */
static void item_grad(void *ctx, size_t part, unsigned thread)
{
    const struct rgb *r = ctx;
    size_t k = r->s->k, w = r->s->w, frame_row = (w + 2) * C, first = part * GRAD_IMAGES;
    float *frame = r->frames + thread * r->frame_each;
    float *dweight = r->dweights + part * 3 * TAP_ROW * k;
    for (size_t n = first; n < first + GRAD_IMAGES && n < r->s->n; n++) {
        copy_image(r, n, frame);
        for (size_t tap_row = 0; tap_row < 3; tap_row++) {
            for (size_t at = 0; at < k; at += PANEL) {
                float *c = dweight + tap_row * TAP_ROW * k + at;
                struct product p = {.a = frame + tap_row * frame_row,
                                    .a_panel = frame_row,
                                    .b = r->dy + n * hw(r) * k + at,
                                    .b_step = k,
                                    .c = c,
                                    .c_row = k,
                                    .init = n == first ? NULL : c,
                                    .init_row = k,
                                    .panels = r->s->h,
                                    .steps = w};
                product_pixel_grads(&p, TAP_ROW);
            }
        }
        sum_pixels(hw(r), k, r->dy + n * hw(r) * k, r->dbiases + n * k); /* dy is in the cache */
    }
}

void conv_rgb_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                              float *dweight, float *dbias, const struct work *work)
{
    struct rgb r = {.s = s, .x = x, .dy = dy};
    struct carver scratch = {.base = work->scratch};
    unsigned threads = thread_pool_size(work->threads);
    size_t parts = ceil_div(s->n, GRAD_IMAGES);
    plan(&r, threads, &scratch);
    memset(r.frames, 0, r.frame_each * threads * sizeof(float));
    parallel_for(work->threads, parts, item_grad, &r);
    slots_sum_all(r.dweights, parts, 3 * TAP_ROW * s->k, dweight);
    slots_sum_all(r.dbiases, s->n, s->k, dbias);
}

size_t conv_rgb_scratch(const struct conv_shape *s, unsigned threads)
{
    struct rgb r = {.s = s};
    struct carver scratch = {0};
    plan(&r, threads, &scratch);
    return scratch.used;
}
