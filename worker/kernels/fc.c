/* Fully connected layers by OpenBLAS, which runs in the calling thread. The threads share slices of
 * columns. The slices depend on the shape alone, so the number of threads does not
 * change the bits. */
#include <string.h>

#include <cblas.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/isa.h"
#include "worker/kernels/moments.h"
#include "worker/kernels/thread_pool.h"

#define SLICE 128 /* columns */

struct fc {
    size_t n, c, k;
    const float *x, *weight, *bias, *dy;
    float *y, *dx, *dweight;
};

struct slice {
    size_t first, count;
};

static struct slice slice_of(size_t columns, size_t i)
{
    size_t first = i * SLICE, left = columns - first;
    return (struct slice){first, left < SLICE ? left : SLICE};
}

/* C (m, n) = A (m, k) B (k, n) + beta C; A and B are transposed by ta and tb. ld:
 * floats per row. */
static void sgemm(enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, size_t m, size_t n, size_t k,
                  const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                  size_t ldc)
{
    cblas_sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, (blasint)k, 1, a, (blasint)lda, b,
                (blasint)ldb, beta, c, (blasint)ldc);
}

static void item_y(void *ctx, size_t i, unsigned thread)
{
    const struct fc *f = ctx;
    struct slice s = slice_of(f->k, i);
    (void)thread;
    for (size_t row = 0; row < f->n; row++) {
        memcpy(f->y + row * f->k + s.first, f->bias + s.first, s.count * sizeof(*f->y));
    }
    sgemm(CblasNoTrans, CblasTrans, f->n, s.count, f->c, f->x, f->c, f->weight + s.first * f->c,
          f->c, 1, f->y + s.first, f->k);
}

static void item_dweight(void *ctx, size_t i, unsigned thread)
{
    const struct fc *f = ctx;
    struct slice s = slice_of(f->k, i);
    (void)thread;
    sgemm(CblasTrans, CblasNoTrans, s.count, f->c, f->n, f->dy + s.first, f->k, f->x, f->c, 0,
          f->dweight + s.first * f->c, f->c);
}

static void item_dx(void *ctx, size_t i, unsigned thread)
{
    const struct fc *f = ctx;
    struct slice s = slice_of(f->c, i);
    (void)thread;
    sgemm(CblasNoTrans, CblasNoTrans, f->n, s.count, f->k, f->dy, f->k, f->weight + s.first, f->c,
          0, f->dx + s.first, f->c);
}

static void fc_forward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y, const struct work *work)
{
    struct fc f = {.n = n, .c = c, .k = k, .x = x, .weight = weight, .bias = bias, .y = y};
    parallel_for(work->threads, ceil_div(k, SLICE), item_y, &f);
}

static void fc_backward(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias,
                        const struct work *work)
{
    struct fc f = {
        .n = n, .c = c, .k = k, .x = x, .weight = weight, .dy = dy, .dx = dx, .dweight = dweight};
    parallel_for(work->threads, ceil_div(k, SLICE), item_dweight, &f);
    sum_pixels(n, k, dy, dbias);
    if (dx != NULL) {
        parallel_for(work->threads, ceil_div(c, SLICE), item_dx, &f);
    }
}

void ISA_SYMBOL(fc_init)(struct kernels *k)
{
    k->fc_forward = fc_forward;
    k->fc_backward = fc_backward;
}
