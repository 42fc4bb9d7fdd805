/* The weight gradient with tile registers, see conv_grads_internal.h. They read the steps of the
 * sum, here tiles of images, side by side from the left operand. So Z is computed with tiles on the
 * lanes of vectors, from dy transposed, which is less than half as large as Z. V lies as for
 * vectors, and corners of dU are (PANEL of K, PANEL of C). */
#include <string.h>

#include "worker/kernels/ceil_div.h"
#include "worker/kernels/conv_grads_internal.h"
#include "worker/kernels/simd.h"

#define STRIP (VL * PANEL) /* VL channels of PANEL tiles */
#define TAP (CORNER + VL)  /* not a power of two apart */

/* strip (VL, PANEL) = one pixel of each tile, transposed. */
static void take_strip(const float *px[PANEL][SCHEME_MAX_PLANES], size_t pixel, size_t channel,
                       float *strip)
{
    vf block[VL];
    for (size_t tile = 0; tile < PANEL; tile += VL) {
        for (size_t i = 0; i < VL; i++) {
            const float *from = px[tile + i][pixel] + channel;
            block[i] = vload(from);
            __builtin_prefetch(from + VL);
        }
        vtranspose(block);
        for (size_t i = 0; i < VL; i++) {
            vstore(strip + i * PANEL + tile, block[i]);
        }
    }
}

/* Z (planes, groups of PANEL tiles, K, PANEL), where rows are channels. */
void grads_transform_dy(const struct grads *g, const struct block *b, size_t offset, size_t count,
                        float *sums)
{
    const struct scheme *s = g->t.scheme;
    const float *px[PANEL][SCHEME_MAX_PLANES], *strip[SCHEME_MAX_PLANES];
    float strips[16][STRIP + VL]; /* not a power of two apart */
    size_t pixels = s->out * s->out;
    float *z = b->z + offset * g->k;
    for (size_t i = 0; i < PANEL; i++) {
        if (i < count) {
            tile_pixels(&g->t, b->first + offset + i, s->out, 0, g->dy, g->k, g->zeros, px[i]);
            continue;
        }
        for (size_t j = 0; j < pixels; j++) {
            px[i][j] = g->zeros;
        }
    }
    for (size_t channel = 0; channel < g->k; channel += VL) {
        for (size_t i = 0; i < pixels; i++) {
            take_strip(px, i, channel, strips[i]);
            strip[i] = strips[i];
        }
        for (size_t at = 0; at < STRIP; at += PANEL) {
            float sum[VL] = {0}, *row = z + (channel + at / PANEL) * PANEL;
            s->output_grad(strip, at, row, g->z_plane, sum);
            s->output_grad(strip, at + VL, row + VL, g->z_plane, sum);
            sums[channel + at / PANEL] = _mm512_reduce_add_ps(_mm512_loadu_ps(sum));
        }
    }
    for (size_t plane = 0; plane < s->planes && count < PANEL; plane++) {
        for (size_t panel = 0; panel < g->c / PANEL; panel++) {
            memset(b->v + plane * g->v_plane + (panel * g->most + offset + count) * PANEL, 0,
                   (PANEL - count) * PANEL * sizeof(float));
        }
    }
}

void grads_multiply(const struct grads *g, const struct block *b, const struct corners *which,
                    float *u, size_t u_plane)
{
    size_t c_panel = g->most * PANEL, rows = which->k_panels * PANEL;
    struct product_grid grid = {
        .first = {.a = b->z + which->plane * g->z_plane + which->k_panel * CORNER,
                  .a_panel = g->k * PANEL,
                  .b = b->v + which->plane * g->v_plane + which->c_panel * c_panel,
                  .b_step = PANEL,
                  .c = u,
                  .c_row = PANEL,
                  .init = b->begins ? NULL : u,
                  .init_row = PANEL,
                  .panels = ceil_div(b->count, PANEL),
                  .steps = PANEL},
        .planes = which->planes,
        .a_plane = g->z_plane,
        .b_plane = g->v_plane,
        .c_plane = u_plane,
        .columns = which->c_panels,
        .b_column = c_panel,
        .c_column = rows * PANEL};
    product_grid_tiles(&grid, rows);
}

void grads_transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u,
                            size_t u_plane)
{
    float turned[9 * TAP];
    for (size_t i = 0; i < CORNER; i += VL) {
        g->t.scheme->weight_grad(u + i, u_plane, turned + i, TAP, false);
    }
    for (size_t part = 0; part < 9 * CORNER / (VL * VL); part++) {
        size_t tap = part / 4, k = part / 2 % 2 * VL, c = part % 2 * VL;
        float *dw = g->dweight + (tap * g->c + c_panel * PANEL + c) * g->k + k_panel * PANEL + k;
        vf block[VL];
        for (size_t i = 0; i < VL; i++) {
            block[i] = vload(turned + tap * TAP + (k + i) * PANEL + c);
        }
        vtranspose(block);
        for (size_t i = 0; i < VL; i++) {
            vstore_or_stream(dw + i * g->k, block[i], g->streams);
        }
    }
    if (g->streams) {
        vstream_end();
    }
}
