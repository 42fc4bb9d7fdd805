/* Bilinear schemes compute a 3x3 convolution of small tiles with fewer products.
 *
 * A tile of out x out pixels of y needs in x in pixels of x. With the matrices of a scheme, applied
 * to rows and columns,
 *     y  = A^T [ sum over C of (G w G^T) . (B^T x B) ] A
 *     dw = G^T [ sum over tiles of (B^T x B) . (A dy A^T) ] G
 * where . multiplies element by element. There are `planes` elements, and each is a matrix product
 * over all tiles and channels. The gradient of x is the first formula with the taps rotated by 180
 * degrees and C, K swapped.
 *
 * Every function below handles VL channels (simd.h) of one tile or of one row of weights. px holds
 * pointers to the channel vectors of a tile's pixels in row order; pixels in the padding point to
 * zeros. `plane` is the distance between planes in floats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/kernels/isa.h"

#define SCHEME_MAX_PLANES 36

/* Sums over the pixels of VL channels. They are about a pivot near the mean, so that the variance
 * does not lose its digits. */
struct scheme_moments {
    float *pivot, *sum, *squares; /* (VL) each; of y - pivot */
    bool begins;                  /* they are not set yet: the first pixel becomes the pivot */
};

struct scheme {
    size_t out, in; /* pixels along a side of a tile of y and of x */
    size_t rim;     /* rows of x above the first row of y */
    size_t planes;  /* products instead of out * out * 9 */
    /* v[plane] = B^T x B */
    void (*input)(const float *const *px, size_t channel, float *v, size_t plane);
    /* y = A^T m A + bias (K), by vstream (simd.h) if `streams`; adds y to the
     * moments (NULL: none) */
    void (*output)(const float *m, size_t plane, const float *bias, float *const *px,
                   size_t channel, bool streams, const struct scheme_moments *moments);
    /* v[plane] = A dy A^T; sum (VL) += dy over the tile */
    void (*output_grad)(const float *const *px, size_t channel, float *v, size_t plane, float *sum);
    /* u[plane] = G w G^T; tap t lies at w + t * tap */
    void (*weight)(const float *w, ptrdiff_t tap, float *u, size_t plane);
    /* dw = G^T du G, by vstream if `streams` */
    void (*weight_grad)(const float *du, size_t plane, float *dw, size_t tap, bool streams);
};

#define scheme_f4 ISA_SYMBOL(scheme_f4)
#define scheme_pair ISA_SYMBOL(scheme_pair)
/* Winograd F(4x4, 3x3): 36 products instead of 144. The points 0, +-1/2, +-3/2 and infinity have
 * the smallest rounding error of all symmetric sets (docs/worker.md). In scheme_f4.c. */
extern const struct scheme scheme_f4;
/* Images of 2x2 with their padding: 9 products instead of 36, of which 16 do not touch the padding.
 * In scheme_pair.c. */
extern const struct scheme scheme_pair;
