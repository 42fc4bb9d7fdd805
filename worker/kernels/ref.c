/* The readable truth of every kernel: one loop nest straight from the definition, sums in double.
 * Tests compare all other kernels with these; nothing here is meant to be fast. */
#include <math.h>
#include <stdbool.h>

#include "worker/kernels/kernels.h"

/* Index of x (.., c, y, x) in a tensor of `c_n` channels, or -1 in the zero padding. */
static int64_t at(const struct conv_shape *s, uint32_t c_n, uint32_t n, uint32_t c, int64_t y,
                  int64_t x)
{
    if (y < 0 || x < 0 || y >= s->h || x >= s->w) {
        return -1;
    }
    return (((int64_t)n * c_n + c) * s->h + y) * s->w + x;
}

static double conv_pixel(const struct conv_shape *s, const float *x, const float *weight,
                         uint32_t n, uint32_t k, int64_t oy, int64_t ox)
{
    double sum = 0;
    for (uint32_t c = 0; c < s->c; c++) {
        for (int tap = 0; tap < 9; tap++) {
            int64_t i = at(s, s->c, n, c, oy + tap / 3 - 1, ox + tap % 3 - 1);
            if (i >= 0) {
                sum += (double)x[i] * (double)weight[((size_t)k * s->c + c) * 9 + (size_t)tap];
            }
        }
    }
    return sum;
}

static void conv3x3_forward(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *scratch)
{
    (void)scratch;
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
}

static double conv_pixel_grad(const struct conv_shape *s, const float *dy, const float *weight,
                              uint32_t n, uint32_t c, int64_t iy, int64_t ix)
{
    double sum = 0;
    for (uint32_t k = 0; k < s->k; k++) {
        for (int tap = 0; tap < 9; tap++) {
            int64_t o = at(s, s->k, n, k, iy - tap / 3 + 1, ix - tap % 3 + 1);
            if (o >= 0) {
                sum += (double)dy[o] * (double)weight[((size_t)k * s->c + c) * 9 + (size_t)tap];
            }
        }
    }
    return sum;
}

static void conv3x3_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, float *scratch)
{
    (void)scratch;
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
                                    float *dweight, float *dbias, float *scratch)
{
    (void)scratch;
    size_t hw = (size_t)s->h * s->w;
    for (uint32_t k = 0; k < s->k; k++) {
        double sum = 0;
        for (uint32_t n = 0; n < s->n; n++) {
            for (size_t i = 0; i < hw; i++) {
                sum += (double)dy[((size_t)n * s->k + k) * hw + i];
            }
        }
        dbias[k] = (float)sum;
        for (uint32_t c = 0; c < s->c; c++) {
            for (int tap = 0; tap < 9; tap++) {
                dweight[((size_t)k * s->c + c) * 9 + (size_t)tap] =
                    (float)conv_weight_grad(s, x, dy, k, c, tap);
            }
        }
    }
}

static size_t conv3x3_scratch(const struct conv_shape *s)
{
    (void)s;
    return 0;
}

static void fc_forward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y)
{
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
                        const float *dy, float *dx, float *dweight, float *dbias)
{
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

static void bn_stats(const struct bn_shape *s, const float *y, float *mean, float *var)
{
    double count = (double)s->n * s->hw;
    for (uint32_t k = 0; k < s->k; k++) {
        double sum = 0, squares = 0;
        for (uint32_t n = 0; n < s->n; n++) {
            for (size_t i = 0; i < s->hw; i++) {
                sum += (double)y[((size_t)n * s->k + k) * s->hw + i];
            }
        }
        double m = sum / count;
        for (uint32_t n = 0; n < s->n; n++) {
            for (size_t i = 0; i < s->hw; i++) {
                double d = (double)y[((size_t)n * s->k + k) * s->hw + i] - m;
                squares += d * d;
            }
        }
        mean[k] = (float)m;
        var[k] = (float)(squares / count);
    }
}

static void bn_relu_forward(const struct bn_shape *s, const float *y, const float *scale,
                            const float *shift, float *a)
{
    for (size_t plane = 0; plane < (size_t)s->n * s->k; plane++) {
        size_t k = plane % s->k;
        for (size_t i = plane * s->hw; i < (plane + 1) * s->hw; i++) {
            float v = scale[k] * y[i] + shift[k];
            a[i] = v > 0 ? v : 0;
        }
    }
}

/* With g = da where a > 0 and xhat = (y - mean) * inv_std:
 *     dbeta = sum g,  dgamma = sum g*xhat,
 *     dy = gamma * inv_std * (g - dbeta/M - xhat * dgamma/M),  M = N*HW. */
static void bn_relu_backward(const struct bn_shape *s, const float *y, const float *a,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta)
{
    double count = (double)s->n * s->hw;
    for (uint32_t k = 0; k < s->k; k++) {
        double sum = 0, dot = 0;
        for (uint32_t n = 0; n < s->n; n++) {
            for (size_t j = 0; j < s->hw; j++) {
                size_t i = ((size_t)n * s->k + k) * s->hw + j;
                double g = a[i] > 0 ? (double)da[i] : 0;
                sum += g;
                dot += g * ((double)y[i] - (double)mean[k]) * (double)inv_std[k];
            }
        }
        for (uint32_t n = 0; n < s->n; n++) {
            for (size_t j = 0; j < s->hw; j++) {
                size_t i = ((size_t)n * s->k + k) * s->hw + j;
                double g = a[i] > 0 ? (double)da[i] : 0;
                double xhat = ((double)y[i] - (double)mean[k]) * (double)inv_std[k];
                dy[i] = (float)((double)gamma[k] * (double)inv_std[k] *
                                (g - sum / count - xhat * dot / count));
            }
        }
        dgamma[k] = (float)dot;
        dbeta[k] = (float)sum;
    }
}

static void dropout(size_t n, const struct dropout_mask *mask, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t words[4];
        rng_block(mask->key, i / RNG_TILE * 16 + i % 16, words);
        y[i] = words[i % RNG_TILE / 16] < mask->below ? 0 : x[i];
    }
}

/* Offset of the first largest element of the 2x2 block at (2*oy, 2*ox) of a plane. */
static size_t block_max(const struct pool_shape *s, const float *plane, size_t oy, size_t ox)
{
    size_t best = 2 * oy * s->w + 2 * ox;
    const size_t others[] = {best + 1, best + s->w, best + s->w + 1};
    for (int i = 0; i < 3; i++) {
        best = plane[others[i]] > plane[best] ? others[i] : best;
    }
    return best;
}

static void maxpool2x2_forward(const struct pool_shape *s, const float *x, float *y)
{
    for (size_t p = 0; p < s->planes; p++) {
        const float *plane = x + p * s->h * s->w;
        for (size_t oy = 0; oy < s->h / 2; oy++) {
            for (size_t ox = 0; ox < s->w / 2; ox++) {
                y[(p * (s->h / 2) + oy) * (s->w / 2) + ox] = plane[block_max(s, plane, oy, ox)];
            }
        }
    }
}

static void maxpool2x2_backward(const struct pool_shape *s, const float *x, const float *dy,
                                float *dx)
{
    for (size_t i = 0; i < (size_t)s->planes * s->h * s->w; i++) {
        dx[i] = 0;
    }
    for (size_t p = 0; p < s->planes; p++) {
        size_t base = p * s->h * s->w;
        for (size_t oy = 0; oy < s->h / 2; oy++) {
            for (size_t ox = 0; ox < s->w / 2; ox++) {
                dx[base + block_max(s, x + base, oy, ox)] =
                    dy[(p * (s->h / 2) + oy) * (s->w / 2) + ox];
            }
        }
    }
}

static double softmax_xent(uint32_t n, uint32_t k, const float *logits, const uint8_t *labels,
                           float *dlogits, uint32_t *ret_right)
{
    double loss = 0;
    uint32_t right = 0;
    for (size_t i = 0; i < n; i++) {
        const float *row = logits + i * k;
        size_t best = 0;
        for (size_t j = 1; j < k; j++) {
            best = row[j] > row[best] ? j : best;
        }
        double sum = 0;
        for (size_t j = 0; j < k; j++) {
            sum += exp((double)row[j] - (double)row[best]);
        }
        double log_sum = log(sum) + (double)row[best];
        for (size_t j = 0; j < k; j++) {
            double target = j == labels[i] ? 1 : 0;
            dlogits[i * k + j] = (float)((exp((double)row[j] - log_sum) - target) / n);
        }
        loss += log_sum - (double)row[labels[i]];
        right += best == labels[i];
    }
    *ret_right = right;
    return loss / n;
}

void kernels_init_ref(struct kernels *k)
{
    *k = (struct kernels){
        .name = "ref",
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
        .dropout = dropout,
        .maxpool2x2_forward = maxpool2x2_forward,
        .maxpool2x2_backward = maxpool2x2_backward,
        .softmax_xent = softmax_xent,
    };
}
