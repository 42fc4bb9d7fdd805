/* Weight gradient of 3x3 convolution by a bilinear scheme: V = B^T x B and Z = A dy A^T of each
 * tile, dU = V^T Z plane by plane (the sum runs over tiles), dw = G^T dU G.
 *
 * Many tiles go in blocks, whose V and Z stay in the cache, and dU is summed in memory. Few tiles,
 * or many channels, are one block, and each 32 x 32 corner of dw is finished at once, so that dU
 * (36/9 times the weights) never exists as a whole. */
#include <stdbool.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv.h"
#include "worker/kernels/moments.h"
#include "worker/kernels/pool.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/tiles.h"

/* Tiles of a block for each thread: the more, the seldomer dU is read and written, the fewer, the
 * nearer V and Z. What a block holds does not change the bits. */
#define BLOCK_TILES 48
#define BLOCK_TILES_LARGE 96
#define LARGE_WEIGHT_FLOATS (1u << 20) /* a dU that the second-level cache has no hope to hold */
#define CHUNK_TILES 12                /* what one thread transforms at a time */
#define WIDE_TILES 256                /* at most so many tiles are one block */
#define WIDE_WEIGHT_FLOATS (3u << 20) /* as are layers with a larger dU */
#define CORNER (PANEL * PANEL)

struct grads {
    struct tiling t;
    size_t c, k;
    const float *x, *dy;
    float *dweight;
    bool wide;
    size_t block, first, count; /* tiles: of a full block, of the present one */
    size_t v_plane, z_plane, u_plane, u_each;
    float *u, *v, *z, *zeros, *bias_slots; /* (chunks, k) */
};

static void plan(struct grads *g, size_t threads, struct carver *scratch)
{
    size_t planes = g->t.scheme->planes, most = g->c > g->k ? g->c : g->k;
    size_t u = planes * g->c * g->k;
    size_t block = u > LARGE_WEIGHT_FLOATS ? BLOCK_TILES_LARGE : BLOCK_TILES;
    g->wide = g->t.count <= WIDE_TILES || u > WIDE_WEIGHT_FLOATS;
    g->block = g->wide ? g->t.count : block * threads;
    g->v_plane = g->c * g->block + PLANE_PAD;
    g->z_plane = g->k * g->block + PLANE_PAD;
    g->u_plane = (g->wide ? CORNER : g->c * g->k) + PLANE_PAD;
    g->u_each = g->wide ? planes * g->u_plane : 0;
    g->v = carve(scratch, planes * g->v_plane);
    g->z = carve(scratch, planes * g->z_plane);
    g->u = carve(scratch, planes * g->u_plane * (g->wide ? threads : 1));
    g->zeros = carve(scratch, most);
    g->bias_slots = carve(scratch, moment_slots(g->t.count, CHUNK_TILES) * g->k);
}

static void transform_dy(const struct grads *g, size_t first, size_t count, float *z, float *sums)
{
    const struct scheme *s = g->t.scheme;
    const float *px[2][SCHEME_MAX_PLANES];
    size_t last = first + count - 1;
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
                s->output_grad(now, channel, z + (panel * g->block + i) * PANEL + at, g->z_plane,
                               sums + channel);
            }
        }
    }
}

/* A chunk of the block: V and Z. */
static void item_transform(void *ctx, size_t chunk, unsigned thread)
{
    const struct grads *g = ctx;
    size_t offset = chunk * CHUNK_TILES, left = g->count - offset, first = g->first + offset;
    size_t count = left < CHUNK_TILES ? left : CHUNK_TILES;
    (void)thread;
    tiles_input(&g->t, &(struct tiles_input){.x = g->x,
                                             .channels = g->c,
                                             .panels = g->c / PANEL,
                                             .first = first,
                                             .count = count,
                                             .zeros = g->zeros,
                                             .v = g->v + offset * PANEL,
                                             .v_plane = g->v_plane,
                                             .v_rows = g->block});
    transform_dy(g, first, count, g->z + offset * PANEL,
                 g->bias_slots + first / CHUNK_TILES * g->k);
}

/* One corner of dU in one plane. */
static void multiply(const struct grads *g, size_t plane, size_t c_panel, size_t k_panel, float *u)
{
    struct product p = {.a = g->v + plane * g->v_plane + c_panel * g->block * PANEL,
                        .b = g->z + plane * g->z_plane + k_panel * g->block * PANEL,
                        .b_step = PANEL,
                        .c = u,
                        .c_row = PANEL,
                        .init = g->first == 0 ? NULL : u,
                        .init_row = PANEL,
                        .panels = 1,
                        .steps = g->count};
    product_grads(&p, PANEL);
}

static void transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u)
{
    for (size_t row = 0; row < PANEL; row++) {
        float *dw = g->dweight + (c_panel * PANEL + row) * g->k + k_panel * PANEL;
        for (size_t at = 0; at < PANEL; at += VL) {
            g->t.scheme->weight_grad(u + row * PANEL + at, g->u_plane, dw + at, g->c * g->k);
        }
    }
}

static void item_plane(void *ctx, size_t plane, unsigned thread)
{
    const struct grads *g = ctx;
    size_t c_panels = g->c / PANEL, k_panels = g->k / PANEL;
    (void)thread;
    for (size_t corner = 0; corner < c_panels * k_panels; corner++) {
        multiply(g, plane, corner / k_panels, corner % k_panels,
                 g->u + plane * g->u_plane + corner * CORNER);
    }
}

static void item_transform_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    size_t k_panels = g->k / PANEL;
    (void)thread;
    transform_corner(g, corner / k_panels, corner % k_panels, g->u + corner * CORNER);
}

static void item_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    size_t k_panels = g->k / PANEL, c_panel = corner / k_panels, k_panel = corner % k_panels;
    float *u = g->u + thread * g->u_each;
    for (size_t plane = 0; plane < g->t.scheme->planes; plane++) {
        multiply(g, plane, c_panel, k_panel, u + plane * g->u_plane);
    }
    transform_corner(g, c_panel, k_panel, u);
}

static void sum_bias(const struct grads *g, float *dbias)
{
    for (size_t k = 0; k < g->k; k++) {
        double sum = 0;
        for (size_t slot = 0; slot < moment_slots(g->t.count, CHUNK_TILES); slot++) {
            sum += (double)g->bias_slots[slot * g->k + k];
        }
        dbias[k] = (float)sum;
    }
}

void conv_tiles_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                float *dweight, float *dbias, const struct work *work)
{
    struct grads g = {
        .t = tiling_of(s), .c = s->c, .k = s->k, .x = x, .dy = dy, .dweight = dweight};
    struct carver scratch = {.base = work->scratch};
    plan(&g, pool_threads(work->pool), &scratch);
    size_t corners = g.c / PANEL * (g.k / PANEL);
    memset(g.zeros, 0, (g.c > g.k ? g.c : g.k) * sizeof(float));
    for (; g.first < g.t.count; g.first += g.block) {
        size_t left = g.t.count - g.first;
        g.count = left < g.block ? left : g.block;
        parallel_for(work->pool, moment_slots(g.count, CHUNK_TILES), item_transform, &g);
        if (g.wide) {
            parallel_for(work->pool, corners, item_corner, &g);
        } else {
            parallel_for(work->pool, g.t.scheme->planes, item_plane, &g);
        }
    }
    if (!g.wide) {
        parallel_for(work->pool, corners, item_transform_corner, &g);
    }
    sum_bias(&g, dbias);
}

size_t conv_tiles_weight_scratch(const struct conv_shape *s, unsigned threads)
{
    struct grads g = {.t = tiling_of(s), .c = s->c, .k = s->k};
    struct carver all = {0}, one_block = {0};
    plan(&g, threads, &all);
    if (g.t.count > WIDE_TILES) { /* a smaller batch may need more: the largest that is one block */
        g.t.count = WIDE_TILES;
        plan(&g, threads, &one_block);
    }
    return all.used > one_block.used ? all.used : one_block.used;
}
