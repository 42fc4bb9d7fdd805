/* The convolution functions of the kernel table: choose the algorithm by shape. */
#include "worker/kernels/conv_internal.h"

#include "worker/kernels/tiles.h"

enum way { BY_TILES, BY_PIXELS, BY_BLAS };

static enum way way_of(const struct conv_shape *s)
{
    if (tiling_of(s).scheme != NULL) {
        return BY_TILES;
    }
    return s->c == 3 && s->k % PANEL == 0 ? BY_PIXELS : BY_BLAS;
}

static void conv3x3_forward(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *mean, float *var,
                            const struct work *work)
{
    switch (way_of(s)) {
    case BY_TILES:
        conv_tiles_forward(s, x, weight, bias, y, mean, var, work);
        break;
    case BY_PIXELS:
        conv_rgb_forward(s, x, weight, bias, y, mean, var, work);
        break;
    case BY_BLAS:
        conv_blas_forward(s, x, weight, bias, y, mean, var, work);
        break;
    }
}

static void conv3x3_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, const struct work *work)
{
    if (conv_lanes_fit(s)) {
        conv_lanes_backward_data(s, dy, weight, dx, work);
    } else if (way_of(s) == BY_TILES) {
        conv_tiles_backward_data(s, dy, weight, dx, work);
    } else {
        conv_blas_backward_data(s, dy, weight, dx, work);
    }
}

static void conv3x3_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, const struct work *work)
{
    switch (way_of(s)) {
    case BY_TILES:
        conv_tiles_backward_weight(s, x, dy, dweight, dbias, work);
        break;
    case BY_PIXELS:
        conv_rgb_backward_weight(s, x, dy, dweight, dbias, work);
        break;
    case BY_BLAS:
        conv_blas_backward_weight(s, x, dy, dweight, dbias, work);
        break;
    }
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t conv3x3_scratch(const struct conv_shape *s, unsigned threads)
{
    size_t most = BN_SCRATCH(s->k);
    switch (way_of(s)) {
    case BY_TILES:
        most = max_size(most, conv_tiles_scratch(s, threads));
        most = max_size(most, conv_lanes_scratch(s, threads));
        return max_size(most, conv_tiles_weight_scratch(s, threads));
    case BY_PIXELS: /* its input gradient is computed by im2col */
        most = max_size(most, conv_rgb_scratch(s, threads));
        return max_size(most, conv_blas_scratch(s, threads));
    case BY_BLAS:
        return max_size(most, conv_blas_scratch(s, threads));
    }
    return most;
}

void ISA_SYMBOL(conv_init)(struct kernels *k)
{
    k->conv3x3_forward = conv3x3_forward;
    k->conv3x3_backward_data = conv3x3_backward_data;
    k->conv3x3_backward_weight = conv3x3_backward_weight;
    k->conv3x3_scratch = conv3x3_scratch;
}
