#include "worker/kernels/tiles.h"

#include <stdbool.h>

#include "worker/kernels/simd.h"

struct tiling tiling_of(const struct conv_shape *s)
{
    const bool is_pair = s->h == 2 && s->w == 2;
    const struct scheme *scheme = is_pair ? &scheme_pair : &scheme_f4;
    struct tiling t = {.scheme = scheme, .h = s->h, .w = s->w};
    t.down = s->h / scheme->out;
    t.across = s->w / scheme->out;
    t.count = s->n * t.down * t.across;
    return t;
}

void tile_pixels(const struct tiling *t, size_t tile, size_t side, size_t rim, const float *image,
                 size_t channels, const float *outside, const float **px)
{
    size_t column = tile % t->across, row = tile / t->across % t->down;
    size_t n = tile / t->across / t->down;
    /* In unsigned arithmetic a row above the image has a large number, which is outside too. */
    size_t y0 = row * t->scheme->out - rim, x0 = column * t->scheme->out - rim;
    for (size_t i = 0; i < side; i++) {
        size_t y = y0 + i;
        for (size_t j = 0; j < side; j++) {
            size_t x = x0 + j;
            bool is_inside = y < t->h && x < t->w;
            size_t at = ((n * t->h + y) * t->w + x) * channels;
            px[i * side + j] = is_inside ? image + at : outside;
        }
    }
}

void tiles_input(const struct tiling *t, const struct tiles_input *in)
{
    const struct scheme *s = t->scheme;
    const float *px[2][SCHEME_MAX_PLANES];
    size_t last = in->first + in->count - 1;
    tile_pixels(t, in->first, s->in, s->rim, in->x, in->channels, in->zeros, px[0]);
    for (size_t i = 0; i < in->count; i++) {
        const float **now = px[i % 2], **next = px[1 - i % 2];
        size_t tile = in->first + i;
        tile_pixels(t, tile < last ? tile + 1 : last, s->in, s->rim, in->x, in->channels, in->zeros,
                    next);
        for (size_t p = 0; p < in->panels; p++) {
            float *v = in->v + (p * in->v_rows + i) * PANEL;
            size_t channel = (in->panel + p) * PANEL;
            prefetch_pixels(next, s->in * s->in, channel);
            for (size_t at = 0; at < PANEL; at += VL) {
                s->input(now, channel + at, v + at, in->v_plane);
            }
        }
    }
}
