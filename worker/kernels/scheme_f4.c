/* F(4x4, 3x3) at the points 0, +-a, +-b, infinity with a = 1/2, b = 3/2 (Lavin & Gray 2015; points
 * after Barabasz et al. 2018 and Alam et al. 2022, chosen by measured error). All constants except
 * those of G are exact. A point and its negative share their even and odd parts. */
#include "worker/kernels/scheme.h"
#include "worker/kernels/simd.h"

#define A 0.5f
#define B 1.5f
#define A2 0.25f
#define B2 2.25f
#define A3 0.125f
#define B3 3.375f
#define A2_PLUS_B2 2.5f
#define A2_TIMES_B2 0.5625f

/* B^T d. Planes 1 to 4 are doubled, which saves one product in each; additions run
 * on other units. */
SIMD_INLINE void input_a(vf d1, vf d2, vf d3, vf d4, vf t[2])
{
    vf even = (d4 + d4) - (2 * B2) * d2, odd = d3 - B2 * d1;
    t[0] = even + odd;
    t[1] = even - odd;
}

SIMD_INLINE void input_b(vf d1, vf d2, vf d3, vf d4, vf t[2])
{
    vf even = (d4 + d4) - (2 * A2) * d2, odd = (d3 + d3 + d3) - (3 * A2) * d1;
    t[0] = even + odd;
    t[1] = even - odd;
}

SIMD_INLINE vf input_end(vf d0, vf d2, vf d4)
{
    return (d4 - A2_PLUS_B2 * d2) + A2_TIMES_B2 * d0;
}

SIMD_INLINE void input_row(const vf d[6], float *v, size_t plane)
{
    vf a[2], b[2];
    input_a(d[1], d[2], d[3], d[4], a);
    input_b(d[1], d[2], d[3], d[4], b);
    vstore(v, input_end(d[0], d[2], d[4]));
    vstore(v + plane, a[0]);
    vstore(v + 2 * plane, a[1]);
    vstore(v + 3 * plane, b[0]);
    vstore(v + 4 * plane, b[1]);
    vstore(v + 5 * plane, input_end(d[1], d[3], d[5]));
}

/* A^T m */
SIMD_INLINE void output_axis(const vf m[6], vf y[4])
{
    vf even_a = m[1] + m[2], odd_a = m[1] - m[2];
    vf even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = A * odd_a + B * odd_b;
    y[2] = A2 * even_a + B2 * even_b;
    y[3] = A3 * odd_a + B3 * odd_b + m[5];
}

/* A y */
SIMD_INLINE void output_grad_axis(const vf y[4], vf z[6])
{
    vf even_a = y[0] + A2 * y[2], odd_a = A * y[1] + A3 * y[3];
    vf even_b = y[0] + B2 * y[2], odd_b = B * y[1] + B3 * y[3];
    z[0] = y[0];
    z[1] = even_a + odd_a;
    z[2] = even_a - odd_a;
    z[3] = even_b + odd_b;
    z[4] = even_b - odd_b;
    z[5] = y[3];
}

/* G w. The rows of G are (1, p, p^2) / product of (p - q) over the other points q; those of planes
 * 1 to 4 are halved, because B^T doubles these planes. */
SIMD_INLINE void weight_axis(const vf w[3], vf u[6])
{
    vf even_a = -0.5f * w[0] - (A2 / 2) * w[2], odd_a = (A / 2) * w[1];
    vf even_b = (1.0f / 18) * w[0] + 0.125f * w[2], odd_b = (1.0f / 12) * w[1];
    u[0] = (16.0f / 9) * w[0];
    u[1] = even_a - odd_a;
    u[2] = even_a + odd_a;
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = w[2];
}

/* G^T u */
SIMD_INLINE void weight_grad_axis(const vf u[6], vf w[3])
{
    vf even_a = u[1] + u[2], odd_a = u[1] - u[2];
    vf even_b = u[3] + u[4], odd_b = u[3] - u[4];
    w[0] = (16.0f / 9) * u[0] - 0.5f * even_a + (1.0f / 18) * even_b;
    w[1] = (1.0f / 12) * odd_b - (A / 2) * odd_a;
    w[2] = 0.125f * (even_b - even_a) + u[5];
}

static void input(const float *const *px, size_t channel, float *v, size_t plane)
{
    vf row[4][6];
#define PX(I, J) vload(px[(I)*6 + (J)] + channel)
#pragma GCC unroll 6
    for (size_t j = 0; j < 6; j++) {
        vf d1 = PX(1, j), d2 = PX(2, j), d3 = PX(3, j), d4 = PX(4, j), t[2];
        input_a(d1, d2, d3, d4, t);
        row[0][j] = t[0];
        row[1][j] = t[1];
        input_b(d1, d2, d3, d4, t);
        row[2][j] = t[0];
        row[3][j] = t[1];
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < 4; i++) {
        input_row(row[i], v + (6 * i + 6) * plane, plane);
    }
#pragma GCC unroll 6
    for (size_t j = 0; j < 6; j++) {
        row[0][j] = input_end(PX(0, j), PX(2, j), PX(4, j));
        row[1][j] = input_end(PX(1, j), PX(3, j), PX(5, j));
    }
    input_row(row[0], v, plane);
    input_row(row[1], v + 30 * plane, plane);
#undef PX
}

SIMD_INLINE void output_to(const float *m, size_t plane, const float *bias, float *const *px,
                           size_t channel, bool streams, const struct scheme_moments *moments)
{
    vf d[6], t[4], columns[4][6], add = vload(bias + channel);
    bool begins = moments == NULL || moments->begins;
    vf pivot = begins ? vzero() : vload(moments->pivot);
    vf sum = begins ? vzero() : vload(moments->sum);
    vf squares = begins ? vzero() : vload(moments->squares);
    for (size_t j = 0; j < 6; j++) {
        for (size_t i = 0; i < 6; i++) {
            d[i] = vload(m + (i * 6 + j) * plane);
        }
        output_axis(d, t);
        for (size_t i = 0; i < 4; i++) {
            columns[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 4; i++) {
        output_axis(columns[i], t);
        if (i == 0 && begins) {
            pivot = t[0] + add;
        }
        for (size_t j = 0; j < 4; j++) {
            vf y = t[j] + add, off = y - pivot;
            vstore_or_stream(px[i * 4 + j] + channel, y, streams);
            sum += off;
            squares += off * off;
        }
    }
    if (moments != NULL) {
        vstore(moments->pivot, pivot);
        vstore(moments->sum, sum);
        vstore(moments->squares, squares);
    }
}

static void output(const float *m, size_t plane, const float *bias, float *const *px,
                   size_t channel, bool streams, const struct scheme_moments *moments)
{
    if (streams) { /* a constant in each of the two calls */
        output_to(m, plane, bias, px, channel, true, moments);
    } else {
        output_to(m, plane, bias, px, channel, false, moments);
    }
}

static void output_grad(const float *const *px, size_t channel, float *v, size_t plane, float *sum)
{
    vf d[4], t[6], columns[6][4], total = vzero();
    for (size_t j = 0; j < 4; j++) {
        for (size_t i = 0; i < 4; i++) {
            d[i] = vload(px[i * 4 + j] + channel);
        }
        total += (d[0] + d[1]) + (d[2] + d[3]);
        output_grad_axis(d, t);
        for (size_t i = 0; i < 6; i++) {
            columns[i][j] = t[i];
        }
    }
    vstore(sum, vload(sum) + total);
    for (size_t i = 0; i < 6; i++) {
        output_grad_axis(columns[i], t);
        for (size_t j = 0; j < 6; j++) {
            vstore(v + (i * 6 + j) * plane, t[j]);
        }
    }
}

static void weight(const float *w, ptrdiff_t tap, float *u, size_t plane)
{
    vf d[3], t[6], columns[6][3];
    for (ptrdiff_t j = 0; j < 3; j++) {
        for (ptrdiff_t i = 0; i < 3; i++) {
            d[i] = vload(w + (i * 3 + j) * tap);
        }
        weight_axis(d, t);
        for (size_t i = 0; i < 6; i++) {
            columns[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 6; i++) {
        weight_axis(columns[i], t);
        for (size_t j = 0; j < 6; j++) {
            vstore(u + (i * 6 + j) * plane, t[j]);
        }
    }
}

static void weight_grad(const float *du, size_t plane, float *dw, size_t tap, bool streams)
{
    vf d[6], t[3], columns[3][6];
    for (size_t j = 0; j < 6; j++) {
        for (size_t i = 0; i < 6; i++) {
            d[i] = vload(du + (i * 6 + j) * plane);
        }
        weight_grad_axis(d, t);
        for (size_t i = 0; i < 3; i++) {
            columns[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 3; i++) {
        weight_grad_axis(columns[i], t);
        for (size_t j = 0; j < 3; j++) {
            vstore_or_stream(dw + (i * 3 + j) * tap, t[j], streams);
        }
    }
}

const struct scheme scheme_f4 = {
    .out = 4,
    .in = 6,
    .rim = 1,
    .planes = 36,
    .input = input,
    .output = output,
    .output_grad = output_grad,
    .weight = weight,
    .weight_grad = weight_grad,
};
