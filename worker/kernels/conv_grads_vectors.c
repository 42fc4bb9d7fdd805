/* The weight gradient with vectors, see conv_grads_internal.h. */
#include <string.h>

#include "worker/kernels/conv_grads_internal.h"
#include "worker/kernels/simd.h"

/* Z as panels of K whose rows are tiles. */
void grads_transform_dy(const struct grads *g, const struct block *b, size_t offset, size_t count,
                        float *sums)
{
    const struct scheme *s = g->t.scheme;
    const float *px[2][SCHEME_MAX_PLANES];
    size_t first = b->first + offset, last = first + count - 1;
    float *z = b->z + offset * PANEL;
    memset(sums, 0, g->k * sizeof(*sums));
    tile_pixels(&g->t, first, s->out, 0, g->dy, g->k, g->zeros, px[0]);
    for (size_t i = 0; i < count; i++) {
        const float **now = px[i % 2], **next = px[1 - i % 2];
        size_t tile = first + i;
        tile_pixels(&g->t, tile < last ? tile + 1 : last, s->out, 0, g->dy, g->k, g->zeros, next);
        for (size_t panel = 0; panel < g->k / PANEL; panel++) {
            prefetch_pixels(next, s->out * s->out, panel * PANEL);
            for (size_t at = 0; at < PANEL; at += VL) {
                size_t channel = panel * PANEL + at;
                s->output_grad(now, channel, z + (panel * g->most + i) * PANEL + at, g->z_plane,
                               sums + channel);
            }
        }
    }
}

/* Corners are (PANEL of C, PANEL of K). It prefetches what is farthest away: Z, if it is that of
 * all tiles, else the next corner of dU. */
void grads_multiply(const struct grads *g, const struct block *b, const struct corners *which,
                    float *u, size_t u_plane)
{
    size_t corners = which->c_panels * which->k_panels;
    bool is_far = g->way == BY_CORNERS;
    for (size_t i = 0; i < which->planes * corners; i++) {
        size_t plane = i / corners, corner = i % corners;
        size_t c_panel = which->c_panel + corner / which->k_panels;
        size_t k_panel = which->k_panel + corner % which->k_panels;
        float *to = u + plane * u_plane + corner * CORNER;
        struct product p = {
            .a = b->v + (which->plane + plane) * g->v_plane + c_panel * g->most * PANEL,
            .b = b->z + (which->plane + plane) * g->z_plane + k_panel * g->most * PANEL,
            .b_step = PANEL,
            .c = to,
            .c_row = PANEL,
            .init = b->begins ? NULL : to,
            .init_row = PANEL,
            .panels = 1,
            .steps = b->count};
        p.next = is_far ? p.b + g->z_plane : to + CORNER;
        p.next_floats = is_far ? b->count * PANEL : CORNER;
        product_grads(&p, PANEL);
    }
}

void grads_transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u,
                            size_t u_plane)
{
    for (size_t row = 0; row < PANEL; row++) {
        float *dw = g->dweight + (c_panel * PANEL + row) * g->k + k_panel * PANEL;
        for (size_t at = 0; at < PANEL; at += VL) {
            g->t.scheme->weight_grad(u + row * PANEL + at, u_plane, dw + at, g->c * g->k,
                                     g->streams);
        }
    }
    if (g->streams) {
        vstream_end();
    }
}
