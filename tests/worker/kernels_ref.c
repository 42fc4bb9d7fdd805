/* The reference for every kernel: one loop nest directly from the definition, with sums in double.
 * Tests compare all kernels of the worker with these. They are meant to be readable, not fast. */
#include "kernels_ref.h"

#include <math.h>
#include <stdbool.h>

/* The index of (n, y, x, c) in a tensor of `c_n` channels; -1 in the zero padding. */
static int64_t at(const struct conv_shape *s, uint32_t c_n, uint32_t n, uint32_t c, int64_t y,
                  int64_t x)
{
    if (y < 0 || x < 0 || y >= s->h || x >= s->w) {
        return -1;
    }
    return (((int64_t)n * s->h + y) * s->w + x) * c_n + c;
}

static size_t weight_at(const struct conv_shape *s, int tap, uint32_t c, uint32_t k)
{
    return ((size_t)tap * s->c + c) * s->k + k;
}

static double conv_pixel(const struct conv_shape *s, const float *x, const float *weight,
                         uint32_t n, uint32_t k, int64_t oy, int64_t ox)
{
    double sum = 0;
    for (uint32_t c = 0; c < s->c; c++) {
        for (int tap = 0; tap < 9; tap++) {
            int64_t i = at(s, s->c, n, c, oy + tap / 3 - 1, ox + tap % 3 - 1);
            if (i >= 0) {
                sum += (double)x[i] * (double)weight[weight_at(s, tap, c, k)];
            }
        }
    }
    return sum;
}

/* Mean and biased variance of y (pixels, k) over pixels. */
static void moments(size_t pixels, size_t k_n, const float *y, float *mean, float *var)
{
    for (size_t k = 0; k < k_n; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < pixels; i++) {
            sum += (double)y[i * k_n + k];
        }
        double m = sum / (double)pixels;
        for (size_t i = 0; i < pixels; i++) {
            double d = (double)y[i * k_n + k] - m;
            squares += d * d;
        }
        mean[k] = (float)m;
        var[k] = (float)(squares / (double)pixels);
    }
}

static void conv3x3_forward(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *mean, float *var,
                            const struct work *work)
{
    (void)work;
    for (uint32_t n = 0; n < s->n; n++) {
        for (uint32_t k = 0; k < s->k; k++) {
            for (uint32_t oy = 0; oy < s->h; oy++) {
                for (uint32_t ox = 0; ox < s->w; ox++) {
                    double sum = (double)bias[k] + conv_pixel(s, x, weight, n, k, oy, ox);
                    y[at(s, s->k, n, k, oy, ox)] = (float)sum;
                }
            }
        }
    }
    if (mean != NULL) {
        moments((size_t)s->n * s->h * s->w, s->k, y, mean, var);
    }
}

static double conv_pixel_grad(const struct conv_shape *s, const float *dy, const float *weight,
                              uint32_t n, uint32_t c, int64_t iy, int64_t ix)
{
    double sum = 0;
    for (uint32_t k = 0; k < s->k; k++) {
        for (int tap = 0; tap < 9; tap++) {
            int64_t o = at(s, s->k, n, k, iy - tap / 3 + 1, ix - tap % 3 + 1);
            if (o >= 0) {
                sum += (double)dy[o] * (double)weight[weight_at(s, tap, c, k)];
            }
        }
    }
    return sum;
}

static void conv3x3_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, const struct work *work)
{
    (void)work;
    for (uint32_t n = 0; n < s->n; n++) {
        for (uint32_t c = 0; c < s->c; c++) {
            for (uint32_t iy = 0; iy < s->h; iy++) {
                for (uint32_t ix = 0; ix < s->w; ix++) {
                    double sum = conv_pixel_grad(s, dy, weight, n, c, iy, ix);
                    dx[at(s, s->c, n, c, iy, ix)] = (float)sum;
                }
            }
        }
    }
}

static double conv_weight_grad(const struct conv_shape *s, const float *x, const float *dy,
                               uint32_t k, uint32_t c, int tap)
{
    double sum = 0;
    for (uint32_t n = 0; n < s->n; n++) {
        for (uint32_t oy = 0; oy < s->h; oy++) {
            for (uint32_t ox = 0; ox < s->w; ox++) {
                int64_t i = at(s, s->c, n, c, (int64_t)oy + tap / 3 - 1, (int64_t)ox + tap % 3 - 1);
                if (i >= 0) {
                    sum += (double)x[i] * (double)dy[at(s, s->k, n, k, oy, ox)];
                }
            }
        }
    }
    return sum;
}

static void conv3x3_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, const struct work *work)
{
    (void)work;
    for (uint32_t k = 0; k < s->k; k++) {
        double sum = 0;
        for (size_t i = 0; i < (size_t)s->n * s->h * s->w; i++) {
            sum += (double)dy[i * s->k + k];
        }
        dbias[k] = (float)sum;
        for (uint32_t c = 0; c < s->c; c++) {
            for (int tap = 0; tap < 9; tap++) {
                dweight[weight_at(s, tap, c, k)] = (float)conv_weight_grad(s, x, dy, k, c, tap);
            }
        }
    }
}

static size_t conv3x3_scratch(const struct conv_shape *s, unsigned threads)
{
    (void)s;
    (void)threads;
    return 0;
}

static void fc_forward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y, const struct work *work)
{
    (void)work;
    for (size_t i = 0; i < n; i++) {
        for (size_t o = 0; o < k; o++) {
            double sum = (double)bias[o];
            for (size_t j = 0; j < c; j++) {
                sum += (double)x[i * c + j] * (double)weight[o * c + j];
            }
            y[i * k + o] = (float)sum;
        }
    }
}

static void fc_backward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias,
                        const struct work *work)
{
    (void)work;
    for (size_t o = 0; o < k; o++) {
        double bias_sum = 0;
        for (size_t i = 0; i < n; i++) {
            bias_sum += (double)dy[i * k + o];
        }
        dbias[o] = (float)bias_sum;
        for (size_t j = 0; j < c; j++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                sum += (double)dy[i * k + o] * (double)x[i * c + j];
            }
            dweight[o * c + j] = (float)sum;
        }
    }
    for (size_t i = 0; dx != NULL && i < n; i++) {
        for (size_t j = 0; j < c; j++) {
            double sum = 0;
            for (size_t o = 0; o < k; o++) {
                sum += (double)dy[i * k + o] * (double)weight[o * c + j];
            }
            dx[i * c + j] = (float)sum;
        }
    }
}

static size_t pixels_of(const struct bn_shape *s)
{
    return (size_t)s->n * s->h * s->w;
}

static void bn_stats(const struct bn_shape *s, const float *y, float *mean, float *var,
                     const struct work *work)
{
    (void)work;
    moments(pixels_of(s), s->k, y, mean, var);
}

static bool is_dropped(const struct dropout_mask *mask, size_t i)
{
    uint32_t words[4];
    size_t tile = i / (2 * RNG_TILE), half = i / RNG_TILE % 2;
    rng_block(mask->key, tile * 16 + i % 16, words);
    return (words[i % RNG_TILE / 16] >> 16 * half & 0xffff) < mask->below;
}

static float bn_relu(float y, float scale, float shift)
{
    float v = scale * y + shift;
    return v > 0 ? v : 0;
}

static void take_kept(const struct bn_shape *s, const float *a, uint32_t *kept)
{
    for (size_t pixel = 0; pixel < pixels_of(s); pixel++) {
        for (size_t word = 0; word < KEPT_WORDS(s->k); word++) {
            uint32_t bits = 0;
            for (size_t bit = 0; bit < 32 && 32 * word + bit < s->k; bit++) {
                bits |= (uint32_t)(a[pixel * s->k + 32 * word + bit] > 0) << bit;
            }
            kept[pixel * KEPT_WORDS(s->k) + word] = bits;
        }
    }
}

static bool is_kept(const struct bn_shape *s, const uint32_t *kept, size_t i)
{
    size_t pixel = i / s->k, k = i % s->k;
    return (kept[pixel * KEPT_WORDS(s->k) + k / 32] >> k % 32 & 1) != 0;
}

static void bn_relu_forward(const struct bn_shape *s, const struct dropout_mask *mask,
                            const float *y, const float *scale, const float *shift, float *a,
                            uint32_t *kept, const struct work *work)
{
    (void)work;
    for (size_t i = 0; i < pixels_of(s) * s->k; i++) {
        size_t k = i % s->k;
        bool is_zero = mask != NULL && is_dropped(mask, i);
        a[i] = is_zero ? 0 : bn_relu(y[i], scale[k], shift[k]);
    }
    if (kept != NULL) {
        take_kept(s, a, kept);
    }
}

/* dy already holds g, the gradient of ReLU's input. With xhat = (y - mean) * inv_std:
 *     dbeta = sum g,  dgamma = sum g*xhat,
 *     dy = gamma * inv_std * (g - dbeta/M - xhat * dgamma/M),  M = N*H*W. */
static void bn_backward(const struct bn_shape *s, const float *y, const float *mean,
                        const float *inv_std, const float *gamma, float *dy, float *dgamma,
                        float *dbeta)
{
    double count = (double)pixels_of(s);
    for (size_t k = 0; k < s->k; k++) {
        double sum = 0, dot = 0;
        for (size_t i = k; i < pixels_of(s) * s->k; i += s->k) {
            sum += (double)dy[i];
            dot += (double)dy[i] * ((double)y[i] - (double)mean[k]) * (double)inv_std[k];
        }
        for (size_t i = k; i < pixels_of(s) * s->k; i += s->k) {
            double xhat = ((double)y[i] - (double)mean[k]) * (double)inv_std[k];
            dy[i] = (float)((double)gamma[k] * (double)inv_std[k] *
                            ((double)dy[i] - sum / count - xhat * dot / count));
        }
        dgamma[k] = (float)dot;
        dbeta[k] = (float)sum;
    }
}

static void bn_relu_backward(const struct bn_shape *s, const float *y, const uint32_t *kept,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta,
                             const struct work *work)
{
    (void)work;
    for (size_t i = 0; i < pixels_of(s) * s->k; i++) {
        dy[i] = is_kept(s, kept, i) ? da[i] : 0;
    }
    bn_backward(s, y, mean, inv_std, gamma, dy, dgamma, dbeta);
}

/* The offsets of one channel of 2x2 pixels. Blocks are numbered like elements of
 * the pooled tensor. */
struct block {
    size_t px[4];
};

static struct block block_at(const struct bn_shape *s, size_t i)
{
    size_t k = i % s->k, ox = i / s->k % (s->w / 2), oy = i / s->k / (s->w / 2) % (s->h / 2);
    size_t n = i / s->k / (s->w / 2) / (s->h / 2);
    size_t first = ((n * s->h + 2 * oy) * s->w + 2 * ox) * s->k + k, row = (size_t)s->w * s->k;
    return (struct block){{first, first + s->k, first + row, first + row + s->k}};
}

static size_t n_blocks(const struct bn_shape *s)
{
    return (size_t)s->n * (s->h / 2) * (s->w / 2) * s->k;
}

/* The index of the first maximum. */
static int largest(const float v[4])
{
    int best = 0;
    for (int i = 1; i < 4; i++) {
        best = v[i] > v[best] ? i : best;
    }
    return best;
}

static void block_bn_relu(const struct block *b, size_t k, const float *y, const float *scale,
                          const float *shift, float ret[4])
{
    for (int i = 0; i < 4; i++) {
        ret[i] = bn_relu(y[b->px[i]], scale[k], shift[k]);
    }
}

static void bn_relu_pool_forward(const struct bn_shape *s, const float *y, const float *scale,
                                 const float *shift, float *a, const struct work *work)
{
    (void)work;
    for (size_t i = 0; i < n_blocks(s); i++) {
        struct block b = block_at(s, i);
        float v[4];
        block_bn_relu(&b, i % s->k, y, scale, shift, v);
        a[i] = v[largest(v)];
    }
}

static void bn_relu_pool_backward(const struct bn_shape *s, const float *y, const float *scale,
                                  const float *shift, const float *da, const float *mean,
                                  const float *inv_std, const float *gamma, float *dy,
                                  float *dgamma, float *dbeta, const struct work *work)
{
    (void)work;
    for (size_t i = 0; i < n_blocks(s); i++) {
        struct block b = block_at(s, i);
        float v[4];
        block_bn_relu(&b, i % s->k, y, scale, shift, v);
        for (int j = 0; j < 4; j++) {
            dy[b.px[j]] = j == largest(v) && v[j] > 0 ? da[i] : 0;
        }
    }
    bn_backward(s, y, mean, inv_std, gamma, dy, dgamma, dbeta);
}

static void dropout(size_t n, const struct dropout_mask *mask, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = is_dropped(mask, i) ? 0 : x[i];
    }
}

void kernels_init_ref(struct kernels *k)
{
    *k = (struct kernels){
        .isa = "ref",
        .conv3x3_forward = conv3x3_forward,
        .conv3x3_backward_data = conv3x3_backward_data,
        .conv3x3_backward_weight = conv3x3_backward_weight,
        .conv3x3_scratch = conv3x3_scratch,
        .fc_forward = fc_forward,
        .fc_backward = fc_backward,
        .bn_stats = bn_stats,
        .bn_relu_forward = bn_relu_forward,
        .bn_relu_backward = bn_relu_backward,
        .bn_relu_pool_forward = bn_relu_pool_forward,
        .bn_relu_pool_backward = bn_relu_pool_backward,
        .dropout = dropout,
    };
}
