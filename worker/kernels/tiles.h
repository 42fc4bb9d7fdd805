/* Divides images into the tiles of a scheme (scheme.h) and transforms many tiles into panels
 * (product.h). Compiled once for each instruction set. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/product.h"
#include "worker/kernels/scheme.h"

/* Tiles are numbered by image, then row, then column. */
struct tiling {
    const struct scheme *scheme;
    size_t h, w, down, across, count;
};

/* Planes at power-of-two distances would share cache sets; 192 bytes of padding prevent it. */
#define PLANE_PAD 48
/* Tiles that are summed in fp32 before the sum goes into a double. */
#define MOMENT_TILES 64

#define tiling_of ISA_SYMBOL(tiling_of)
#define tile_pixels ISA_SYMBOL(tile_pixels)
#define tiles_input ISA_SYMBOL(tiles_input)
/* The tiling of a shape: a tile is a whole image of 2x2, else 4x4 pixels. */
struct tiling tiling_of(const struct conv_shape *s);
/* Sets px (side, side) to the pixels of the square that begins `rim` pixels above and to the left
 * of the tile's first output pixel, in an image tensor (N, H, W, channels); pixels in the padding
 * point to `outside` (not used if rim is 0). */
void tile_pixels(const struct tiling *t, size_t tile, size_t side, size_t rim, const float *image,
                 size_t channels, const float *outside, const float **px);

/* Prefetches one panel of the pixels of a tile that is needed soon, because tiles are too small,
 * and their rows too far apart, for the hardware to detect a stream. It prefetches into the
 * second-level cache: pixels of a column lie a multiple of 4 KB apart and would evict each other
 * from the first. */
static inline void prefetch_pixels(const float *const *px, size_t n, size_t channel)
{
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(px[i] + channel, 0, 2);
        __builtin_prefetch(px[i] + channel + PANEL / 2, 0, 2);
    }
}

/* The same for a panel of the nine taps of weights, which lie `tap` floats apart. */
static inline void prefetch_taps(const float *w, ptrdiff_t tap)
{
    for (ptrdiff_t i = 0; i < 9; i++) {
        __builtin_prefetch(w + i * tap, 0, 2);
        __builtin_prefetch(w + i * tap + PANEL / 2, 0, 2);
    }
}

/* Computes B^T x B of tiles first .. first+count and of `panels` panels of channels from `panel`
 * on: v[plane * v_plane + (p * v_rows + tile - first) * PANEL + channel],  p from 0 */
struct tiles_input {
    const float *x; /* (N, H, W, channels) */
    size_t channels, panel, panels, first, count;
    const float *zeros; /* (channels) */
    float *v;
    size_t v_plane, v_rows;
};
void tiles_input(const struct tiling *t, const struct tiles_input *in);
