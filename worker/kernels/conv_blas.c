/* Convolution of any shape as im2col and one OpenBLAS sgemm per block of images:
 *
 *     Y (P, K) = col (P, 9*C) * W (9*C, K)        P = images of the block * H * W
 *     dX       = the same with the taps turned by 180 degrees and C, K swapped
 *     dW      += col (P, 9*C)^T * dY (P, K)       blocks in order, so the bits do not vary */
#include <string.h>

#include <cblas.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/moments.h"

#define BLOCK_PIXELS 256 /* about as many rows as sgemm needs to be efficient */
#define BIAS_PIXELS 256  /* of a sum in fp32 */
#define BIAS_COLUMNS 64

struct blas_conv {
    uint32_t images; /* of a full block */
    float *col;      /* (P, 9 * max(C,K)) */
    float *turned;   /* (3, 3, K, C) */
};

static struct blas_conv plan(const struct conv_shape *s, struct carver *scratch)
{
    size_t hw = (size_t)s->h * s->w, most = s->c > s->k ? s->c : s->k;
    size_t images = hw >= BLOCK_PIXELS ? 1 : BLOCK_PIXELS / hw;
    images = images > s->n ? s->n : images;
    struct blas_conv p = {.images = (uint32_t)images};
    p.col = carve(scratch, images * hw * 9 * most);
    p.turned = carve(scratch, (size_t)9 * s->c * s->k);
    return p;
}

size_t conv_blas_scratch(const struct conv_shape *s, unsigned threads)
{
    struct carver count = {0};
    (void)threads; /* runs in one thread: this is the fallback */
    (void)plan(s, &count);
    return count.used;
}

/* The nine pixels around (y, x) of an image (h, w, c), zeros outside. */
static void gather(uint32_t h, uint32_t w, size_t c, const float *image, uint32_t y, uint32_t x,
                   float *restrict row)
{
    for (uint32_t tap = 0; tap < 9; tap++, row += c) {
        uint32_t iy = y + tap / 3 - 1, ix = x + tap % 3 - 1; /* -1 is a large number */
        if (iy < h && ix < w) {
            memcpy(row, image + ((size_t)iy * w + ix) * c, c * sizeof(float));
        } else {
            memset(row, 0, c * sizeof(float));
        }
    }
}

/* col (images*H*W, 9*C) of x (images, H, W, C). */
static void im2col(uint32_t images, uint32_t h, uint32_t w, size_t c, const float *x, float *col)
{
    for (size_t i = 0; i < images; i++) {
        for (uint32_t y = 0; y < h; y++) {
            for (uint32_t ix = 0; ix < w; ix++, col += 9 * c) {
                gather(h, w, c, x + i * h * w * c, y, ix, col);
            }
        }
    }
}

/* C (m, n) = A (m, k) B (k, n) + beta C, with contiguous rows; A and B are transposed by
 * ta and tb. */
static void sgemm(enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, size_t m, size_t n, size_t k,
                  const float *a, const float *b, float beta, float *c)
{
    blasint lda = (blasint)(ta == CblasNoTrans ? k : m);
    blasint ldb = (blasint)(tb == CblasNoTrans ? n : k);
    cblas_sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, (blasint)k, 1.0f, a, lda, b, ldb,
                beta, c, (blasint)n);
}

/* y (N,H,W,K) = x (N,H,W,C) * weight (9*C, K) + bias (NULL: none). */
static void convolve(const struct conv_shape *s, const struct blas_conv *p, const float *x,
                     const float *weight, const float *bias, float *y)
{
    size_t hw = (size_t)s->h * s->w;
    for (uint32_t n = 0; n < s->n; n += p->images) {
        uint32_t images = s->n - n < p->images ? s->n - n : p->images;
        float *out = y + (size_t)n * hw * s->k;
        im2col(images, s->h, s->w, s->c, x + (size_t)n * hw * s->c, p->col);
        for (size_t i = 0; bias != NULL && i < images * hw; i++) {
            memcpy(out + i * s->k, bias, s->k * sizeof(*bias));
        }
        sgemm(CblasNoTrans, CblasNoTrans, images * hw, s->k, (size_t)s->c * 9, p->col, weight,
              bias == NULL ? 0 : 1, out);
    }
}

void conv_blas_forward(const struct conv_shape *s, const float *x, const float *weight,
                       const float *bias, float *y, float *mean, float *var,
                       const struct work *work)
{
    struct carver scratch = {.base = work->scratch};
    struct blas_conv p = plan(s, &scratch);
    convolve(s, &p, x, weight, bias, y);
    if (mean != NULL) {
        struct bn_shape bn = {.n = s->n, .h = s->h, .w = s->w, .k = s->k};
        moments_of(&bn, y, mean, var, work);
    }
}

void conv_blas_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                             float *dx, const struct work *work)
{
    struct carver scratch = {.base = work->scratch};
    struct blas_conv p = plan(s, &scratch);
    for (size_t tap = 0; tap < 9; tap++) {
        for (size_t k = 0; k < s->k; k++) {
            for (size_t c = 0; c < s->c; c++) {
                p.turned[(tap * s->k + k) * s->c + c] = weight[((8 - tap) * s->c + c) * s->k + k];
            }
        }
    }
    struct conv_shape swapped = {.n = s->n, .c = s->k, .k = s->c, .h = s->h, .w = s->w};
    convolve(&swapped, &p, dy, p.turned, NULL, dx);
}

void conv_sum_bias(size_t pixels, size_t k_n, const float *dy, float *dbias)
{
    for (size_t k0 = 0; k0 < k_n; k0 += BIAS_COLUMNS) {
        size_t columns = k_n - k0 < BIAS_COLUMNS ? k_n - k0 : BIAS_COLUMNS;
        double total[BIAS_COLUMNS] = {0};
        for (size_t first = 0; first < pixels; first += BIAS_PIXELS) {
            size_t left = pixels - first, count = left < BIAS_PIXELS ? left : BIAS_PIXELS;
            float sum[BIAS_COLUMNS] = {0};
            for (size_t i = first; i < first + count; i++) {
                for (size_t k = 0; k < columns; k++) {
                    sum[k] += dy[i * k_n + k0 + k];
                }
            }
            for (size_t k = 0; k < columns; k++) {
                total[k] += (double)sum[k];
            }
        }
        for (size_t k = 0; k < columns; k++) {
            dbias[k0 + k] = (float)total[k];
        }
    }
}

void conv_blas_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                               float *dweight, float *dbias, const struct work *work)
{
    struct carver scratch = {.base = work->scratch};
    struct blas_conv p = plan(s, &scratch);
    size_t hw = (size_t)s->h * s->w;
    for (uint32_t n = 0; n < s->n; n += p.images) {
        uint32_t images = s->n - n < p.images ? s->n - n : p.images;
        im2col(images, s->h, s->w, s->c, x + (size_t)n * hw * s->c, p.col);
        sgemm(CblasTrans, CblasNoTrans, (size_t)s->c * 9, s->k, images * hw, p.col,
              dy + (size_t)n * hw * s->k, n == 0 ? 0 : 1, dweight);
    }
    conv_sum_bias(s->n * hw, s->k, dy, dbias);
}
