/* Images as tiles of a scheme (scheme.h), and the transforms of many tiles into panels (product.h).
 * Compiled once for each instruction set. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/product.h"
#include "worker/kernels/scheme.h"

/* Tiles count over images, then rows, then columns. */
struct tiling {
    const struct scheme *scheme;
    size_t h, w, down, across, count;
};

/* Planes at power-of-two distances fall into the same cache sets; 192 bytes keep them apart. */
#define PLANE_PAD 48
/* Tiles whose fp32 sums are taken together before they go into doubles. */
#define MOMENT_TILES 64

#define tiling_of ISA_SYMBOL(tiling_of)
#define tile_pixels ISA_SYMBOL(tile_pixels)
#define tiles_input ISA_SYMBOL(tiles_input)
/* The scheme for a shape, scheme NULL where none applies: C and K must be whole panels. */
struct tiling tiling_of(const struct conv_shape *s);
/* Pointers to the pixels of the square of `side` that begins `rim` above and left of tile's first
 * output pixel, in image tensor (N, H, W, channels); `outside` for those in the padding. */
void tile_pixels(const struct tiling *t, size_t tile, size_t side, size_t rim, const float *image,
                 size_t channels, const float *outside, const float **px);

/* Begins to fetch one panel of the pixels of a tile that will be needed soon: tiles are too small,
 * and their rows too far apart, for the hardware to see a stream. Into the second-level cache:
 * pixels of a column lie a multiple of 4 KB apart and would push each other out of the first
 * (weight gradient of conv1_2: 36 ms with, 28.5 without). */
static inline void prefetch_pixels(const float *const *px, size_t n, size_t channel)
{
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(px[i] + channel, 0, 2);
        __builtin_prefetch(px[i] + channel + PANEL / 2, 0, 2);
    }
}

/* Likewise a panel of the nine taps of weights, `tap` floats apart. */
static inline void prefetch_taps(const float *w, ptrdiff_t tap)
{
    for (ptrdiff_t i = 0; i < 9; i++) {
        __builtin_prefetch(w + i * tap, 0, 2);
        __builtin_prefetch(w + i * tap + PANEL / 2, 0, 2);
    }
}

/* B^T x B of tiles first .. first+count and `panels` panels of channels from panel `panel` on:
 *     v[plane * v_plane + (p * v_rows + tile - first) * PANEL + channel],  p from 0 */
struct tiles_input {
    const float *x; /* (N, H, W, channels) */
    size_t channels, panel, panels, first, count;
    const float *zeros; /* (channels) */
    float *v;
    size_t v_plane, v_rows;
};
void tiles_input(const struct tiling *t, const struct tiles_input *in);
