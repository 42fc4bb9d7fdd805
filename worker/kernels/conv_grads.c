/* Weight gradient of 3x3 convolution by a bilinear scheme: V = B^T x B and Z = A dy A^T of each
 * tile, dU = V^T Z plane by plane (the sum runs over tiles), dw = G^T dU G.
 *
 * Tiles go in blocks, whose V and Z stay in the cache, while dU is summed in memory. Where dU is
 * small, the tiles are cut into parts, each with a dU of its own and one thread, which then finds
 * its V and Z near; parts are added at the end. Where dU is large, all threads go through a block
 * together. Few tiles, or many channels, are one block, and each 32 x 32 corner of dw is finished
 * at once, so that dU (36/9 times the weights) never exists as a whole. What is chosen depends on
 * the shape alone, so the number of threads changes no bits. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/ceil_div.h"
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
#define CHUNK_TILES 16                /* what one thread transforms at a time */
#define PART_TILES 256                /* of a part, at least: adding parts shall cost little */
#define MOST_PARTS 8
#define WIDE_TILES 256                /* at most so many tiles are one block */
#define WIDE_WEIGHT_FLOATS (3u << 20) /* as are layers with a larger dU */
#define STREAM_FLOATS (1u << 17)      /* a larger dweight is out of the cache when it is read */
#define CORNER (PANEL * PANEL)
#define CORNER_PLANE (CORNER + PLANE_PAD)

enum way { BY_PARTS, TOGETHER, BY_CORNERS };

struct block { /* tiles whose V and Z are there */
    size_t first, count;
    float *v, *z;
    bool begins; /* dU is unset */
};

struct grads {
    struct tiling t;
    size_t c, k;
    const float *x, *dy;
    float *dweight;
    bool streams; /* dweight is written past the caches */
    enum way way;
    size_t most;              /* tiles of a block */
    size_t parts, part_tiles; /* BY_PARTS; else one */
    struct block now;         /* TOGETHER, BY_CORNERS */
    /* Scratch; those of threads or parts *_each floats apart. */
    size_t v_plane, z_plane, u_plane, v_each, z_each, u_each;
    float *u; /* (parts) or, BY_CORNERS, (threads) */
    float *v, *z, *zeros;
    float *corners;    /* (threads, planes, CORNER_PLANE): of all parts, BY_PARTS */
    float *bias_slots; /* (chunks, k) */
};

static enum way way_of(const struct tiling *t, size_t u_floats)
{
    if (t->count <= WIDE_TILES || u_floats > WIDE_WEIGHT_FLOATS) {
        return BY_CORNERS;
    }
    return u_floats > LARGE_WEIGHT_FLOATS ? TOGETHER : BY_PARTS;
}

/* Parts hold whole chunks, so that each slot of the bias has one writer. */
static void cut(struct grads *g)
{
    size_t parts = g->way == BY_PARTS ? g->t.count / PART_TILES : 1;
    parts = parts > MOST_PARTS ? MOST_PARTS : parts;
    g->part_tiles = ceil_div(ceil_div(g->t.count, parts), CHUNK_TILES) * CHUNK_TILES;
    g->parts = ceil_div(g->t.count, g->part_tiles);
}

static void plan(struct grads *g, size_t threads, struct carver *scratch)
{
    size_t planes = g->t.scheme->planes, most = g->c > g->k ? g->c : g->k;
    size_t own = 1; /* V and Z */
    g->way = way_of(&g->t, planes * g->c * g->k);
    cut(g);
    switch (g->way) {
    case BY_PARTS:
        g->most = BLOCK_TILES;
        own = threads;
        break;
    case TOGETHER:
        g->most = BLOCK_TILES_LARGE * threads;
        break;
    case BY_CORNERS:
        g->most = g->t.count;
        break;
    }
    g->v_plane = g->c * g->most + PLANE_PAD;
    g->z_plane = g->k * g->most + PLANE_PAD;
    g->u_plane = g->way == BY_CORNERS ? CORNER_PLANE : g->c * g->k + PLANE_PAD;
    g->v_each = planes * g->v_plane;
    g->z_each = planes * g->z_plane;
    g->u_each = planes * g->u_plane;
    g->v = carve(scratch, g->v_each * own);
    g->z = carve(scratch, g->z_each * own);
    g->u = carve(scratch, g->u_each * (g->way == BY_CORNERS ? threads : g->parts));
    g->corners = carve(scratch, g->way == BY_PARTS ? planes * CORNER_PLANE * threads : 0);
    g->zeros = carve(scratch, most);
    g->bias_slots = carve(scratch, ceil_div(g->t.count, CHUNK_TILES) * g->k);
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
                s->output_grad(now, channel, z + (panel * g->most + i) * PANEL + at, g->z_plane,
                               sums + channel);
            }
        }
    }
}

/* V and Z of a chunk of the block. */
static void transform_chunk(const struct grads *g, const struct block *b, size_t chunk)
{
    size_t offset = chunk * CHUNK_TILES, left = b->count - offset, first = b->first + offset;
    size_t count = left < CHUNK_TILES ? left : CHUNK_TILES;
    tiles_input(&g->t, &(struct tiles_input){.x = g->x,
                                             .channels = g->c,
                                             .panels = g->c / PANEL,
                                             .first = first,
                                             .count = count,
                                             .zeros = g->zeros,
                                             .v = b->v + offset * PANEL,
                                             .v_plane = g->v_plane,
                                             .v_rows = g->most});
    transform_dy(g, first, count, b->z + offset * PANEL,
                 g->bias_slots + first / CHUNK_TILES * g->k);
}

/* One corner of dU in one plane. Fetched ahead is what lies farthest: Z where it is of all tiles,
 * else the next corner of dU. */
static void multiply(const struct grads *g, const struct block *b, size_t plane, size_t c_panel,
                     size_t k_panel, float *u)
{
    struct product p = {.a = b->v + plane * g->v_plane + c_panel * g->most * PANEL,
                        .b = b->z + plane * g->z_plane + k_panel * g->most * PANEL,
                        .b_step = PANEL,
                        .c = u,
                        .c_row = PANEL,
                        .init = b->begins ? NULL : u,
                        .init_row = PANEL,
                        .panels = 1,
                        .steps = b->count};
    bool is_far = g->way == BY_CORNERS;
    p.next = is_far ? p.b + g->z_plane : u + CORNER;
    p.next_floats = is_far ? b->count * PANEL : CORNER;
    product_grads(&p, PANEL);
}

/* All corners of a plane of dU (planes, corners, CORNER). */
static void multiply_plane(const struct grads *g, const struct block *b, size_t plane, float *u)
{
    size_t c_panels = g->c / PANEL, k_panels = g->k / PANEL;
    for (size_t corner = 0; corner < c_panels * k_panels; corner++) {
        multiply(g, b, plane, corner / k_panels, corner % k_panels,
                 u + plane * g->u_plane + corner * CORNER);
    }
}

/* dw of a corner from its dU, whose planes lie `plane` floats apart. */
static void transform_corner(const struct grads *g, size_t corner, const float *u, size_t plane)
{
    size_t k_panels = g->k / PANEL, c_panel = corner / k_panels, k_panel = corner % k_panels;
    for (size_t row = 0; row < PANEL; row++) {
        float *dw = g->dweight + (c_panel * PANEL + row) * g->k + k_panel * PANEL;
        for (size_t at = 0; at < PANEL; at += VL) {
            g->t.scheme->weight_grad(u + row * PANEL + at, plane, dw + at, g->c * g->k,
                                     g->streams);
        }
    }
    if (g->streams) {
        vstream_end();
    }
}

/* ---- by parts ---- */

static void item_part(void *ctx, size_t part, unsigned thread)
{
    const struct grads *g = ctx;
    size_t begin = part * g->part_tiles, end = begin + g->part_tiles;
    end = end < g->t.count ? end : g->t.count;
    for (size_t first = begin; first < end; first += g->most) {
        size_t left = end - first;
        struct block b = {.first = first,
                          .count = left < g->most ? left : g->most,
                          .v = g->v + thread * g->v_each,
                          .z = g->z + thread * g->z_each,
                          .begins = first == begin};
        for (size_t chunk = 0; chunk < ceil_div(b.count, CHUNK_TILES); chunk++) {
            transform_chunk(g, &b, chunk);
        }
        for (size_t plane = 0; plane < g->t.scheme->planes; plane++) {
            multiply_plane(g, &b, plane, g->u + part * g->u_each);
        }
    }
}

/* The sum of a corner's parts, in order, and its dw. */
static void item_sum_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    size_t planes = g->t.scheme->planes;
    float *sums = g->corners + thread * planes * CORNER_PLANE;
    for (size_t plane = 0; plane < planes; plane++) {
        const float *u = g->u + plane * g->u_plane + corner * CORNER;
        for (size_t i = 0; i < CORNER; i += VL) {
            vf sum = vload(u + i);
            for (size_t part = 1; part < g->parts; part++) {
                sum += vload(u + part * g->u_each + i);
            }
            vstore(sums + plane * CORNER_PLANE + i, sum);
        }
    }
    transform_corner(g, corner, sums, CORNER_PLANE);
}

/* ---- together ---- */

static void item_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    transform_chunk(g, &g->now, chunk);
}

static void item_plane(void *ctx, size_t plane, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    multiply_plane(g, &g->now, plane, g->u);
}

static void item_transform_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    transform_corner(g, corner, g->u + corner * CORNER, g->u_plane);
}

/* ---- by corners ---- */

static void item_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    size_t k_panels = g->k / PANEL;
    float *u = g->u + thread * g->u_each;
    for (size_t plane = 0; plane < g->t.scheme->planes; plane++) {
        multiply(g, &g->now, plane, corner / k_panels, corner % k_panels, u + plane * g->u_plane);
    }
    transform_corner(g, corner, u, g->u_plane);
}

static void sum_bias(const struct grads *g, float *dbias)
{
    for (size_t k = 0; k < g->k; k++) {
        double sum = 0;
        for (size_t slot = 0; slot < ceil_div(g->t.count, CHUNK_TILES); slot++) {
            sum += (double)g->bias_slots[slot * g->k + k];
        }
        dbias[k] = (float)sum;
    }
}

/* V and Z of the next block, by all threads. */
static void transform_next(struct grads *g, size_t first, struct pool *pool)
{
    size_t left = g->t.count - first;
    g->now = (struct block){.first = first,
                            .count = left < g->most ? left : g->most,
                            .v = g->v,
                            .z = g->z,
                            .begins = first == 0};
    parallel_for(pool, ceil_div(g->now.count, CHUNK_TILES), item_chunk, g);
}

void conv_tiles_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                float *dweight, float *dbias, const struct work *work)
{
    struct grads g = {
        .t = tiling_of(s), .c = s->c, .k = s->k, .x = x, .dy = dy, .dweight = dweight};
    struct carver scratch = {.base = work->scratch};
    plan(&g, pool_threads(work->pool), &scratch);
    size_t corners = g.c / PANEL * (g.k / PANEL), planes = g.t.scheme->planes;
    g.streams = g.c * g.k * 9 > STREAM_FLOATS && (uintptr_t)dweight % (VL * sizeof(float)) == 0;
    memset(g.zeros, 0, (g.c > g.k ? g.c : g.k) * sizeof(float));
    switch (g.way) {
    case BY_PARTS:
        parallel_for(work->pool, g.parts, item_part, &g);
        parallel_for(work->pool, corners, item_sum_corner, &g);
        break;
    case TOGETHER:
        for (size_t first = 0; first < g.t.count; first += g.most) {
            transform_next(&g, first, work->pool);
            parallel_for(work->pool, planes, item_plane, &g);
        }
        parallel_for(work->pool, corners, item_transform_corner, &g);
        break;
    case BY_CORNERS:
        transform_next(&g, 0, work->pool);
        parallel_for(work->pool, corners, item_corner, &g);
        break;
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
