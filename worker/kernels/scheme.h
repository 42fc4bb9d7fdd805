/* Bilinear schemes: a 3x3 convolution of small tiles as fewer products.
 *
 * A tile of out x out pixels of y needs in x in pixels of x. With the matrices of a scheme, applied
 * to rows and columns,
 *     y  = A^T [ sum over C of (G w G^T) . (B^T x B) ] A
 *     dw = G^T [ sum over tiles of (B^T x B) . (A dy A^T) ] G
 * where . multiplies element by element: `planes` elements, each a matrix product of its own over
 * all tiles and channels. The gradient of x is the first formula with taps turned by 180 degrees
 * and C, K swapped.
 *
 * Every function below handles VL channels of one tile (simd.h) or one row of weights. px holds
 * pointers to the channel vectors of a tile's pixels in row order; pixels in the padding point to
 * zeros (or to waste when written). `plane` is the distance of planes in floats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/kernels/isa.h"

#define SCHEME_MAX_PLANES 36

/* Sums over the pixels of VL channels, about a pivot near the mean so that the variance does not
 * cancel. */
struct scheme_moments {
    float *pivot, *sum, *squares; /* (VL) each; of y - pivot */
    bool begins;                  /* they are unset: the first pixel becomes the pivot */
};

struct scheme {
    const char *name;
    size_t out, in; /* pixels along a side of a tile of y and of x */
    size_t rim;     /* rows of x above the first row of y */
    size_t planes;  /* products instead of out * out * 9 */
    /* v[plane] = B^T x B */
    void (*input)(const float *const *px, size_t channel, float *v, size_t plane);
    /* y = A^T m A + bias (K), by vstream (simd.h) if `streams`; moments (NULL: not wanted) take
     * y in */
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
/* Winograd F(4x4, 3x3): 36 products for 144. Points 0, +-1/2, +-3/2 and infinity have the least
 * rounding error of the symmetric sets (docs/worker.md). */
extern const struct scheme scheme_f4;
/* 2x2 images with their padding: 9 products for 36, of which 16 do not meet the padding. */
extern const struct scheme scheme_pair;
