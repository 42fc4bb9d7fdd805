/* The algorithms for convolution, from which conv.c chooses by shape. Arguments as in kernels.h.
 * Compiled once for each instruction set. */
#pragma once

#include <stdbool.h>

#include "worker/kernels/isa.h"

/* By a bilinear scheme, if C and K are whole panels. The weight gradient and its
 * scratch are defined in conv_grads.c, the others in conv_tiles.c. */
#define conv_tiles_forward ISA_SYMBOL(conv_tiles_forward)
#define conv_tiles_backward_data ISA_SYMBOL(conv_tiles_backward_data)
#define conv_tiles_backward_weight ISA_SYMBOL(conv_tiles_backward_weight)
#define conv_tiles_scratch ISA_SYMBOL(conv_tiles_scratch)
#define conv_tiles_weight_scratch ISA_SYMBOL(conv_tiles_weight_scratch)
void conv_tiles_forward(const struct conv_shape *s, const float *x, const float *weight,
                        const float *bias, float *y, float *mean, float *var,
                        const struct work *work);
void conv_tiles_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                              float *dx, const struct work *work);
void conv_tiles_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                float *dweight, float *dbias, const struct work *work);
size_t conv_tiles_scratch(const struct conv_shape *s, unsigned threads);
size_t conv_tiles_weight_scratch(const struct conv_shape *s, unsigned threads);

/* The input gradient of 2x2 images with images on the vector lanes; conv_lanes_fit(s) must be true.
 * Its scratch is 0 for larger images. It is not 0 for a batch that does not fit, because a smaller
 * batch may. Defined in conv_lanes.c. */
#define conv_lanes_fit ISA_SYMBOL(conv_lanes_fit)
#define conv_lanes_backward_data ISA_SYMBOL(conv_lanes_backward_data)
#define conv_lanes_scratch ISA_SYMBOL(conv_lanes_scratch)
bool conv_lanes_fit(const struct conv_shape *s);
void conv_lanes_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                              float *dx, const struct work *work);
size_t conv_lanes_scratch(const struct conv_shape *s, unsigned threads);

/* Directly from the definition, for images of three channels and K whole panels. Defined in
 * conv_rgb.c. */
#define conv_rgb_forward ISA_SYMBOL(conv_rgb_forward)
#define conv_rgb_backward_weight ISA_SYMBOL(conv_rgb_backward_weight)
#define conv_rgb_scratch ISA_SYMBOL(conv_rgb_scratch)
void conv_rgb_forward(const struct conv_shape *s, const float *x, const float *weight,
                      const float *bias, float *y, float *mean, float *var,
                      const struct work *work);
void conv_rgb_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                              float *dweight, float *dbias, const struct work *work);
size_t conv_rgb_scratch(const struct conv_shape *s, unsigned threads);
