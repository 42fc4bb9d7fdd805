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
 *               are finished one at a time or a few at a time, so that dU (36/9 times the weights)
 *               never exists as a whole.
 * The way and the parts depend on the shape alone, so the number of threads does not change the
 * bits. */
#include <stdint.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/ceil_div.h"
#include "worker/kernels/conv_grads_internal.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/slots.h"
#include "worker/kernels/thread_pool.h"

/* Tiles per block and thread. With more tiles dU is read and written less often; with fewer tiles V
 * and Z stay in a nearer cache. The size of a block does not change the bits. */
#define BLOCK_TILES (KERNELS_AMX ? 32 : 48)
#define BLOCK_TILES_LARGE 96
#define LARGE_WEIGHT_FLOATS (1u << 20) /* a larger dU never fits the second-level cache */
#define PART_TILES 256                 /* per part, at least, so that adding parts is cheap */
#define MOST_PARTS 8
#define WIDE_TILES 256                /* at most so many tiles are one block */
#define WIDE_WEIGHT_FLOATS (3u << 20) /* with a larger dU all tiles are one block */
#define STREAM_FLOATS (1u << 17)      /* a larger dweight has left the cache before it is read */
#define CORNER_PLANE (CORNER + PLANE_PAD)
#define MOST_ITEM_SIDE (KERNELS_AMX ? 4 : 1)
#define ITEMS_EACH 4

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

/* The panels of an item, BY_CORNERS. With tile registers larger items are faster (conv4_2: 15.7 ms
 * with 4 x 4, 18.6 with 2 x 2), because V and Z are read and converted (product_amx.c) less often;
 * but each thread should get several items. */
static void choose_item(struct grads *g, size_t threads)
{
    size_t c_panels = g->c / PANEL, k_panels = g->k / PANEL, side = MOST_ITEM_SIDE;
    while (side > 1 && (c_panels % side != 0 || k_panels % side != 0 ||
                        c_panels / side * (k_panels / side) < ITEMS_EACH * threads)) {
        side /= 2;
    }
    g->item_side = side;
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
    choose_item(g, threads);
    g->v_plane = g->c * g->most + PLANE_PAD;
    g->z_plane = g->k * g->most + PLANE_PAD;
    g->u_plane =
        (g->way == BY_CORNERS ? g->item_side * g->item_side * CORNER : g->c * g->k) + PLANE_PAD;
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

static void transform_dy(const struct grads *g, const struct block *b, struct chunk chunk)
{
    size_t slot = (b->first + chunk.offset) / CHUNK_TILES;
    grads_transform_dy(g, b, chunk.offset, chunk.count, g->bias_slots + slot * g->k);
}

/* All corners of some planes of dU (planes, corners, CORNER). */
static void multiply_planes(const struct grads *g, const struct block *b, size_t plane,
                            size_t planes, float *u)
{
    struct corners all = {plane, planes, 0, g->c / PANEL, 0, g->k / PANEL};
    grads_multiply(g, b, &all, u + plane * g->u_plane, g->u_plane);
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
    grads_transform_corner(g, corner / k_panels, corner % k_panels, sums, CORNER_PLANE);
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
    grads_transform_corner(g, corner / k_panels, corner % k_panels, g->u + corner * CORNER,
                           g->u_plane);
}

/* ---- by corners ---- */

static void item_corners(void *ctx, size_t item, unsigned thread)
{
    const struct grads *g = ctx;
    size_t side = g->item_side, across = g->k / PANEL / side;
    struct corners some = {.planes = g->t.scheme->planes,
                           .c_panel = item / across * side,
                           .c_panels = side,
                           .k_panel = item % across * side,
                           .k_panels = side};
    float *u = g->u + thread * g->u_each;
    grads_multiply(g, &g->now, &some, u, g->u_plane);
    for (size_t i = 0; i < side * side; i++) {
        grads_transform_corner(g, some.c_panel + i / side, some.k_panel + i % side, u + i * CORNER,
                               g->u_plane);
    }
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
        parallel_for(work->threads, corners / (g.item_side * g.item_side), item_corners, &g);
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
