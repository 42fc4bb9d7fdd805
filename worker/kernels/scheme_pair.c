/* Along an axis of two pixels between zero padding the convolution is a 2x2 Toeplitz matrix,
 *     y0 = w1 x0 + w2 x1,  y1 = w0 x0 + w1 x1,
 * which takes three products instead of four: w1 (x0 + x1), (w2 - w1) x1, (w0 - w1) x0. */
#include "worker/kernels/scheme.h"
#include "worker/kernels/simd.h"

/* B^T x. A y has the same form with the last two results swapped. */
SIMD_INLINE void input_axis(vf x0, vf x1, vf t[3])
{
    t[0] = x0 + x1;
    t[1] = x1;
    t[2] = x0;
}

/* A^T m */
SIMD_INLINE void output_axis(const vf m[3], vf y[2])
{
    y[0] = m[0] + m[1];
    y[1] = m[0] + m[2];
}

/* G w */
SIMD_INLINE void weight_axis(const vf w[3], vf u[3])
{
    u[0] = w[1];
    u[1] = w[2] - w[1];
    u[2] = w[0] - w[1];
}

/* G^T u */
SIMD_INLINE void weight_grad_axis(const vf u[3], vf w[3])
{
    w[0] = u[2];
    w[1] = u[0] - u[1] - u[2];
    w[2] = u[1];
}

/* Writes the nine products of the axis transforms of a 2x2 tile. */
SIMD_INLINE void store_outer(vf left[3], vf right[3], size_t swap, float *v, size_t plane)
{
    for (size_t i = 0; i < 3; i++) {
        vf t[3];
        input_axis(left[i], right[i], t);
        vstore(v + i * 3 * plane, t[0]);
        vstore(v + (i * 3 + 1) * plane, t[1 + swap]);
        vstore(v + (i * 3 + 2) * plane, t[2 - swap]);
    }
}

static void input(const float *const *px, size_t channel, float *v, size_t plane)
{
    vf left[3], right[3];
    input_axis(vload(px[0] + channel), vload(px[2] + channel), left);
    input_axis(vload(px[1] + channel), vload(px[3] + channel), right);
    store_outer(left, right, 0, v, plane);
}

static void output(const float *m, size_t plane, const float *bias, float *const *px,
                   size_t channel, bool streams, const struct scheme_moments *moments)
{
    (void)streams; /* images this small stay in the cache */
    bool begins = moments == NULL || moments->begins;
    vf pivot = begins ? vzero() : vload(moments->pivot);
    vf sum = begins ? vzero() : vload(moments->sum);
    vf squares = begins ? vzero() : vload(moments->squares);
    vf columns[2][3], add = vload(bias + channel);
    for (size_t j = 0; j < 3; j++) {
        vf d[3] = {vload(m + j * plane), vload(m + (3 + j) * plane), vload(m + (6 + j) * plane)};
        vf t[2];
        output_axis(d, t);
        columns[0][j] = t[0];
        columns[1][j] = t[1];
    }
    for (size_t i = 0; i < 2; i++) {
        vf t[2];
        output_axis(columns[i], t);
        t[0] += add;
        t[1] += add;
        vstore(px[i * 2] + channel, t[0]);
        vstore(px[i * 2 + 1] + channel, t[1]);
        if (i == 0 && begins) {
            pivot = t[0];
        }
        vf off0 = t[0] - pivot, off1 = t[1] - pivot;
        sum += off0 + off1;
        squares += off0 * off0 + off1 * off1;
    }
    if (moments != NULL) {
        vstore(moments->pivot, pivot);
        vstore(moments->sum, sum);
        vstore(moments->squares, squares);
    }
}

static void output_grad(const float *const *px, size_t channel, float *v, size_t plane, float *sum)
{
    vf y00 = vload(px[0] + channel), y01 = vload(px[1] + channel);
    vf y10 = vload(px[2] + channel), y11 = vload(px[3] + channel);
    vf left[3] = {y00 + y10, y00, y10}, right[3] = {y01 + y11, y01, y11};
    vstore(sum, vload(sum) + (left[0] + right[0]));
    store_outer(left, right, 1, v, plane);
}

static void weight(const float *w, ptrdiff_t tap, float *u, size_t plane)
{
    vf columns[3][3];
    for (ptrdiff_t j = 0; j < 3; j++) {
        vf d[3] = {vload(w + j * tap), vload(w + (3 + j) * tap), vload(w + (6 + j) * tap)};
        vf t[3];
        weight_axis(d, t);
        for (size_t i = 0; i < 3; i++) {
            columns[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 3; i++) {
        vf t[3];
        weight_axis(columns[i], t);
        for (size_t j = 0; j < 3; j++) {
            vstore(u + (i * 3 + j) * plane, t[j]);
        }
    }
}

static void weight_grad(const float *du, size_t plane, float *dw, size_t tap, bool streams)
{
    vf columns[3][3];
    for (size_t j = 0; j < 3; j++) {
        vf d[3] = {vload(du + j * plane), vload(du + (3 + j) * plane), vload(du + (6 + j) * plane)};
        vf t[3];
        weight_grad_axis(d, t);
        for (size_t i = 0; i < 3; i++) {
            columns[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 3; i++) {
        vf t[3];
        weight_grad_axis(columns[i], t);
        for (size_t j = 0; j < 3; j++) {
            vstore_or_stream(dw + (i * 3 + j) * tap, t[j], streams);
        }
    }
}

const struct scheme scheme_pair = {
    .out = 2,
    .in = 2,
    .rim = 0,
    .planes = 9,
    .input = input,
    .output = output,
    .output_grad = output_grad,
    .weight = weight,
    .weight_grad = weight_grad,
};
