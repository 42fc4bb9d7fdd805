/* The convolution functions of the kernel table: choose the algorithm by shape. */
#include <assert.h>

#include "worker/kernels/conv_internal.h"
#include "worker/kernels/tiles.h"

static bool is_rgb(const struct conv_shape *s)
{
    return s->c == 3;
}

static void conv3x3_forward(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *mean, float *var,
                            const struct work *work)
{
    if (is_rgb(s)) {
        conv_rgb_forward(s, x, weight, bias, y, mean, var, work);
    } else {
        conv_tiles_forward(s, x, weight, bias, y, mean, var, work);
    }
}

static void conv3x3_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, const struct work *work)
{
    if (conv_lanes_fit(s)) {
        conv_lanes_backward_data(s, dy, weight, dx, work);
    } else {
        conv_tiles_backward_data(s, dy, weight, dx, work);
    }
}

static void conv3x3_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, const struct work *work)
{
    if (is_rgb(s)) {
        conv_rgb_backward_weight(s, x, dy, dweight, dbias, work);
    } else {
        conv_tiles_backward_weight(s, x, dy, dweight, dbias, work);
    }
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t conv3x3_scratch(const struct conv_shape *s, unsigned threads)
{
    size_t most = BN_SCRATCH(s->k);
    assert(s->k % PANEL == 0);
    if (is_rgb(s)) {
        return max_size(most, conv_rgb_scratch(s, threads));
    }
    assert(s->c % PANEL == 0 && s->h % tiling_of(s).scheme->out == 0 &&
           s->w % tiling_of(s).scheme->out == 0);
    most = max_size(most, conv_tiles_scratch(s, threads));
    most = max_size(most, conv_lanes_scratch(s, threads));
    return max_size(most, conv_tiles_weight_scratch(s, threads));
}

void ISA_SYMBOL(conv_init)(struct kernels *k)
{
    k->conv3x3_forward = conv3x3_forward;
    k->conv3x3_backward_data = conv3x3_backward_data;
    k->conv3x3_backward_weight = conv3x3_backward_weight;
    k->conv3x3_scratch = conv3x3_scratch;
}
