/* The weight gradient of 3x3 convolution by a bilinear scheme: V = B^T x B and Z = A dy A^T of each
 * tile, dU = V^T Z plane by plane (the sum is over tiles), dw = G^T dU G. Declared in
 * conv_internal.h.
 *
 * Tiles are processed in blocks: their V and Z stay in the cache, while dU is summed in memory.
 *   BY_PARTS    dU is small: the tiles are divided into parts. Each part has its own dU and is
 *               processed by one thread, which finds its V and Z in its own cache. The parts are
 *               added at the end.
 *   TOGETHER    dU is large: all threads process a block together.
 *   BY_CORNERS  few tiles or many channels: all tiles are one block, and corners of 32 x 32 of dw
 *               are finished one at a time, so that dU (36/9 times the weights) never exists as a
 *               whole.
 * The way and the parts depend on the shape alone, so the number of threads does not change the
 * bits. */
#include <stdint.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/slots.h"
#include "worker/kernels/thread_pool.h"
#include "worker/kernels/tiles.h"

/* Tiles per block and thread. With more tiles dU is read and written less often; with fewer tiles V
 * and Z stay in a nearer cache. The size of a block does not change the bits. */
#define BLOCK_TILES 48
#define BLOCK_TILES_LARGE 96
#define LARGE_WEIGHT_FLOATS (1u << 20) /* a larger dU never fits the second-level cache */
#define PART_TILES 256                 /* per part, at least, so that adding parts is cheap */
#define MOST_PARTS 8
#define WIDE_TILES 256                /* at most so many tiles are one block */
#define WIDE_WEIGHT_FLOATS (3u << 20) /* with a larger dU all tiles are one block */
#define STREAM_FLOATS (1u << 17)      /* a larger dweight has left the cache before it is read */
#define CHUNK_TILES 16                /* tiles that one thread transforms at a time */
#define CORNER (PANEL * PANEL)
#define CORNER_PLANE (CORNER + PLANE_PAD)

enum grads_way { BY_PARTS, TOGETHER, BY_CORNERS };

struct block { /* tiles whose V and Z exist */
    size_t first, count;
    float *v, *z;
    bool begins; /* the first block: dU is not set yet */
};

struct grads {
    struct tiling t;
    size_t c, k;
    const float *x, *dy;
    float *dweight;
    bool streams; /* dweight is written past the caches */
    enum grads_way way;
    size_t most;              /* tiles of a block */
    size_t parts, part_tiles; /* BY_PARTS; otherwise one part */
    struct block now;         /* TOGETHER, BY_CORNERS */
    /* Scratch; arrays of threads or parts lie *_each floats apart. */
    size_t v_plane, z_plane, u_plane, v_each, z_each, u_each;
    float *u; /* (parts) or, BY_CORNERS, (threads) */
    float *v, *z, *zeros;
    float *corners;    /* (threads, planes, CORNER_PLANE): BY_PARTS, sums of all parts */
    float *bias_slots; /* (chunks, k) */
};

struct corners { /* a part of the planes, panels of C and panels of K of dU */
    size_t plane, planes, c_panel, c_panels, k_panel, k_panels;
};

static enum grads_way way_of(const struct tiling *t, size_t u_floats)
{
    if (t->count <= WIDE_TILES || u_floats > WIDE_WEIGHT_FLOATS) {
        return BY_CORNERS;
    }
    return u_floats > LARGE_WEIGHT_FLOATS ? TOGETHER : BY_PARTS;
}

/* Parts consist of whole chunks, so that each slot of the bias has one writer. */
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
        g->most = ceil_div(g->t.count, CHUNK_TILES) * CHUNK_TILES;
        break;
    }
    g->v_plane = g->c * g->most + PLANE_PAD;
    g->z_plane = g->k * g->most + PLANE_PAD;
    g->u_plane = (g->way == BY_CORNERS ? CORNER : g->c * g->k) + PLANE_PAD;
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

/* Tiles of a block. */
struct chunk {
    size_t offset, count;
};

static struct chunk chunk_of(const struct block *b, size_t i)
{
    size_t offset = i * CHUNK_TILES, left = b->count - offset;
    return (struct chunk){offset, left < CHUNK_TILES ? left : CHUNK_TILES};
}

static void transform_x(const struct grads *g, const struct block *b, struct chunk chunk)
{
    tiles_input(&g->t, &(struct tiles_input){.x = g->x,
                                             .channels = g->c,
                                             .panels = g->c / PANEL,
                                             .first = b->first + chunk.offset,
                                             .count = chunk.count,
                                             .zeros = g->zeros,
                                             .v = b->v + chunk.offset * PANEL,
                                             .v_plane = g->v_plane,
                                             .v_rows = g->most});
}

/* Computes Z of a chunk as panels of K whose rows are tiles, and the chunk's slot of the bias. */
static void transform_dy(const struct grads *g, const struct block *b, struct chunk chunk)
{
    const struct scheme *s = g->t.scheme;
    const float *px[2][SCHEME_MAX_PLANES];
    size_t first = b->first + chunk.offset, last = first + chunk.count - 1;
    float *z = b->z + chunk.offset * PANEL, *sums = g->bias_slots + first / CHUNK_TILES * g->k;
    memset(sums, 0, g->k * sizeof(*sums));
    tile_pixels(&g->t, first, s->out, 0, g->dy, g->k, g->zeros, px[0]);
    for (size_t i = 0; i < chunk.count; i++) {
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

/* Computes dU (planes, c_panels, k_panels, PANEL of C, PANEL of K) (+)= V^T Z of the block; planes
 * lie u_plane floats apart. It prefetches what is farthest away: Z if the block is all tiles, else
 * the next corner of dU. */
static void multiply(const struct grads *g, const struct block *b, const struct corners *which,
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

/* Computes dw of a corner from its dU, with planes u_plane floats apart. */
static void transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u,
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

/* Multiplies all corners of some planes of dU (planes, corners, CORNER). */
static void multiply_planes(const struct grads *g, const struct block *b, size_t plane,
                            size_t planes, float *u)
{
    struct corners all = {plane, planes, 0, g->c / PANEL, 0, g->k / PANEL};
    multiply(g, b, &all, u + plane * g->u_plane, g->u_plane);
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
        for (size_t i = 0; i < ceil_div(b.count, CHUNK_TILES); i++) {
            transform_x(g, &b, chunk_of(&b, i));
            transform_dy(g, &b, chunk_of(&b, i));
        }
        multiply_planes(g, &b, 0, g->t.scheme->planes, g->u + part * g->u_each);
    }
}

/* Adds the parts of a corner in order and computes its dw. */
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
    size_t k_panels = g->k / PANEL;
    transform_corner(g, corner / k_panels, corner % k_panels, sums, CORNER_PLANE);
}

/* ---- together ---- */

/* There are few chunks, so V and Z of a chunk are two items. */
static void item_half_chunk(void *ctx, size_t half, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    struct chunk chunk = chunk_of(&g->now, half / 2);
    if (half % 2 == 0) {
        transform_x(g, &g->now, chunk);
    } else {
        transform_dy(g, &g->now, chunk);
    }
}

static void item_plane(void *ctx, size_t plane, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    multiply_planes(g, &g->now, plane, 1, g->u);
}

static void item_transform_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    (void)thread;
    size_t k_panels = g->k / PANEL;
    transform_corner(g, corner / k_panels, corner % k_panels, g->u + corner * CORNER, g->u_plane);
}

/* ---- by corners ---- */

static void item_corner(void *ctx, size_t corner, unsigned thread)
{
    const struct grads *g = ctx;
    size_t k_panels = g->k / PANEL, c_panel = corner / k_panels, k_panel = corner % k_panels;
    struct corners one = {0, g->t.scheme->planes, c_panel, 1, k_panel, 1};
    float *u = g->u + thread * g->u_each;
    multiply(g, &g->now, &one, u, g->u_plane);
    transform_corner(g, c_panel, k_panel, u, g->u_plane);
}

/* Computes V and Z of the next block with all threads. */
static void transform_next(struct grads *g, size_t first, struct thread_pool *threads)
{
    size_t left = g->t.count - first;
    g->now = (struct block){.first = first,
                            .count = left < g->most ? left : g->most,
                            .v = g->v,
                            .z = g->z,
                            .begins = first == 0};
    parallel_for(threads, 2 * ceil_div(g->now.count, CHUNK_TILES), item_half_chunk, g);
}

void conv_tiles_backward_weight(const struct conv_shape *s, const float *x, const float *dy,
                                float *dweight, float *dbias, const struct work *work)
{
    struct grads g = {
        .t = tiling_of(s), .c = s->c, .k = s->k, .x = x, .dy = dy, .dweight = dweight};
    struct carver scratch = {.base = work->scratch};
    plan(&g, thread_pool_size(work->threads), &scratch);
    size_t corners = g.c / PANEL * (g.k / PANEL), planes = g.t.scheme->planes;
    g.streams = g.c * g.k * 9 > STREAM_FLOATS && (uintptr_t)dweight % (VL * sizeof(float)) == 0;
    memset(g.zeros, 0, (g.c > g.k ? g.c : g.k) * sizeof(float));
    switch (g.way) {
    case BY_PARTS:
        parallel_for(work->threads, g.parts, item_part, &g);
        parallel_for(work->threads, corners, item_sum_corner, &g);
        break;
    case TOGETHER:
        for (size_t first = 0; first < g.t.count; first += g.most) {
            transform_next(&g, first, work->threads);
            parallel_for(work->threads, planes, item_plane, &g);
        }
        parallel_for(work->threads, corners, item_transform_corner, &g);
        break;
    case BY_CORNERS:
        transform_next(&g, 0, work->threads);
        parallel_for(work->threads, corners, item_corner, &g);
        break;
    }
    slots_sum_all(g.bias_slots, ceil_div(g.t.count, CHUNK_TILES), g.k, dbias);
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
