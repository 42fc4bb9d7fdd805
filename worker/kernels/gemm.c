/* Convolution as im2col and one OpenBLAS sgemm a block of images; fully connected layers as sgemm.
 * Built once for each instruction set (isa.h) for the copies' sake.
 *
 *     Y (K, P) = W (K, C*9) * col (C*9, P)        P = images of the block * H * W
 *     dX       = the same with the taps turned by 180 degrees and C, K swapped
 *     dW      += dY (K, P) * col (C*9, P)^T       blocks in order, so the bits do not vary
 *
 * A block is one image where that has pixels enough for sgemm, else several; then Y and dY pass
 * through a (K, P) buffer, since images lie apart in (N, K, H, W). */
#include <string.h>

#include <cblas.h>

#include "worker/kernels/isa.h"

/* Columns of sgemm at least. At batch 32 a whole step is as fast with 128 and 256, 3% slower with
 * 512 and 1024, 7% with 2048: col should stay near the core. */
#define BLOCK_PIXELS 256
#define ALIGN_FLOATS 16

struct block_plan {
    uint32_t images;   /* of a full block */
    float *col;        /* (max(C,K)*9, P) */
    float *packed;     /* (K or C, P) */
    float *turned;     /* (C, K, 3, 3) */
    float *plane;      /* (H+2, W+2) */
    size_t n_floats;
};

static size_t aligned(size_t n)
{
    return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

static struct block_plan plan_blocks(const struct conv_shape *s, float *scratch)
{
    size_t hw = (size_t)s->h * s->w, most = s->c > s->k ? s->c : s->k;
    size_t images = hw >= BLOCK_PIXELS ? 1 : BLOCK_PIXELS / hw;
    images = images > s->n ? s->n : images;
    size_t col = aligned(most * 9 * images * hw), packed = aligned(most * images * hw);
    size_t turned = aligned((size_t)s->c * s->k * 9);
    size_t plane = aligned((size_t)(s->h + 2) * (s->w + 2));
    struct block_plan p = {.images = (uint32_t)images, .n_floats = col + packed + turned + plane};
    if (scratch != NULL) {
        p.col = scratch;
        p.packed = p.col + col;
        p.turned = p.packed + packed;
        p.plane = p.turned + turned;
    }
    return p;
}

static size_t conv3x3_scratch(const struct conv_shape *s)
{
    return plan_blocks(s, NULL).n_floats;
}

/* Copies h rows of w floats; constant widths become plain vector moves. */
static inline __attribute__((always_inline)) void copy_rows_of(float *restrict dst,
                                                               const float *restrict src, size_t h,
                                                               size_t w, size_t dst_stride,
                                                               size_t src_stride)
{
    for (size_t y = 0; y < h; y++) {
        memcpy(dst + y * dst_stride, src + y * src_stride, w * sizeof(float));
    }
}

static void copy_rows(float *dst, const float *src, size_t h, size_t w, size_t dst_stride,
                      size_t src_stride)
{
    switch (w) {
    case 2:
        copy_rows_of(dst, src, h, 2, dst_stride, src_stride);
        break;
    case 4:
        copy_rows_of(dst, src, h, 4, dst_stride, src_stride);
        break;
    case 8:
        copy_rows_of(dst, src, h, 8, dst_stride, src_stride);
        break;
    case 16:
        copy_rows_of(dst, src, h, 16, dst_stride, src_stride);
        break;
    case 32:
        copy_rows_of(dst, src, h, 32, dst_stride, src_stride);
        break;
    default:
        copy_rows_of(dst, src, h, w, dst_stride, src_stride);
    }
}

/* col (C*9, images*H*W) of `images` images x (images, C, H, W). The zero rim of `plane` is written
 * once; every channel then overwrites the inside. */
static void im2col(uint32_t images, uint32_t c_n, uint32_t h, uint32_t w, const float *x,
                   float *plane, float *col)
{
    size_t hw = (size_t)h * w, pixels = images * hw, stride = (size_t)w + 2;
    memset(plane, 0, (h + 2) * stride * sizeof(float));
    for (size_t c = 0; c < c_n; c++) {
        for (size_t i = 0; i < images; i++) {
            copy_rows(plane + stride + 1, x + (i * c_n + c) * hw, h, w, stride, w);
            for (size_t tap = 0; tap < 9; tap++) {
                copy_rows(col + (c * 9 + tap) * pixels + i * hw,
                          plane + tap / 3 * stride + tap % 3, h, w, w, stride);
            }
        }
    }
}

/* (K, images*hw) to (images, K, hw), adding bias (NULL: none). */
static void unpack(uint32_t images, uint32_t k_n, size_t hw, const float *restrict packed,
                   const float *restrict bias, float *restrict y)
{
    for (size_t i = 0; i < images; i++) {
        for (size_t k = 0; k < k_n; k++) {
            const float *src = packed + (k * images + i) * hw;
            float *dst = y + (i * k_n + k) * hw, add = bias == NULL ? 0 : bias[k];
            for (size_t j = 0; j < hw; j++) {
                dst[j] = src[j] + add;
            }
        }
    }
}

static void pack(uint32_t images, uint32_t k_n, size_t hw, const float *restrict y,
                 float *restrict packed)
{
    for (size_t i = 0; i < images; i++) {
        for (size_t k = 0; k < k_n; k++) {
            memcpy(packed + (k * images + i) * hw, y + (i * k_n + k) * hw, hw * sizeof(float));
        }
    }
}

static void add_bias(uint32_t k_n, size_t hw, const float *restrict bias, float *restrict y)
{
    for (size_t k = 0; k < k_n; k++) {
        for (size_t j = 0; j < hw; j++) {
            y[k * hw + j] += bias[k];
        }
    }
}

static void sgemm(enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, size_t m, size_t n, size_t k,
                  const float *a, const float *b, float beta, float *c)
{
    blasint lda = (blasint)(ta == CblasNoTrans ? k : m);
    blasint ldb = (blasint)(tb == CblasNoTrans ? n : k);
    cblas_sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, (blasint)k, 1.0f, a, lda, b, ldb,
                beta, c, (blasint)n);
}

/* y (N,K,H,W) = x (N,C,H,W) * weight (K,C,3,3) + bias (NULL: none). */
static void convolve(const struct conv_shape *s, const struct block_plan *p, const float *x,
                     const float *weight, const float *bias, float *y)
{
    size_t hw = (size_t)s->h * s->w;
    for (uint32_t n = 0; n < s->n; n += p->images) {
        uint32_t images = s->n - n < p->images ? s->n - n : p->images;
        float *out = y + (size_t)n * s->k * hw;
        im2col(images, s->c, s->h, s->w, x + (size_t)n * s->c * hw, p->plane, p->col);
        sgemm(CblasNoTrans, CblasNoTrans, s->k, images * hw, (size_t)s->c * 9, weight, p->col, 0,
              images == 1 ? out : p->packed);
        if (images > 1) {
            unpack(images, s->k, hw, p->packed, bias, out);
        } else if (bias != NULL) {
            add_bias(s->k, hw, bias, out);
        }
    }
}

static void conv3x3_forward(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *scratch)
{
    struct block_plan p = plan_blocks(s, scratch);
    convolve(s, &p, x, weight, bias, y);
}

static void conv3x3_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, float *scratch)
{
    struct block_plan p = plan_blocks(s, scratch);
    for (size_t k = 0; k < s->k; k++) {
        for (size_t c = 0; c < s->c; c++) {
            const float *src = weight + (k * s->c + c) * 9;
            float *dst = p.turned + (c * s->k + k) * 9;
            for (size_t tap = 0; tap < 9; tap++) {
                dst[tap] = src[8 - tap];
            }
        }
    }
    struct conv_shape swapped = {.n = s->n, .c = s->k, .k = s->c, .h = s->h, .w = s->w};
    convolve(&swapped, &p, dy, p.turned, NULL, dx);
}

/* dbias (K) = sum of dy over N, H, W: a double for each channel in turn. */
static void sum_channels(const struct conv_shape *s, const float *dy, float *dbias)
{
    struct bn_shape planes = {.n = s->n, .k = s->k, .hw = s->h * s->w};
    for (size_t k = 0; k < s->k; k++) {
        double sum = 0;
        for (size_t n = 0; n < s->n; n++) {
            const float *plane = dy + (n * s->k + k) * planes.hw;
            float lanes[ALIGN_FLOATS] = {0};
            for (size_t i = 0; i < planes.hw; i++) {
                lanes[i % ALIGN_FLOATS] += plane[i];
            }
            for (size_t l = 0; l < ALIGN_FLOATS; l++) {
                sum += (double)lanes[l];
            }
        }
        dbias[k] = (float)sum;
    }
}

static void conv3x3_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, float *scratch)
{
    struct block_plan p = plan_blocks(s, scratch);
    size_t hw = (size_t)s->h * s->w;
    for (uint32_t n = 0; n < s->n; n += p.images) {
        uint32_t images = s->n - n < p.images ? s->n - n : p.images;
        const float *grad = dy + (size_t)n * s->k * hw;
        im2col(images, s->c, s->h, s->w, x + (size_t)n * s->c * hw, p.plane, p.col);
        if (images > 1) {
            pack(images, s->k, hw, grad, p.packed);
            grad = p.packed;
        }
        sgemm(CblasNoTrans, CblasTrans, s->k, (size_t)s->c * 9, images * hw, grad, p.col,
              n == 0 ? 0 : 1, dweight);
    }
    sum_channels(s, dy, dbias);
}

static void fc_forward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(y + i * k, bias, k * sizeof(*y));
    }
    sgemm(CblasNoTrans, CblasTrans, n, k, c, x, weight, 1, y);
}

static void fc_backward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias)
{
    sgemm(CblasTrans, CblasNoTrans, k, c, n, dy, x, 0, dweight);
    for (size_t o = 0; o < k; o++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += (double)dy[i * k + o];
        }
        dbias[o] = (float)sum;
    }
    if (dx != NULL) {
        sgemm(CblasNoTrans, CblasNoTrans, n, c, k, dy, weight, 0, dx);
    }
}

void ISA_SYMBOL(gemm_init)(struct kernels *k)
{
    k->conv3x3_forward = conv3x3_forward;
    k->conv3x3_backward_data = conv3x3_backward_data;
    k->conv3x3_backward_weight = conv3x3_backward_weight;
    k->conv3x3_scratch = conv3x3_scratch;
    k->fc_forward = fc_forward;
    k->fc_backward = fc_backward;
}
