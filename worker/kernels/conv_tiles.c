/* Forward and input gradient of 3x3 convolution by a bilinear scheme:
 *     transform x (V), transform weights (U), multiply plane by plane (M = V U), transform back.
 *
 * Small layers are processed by blocks of tiles: all weights are transformed first, then each block
 * of tiles goes through all stages while its V and M stay in the cache. If there are few tiles, or
 * the transformed weights (36/9 times the weights) would not stay in the cache, all tiles are one
 * block ("wide"), and one panel of 32 output channels at a time goes through all stages: weights
 * are transformed and used immediately, as many as the cache holds. Threads share blocks in the
 * first case and panels in the second. */
#include <stdbool.h>
#include <string.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/cpu.h"
#include "worker/kernels/moments.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/tiles.h"

#define LARGE_L2_BYTES (2u << 20)
#define BLOCKS_SHARED 4 /* the number of blocks is a multiple of it */
#define DEPTH_ROWS 256  /* of U at a time, at most: the first-level cache holds a plane of them */
#define DEPTH_FLOATS (1u << 18) /* of U at a time, at most: the second-level cache holds them */
#define PREFETCH_ROWS 8         /* how far ahead weights are prefetched */
#define TURN_ROWS 16            /* of weights that are transposed at a time: a cache line */
#define WIDE_TILES 128          /* at most so many tiles are one block */
#define WIDE_WEIGHT_FLOATS (3u << 20) /* with more transformed weights all tiles are one block */

struct conv {
    struct tiling t;
    size_t c, k;         /* input and output channels: K and C for the input gradient */
    const float *x;      /* (N, H, W, c) */
    float *y;            /* (N, H, W, k) */
    const float *weight; /* (3, 3, c, k); turned: (3, 3, k, c) */
    bool turned;
    const float *bias; /* (k) */
    bool streams;      /* y is written past the caches */
    float *moments;    /* (slots, 3, k); NULL: not computed */
    size_t threads;
    /* Scratch; arrays of threads lie *_each floats apart, 0: all threads share one. */
    bool wide;
    size_t block; /* tiles that go through the stages together */
    size_t room;  /* tiles that V and M have room for */
    size_t chunk; /* tiles per slot of the moments */
    size_t depth; /* channels of x whose U exists at a time */
    size_t u_plane, v_plane, m_plane, u_panel, v_each, m_each;
    float *u, *v, *m, *zeros;
};

struct tuning {
    size_t block;  /* the most tiles per block */
    size_t stream; /* a y of more floats has left the cache before it is read */
};

/* With 1 MB of second-level cache (Zen 4) blocks of 12 keep V in the first level: conv2_2
 * takes 26.8 ms, 28.5 with 48; with register blocks of 6 rows they would read U too often. With 2
 * MB (Granite Rapids, with a slow third level) blocks of 48 keep V in the second level and read U a
 * quarter as often: conv2_2 takes 17 ms, 21 with 12. There even a small y is better written past
 * the caches, because it would evict V and U. */
static struct tuning tuning_of_cpu(void)
{
    if (cpu_l2_bytes() >= LARGE_L2_BYTES) {
        return (struct tuning){.block = 48, .stream = 1u << 17};
    }
    return (struct tuning){.block = PRODUCT_ROWS == 12 ? 12 : 48, .stream = 1u << 20};
}

/* The number of tiles per block, unless all tiles are one block. Two or four threads get the same
 * number of blocks, which are nearly equal. */
static size_t block_of(size_t tiles, size_t most)
{
    return ceil_div(tiles, ceil_div(ceil_div(tiles, most), BLOCKS_SHARED) * BLOCKS_SHARED);
}

/* An equal part of c, in whole panels, with at most DEPTH_FLOATS of U. */
static size_t depth_of(size_t planes, size_t c)
{
    size_t depth = c;
    while ((depth > DEPTH_ROWS || planes * depth * PANEL > DEPTH_FLOATS) &&
           depth % (2 * PANEL) == 0) {
        depth /= 2;
    }
    return depth;
}

/* Chooses the sizes and the places in scratch. */
static void plan(struct conv *cv, size_t threads, struct carver *scratch)
{
    size_t planes = cv->t.scheme->planes, most = cv->c > cv->k ? cv->c : cv->k;
    struct tuning tuning = tuning_of_cpu();
    cv->threads = threads;
    cv->wide = cv->t.count <= WIDE_TILES || planes * cv->c * cv->k > WIDE_WEIGHT_FLOATS;
    cv->block = cv->wide ? cv->t.count : block_of(cv->t.count, tuning.block);
    cv->room = cv->wide ? cv->t.count : tuning.block;
    cv->chunk = cv->wide ? MOMENT_TILES : cv->block;
    cv->depth = cv->wide ? depth_of(planes, cv->c) : cv->c;
    cv->u_plane = cv->depth * PANEL + PLANE_PAD;
    cv->v_plane = cv->c * cv->room + PLANE_PAD;
    cv->m_plane = PANEL * cv->room + PLANE_PAD;
    cv->u_panel = planes * cv->u_plane;
    cv->v_each = cv->wide ? 0 : planes * cv->v_plane;
    cv->m_each = planes * cv->m_plane;
    cv->streams = cv->t.count * cv->t.scheme->out * cv->t.scheme->out * cv->k > tuning.stream;
    /* V and M come first: then they have the same addresses in every layer and are still cached.
     * With U before them the first block of conv2_2 takes 0.70 ms to transform instead of 0.23. */
    cv->v = carve(scratch, planes * cv->v_plane * (cv->wide ? 1 : threads));
    cv->m = carve(scratch, cv->m_each * threads);
    cv->u = carve(scratch, cv->u_panel * (cv->wide ? threads : cv->k / PANEL));
    cv->zeros = carve(scratch, most);
    cv->moments = carve(scratch, ceil_div(cv->t.count, cv->chunk) * 3 * cv->k);
}

/* dst (TURN_ROWS, PANEL) of each tap = weight[tap][column ..][row ..], transposed. A tap is
 * prefetched while the one before it is transposed: taps lie 2^n apart, so few of them fit a set of
 * the cache. */
static void turn_taps(const struct conv *cv, size_t column, size_t row, float *dst)
{
    vf block[VL];
    for (size_t part = 0; part < 9 * PANEL / VL; part++) {
        size_t tap = part / (PANEL / VL), j = part % (PANEL / VL) * VL;
        const float *first = cv->weight + (column + j) * cv->c + row;
        const float *src = first + tap * cv->k * cv->c;
        const float *next = tap < 8 ? src + cv->k * cv->c : first + TURN_ROWS;
        float *to = dst + tap * TURN_ROWS * PANEL + j;
        for (size_t at = 0; at < TURN_ROWS; at += VL) {
            for (size_t i = 0; i < VL; i++) {
                block[i] = vload(src + i * cv->c + at);
                __builtin_prefetch(next + i * cv->c + at, 0, 2);
            }
            vtranspose(block);
            for (size_t i = 0; i < VL; i++) {
                vstore(to + (at + i) * PANEL, block[i]);
            }
        }
    }
}

/* U of one panel of output channels and `depth` channels of x from `first` on:
 * u[plane][row - first][PANEL]. */
static void transform_weight(const struct conv *cv, size_t panel, size_t first, float *u)
{
    const struct scheme *s = cv->t.scheme;
    float turned[9 * TURN_ROWS * PANEL];
    for (size_t row = first; row < first + cv->depth; row += TURN_ROWS) {
        const float *w = cv->weight + row * cv->k + panel * PANEL;
        ptrdiff_t tap = (ptrdiff_t)(cv->c * cv->k), step = (ptrdiff_t)cv->k;
        if (cv->turned) {
            turn_taps(cv, panel * PANEL, row, turned);
            tap = -(TURN_ROWS * PANEL);
            step = PANEL;
            w = turned - 8 * tap;
        }
        for (size_t i = 0; i < TURN_ROWS; i++) {
            if (!cv->turned) {
                prefetch_taps(w + (ptrdiff_t)(i + PREFETCH_ROWS) * step, tap);
            }
            for (size_t at = 0; at < PANEL; at += VL) {
                s->weight(w + (ptrdiff_t)i * step + at, tap, u + (row - first + i) * PANEL + at,
                          cv->u_plane);
            }
        }
    }
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void transform_input(const struct conv *cv, size_t panel, size_t panels, size_t first,
                            size_t count, float *v)
{
    tiles_input(&cv->t, &(struct tiles_input){.x = cv->x,
                                              .channels = cv->c,
                                              .panel = panel,
                                              .panels = panels,
                                              .first = first,
                                              .count = count,
                                              .zeros = cv->zeros,
                                              .v = v,
                                              .v_plane = cv->v_plane,
                                              .v_rows = cv->room});
}

/* M of `count` tiles and one panel of output channels += `depth` channels of x from `from` on. It
 * prefetches what is farthest away: V if it has all tiles, else U. */
static void multiply(const struct conv *cv, size_t from, size_t count, const float *v,
                     const float *u, float *m, unsigned thread)
{
    struct product_grid g = {.first = {.a = v + from * cv->room,
                                       .a_panel = cv->room * PANEL,
                                       .b = u,
                                       .b_step = PANEL,
                                       .c = m,
                                       .c_row = PANEL,
                                       .init = from == 0 ? NULL : m,
                                       .init_row = PANEL,
                                       .panels = cv->depth / PANEL,
                                       .steps = PANEL},
                             .planes = cv->t.scheme->planes,
                             .begin = product_begin(cv->t.scheme->planes, thread, cv->threads),
                             .a_plane = cv->v_plane,
                             .b_plane = cv->u_plane,
                             .c_plane = cv->m_plane,
                             .columns = 1};
    g.first.next = cv->wide ? g.first.a + cv->v_plane : u + cv->u_plane;
    g.first.next_floats = cv->depth * (cv->wide ? cv->room : PANEL);
    g.next_plane = cv->wide ? cv->v_plane : cv->u_plane;
    product_grid_tiles(&g, count);
}

/* Transforms one panel of channels of a chunk of tiles from M to y. The chunk begins with tile
 * `first`, which is row 0 of m. */
static void transform_output(const struct conv *cv, size_t panel, size_t first, const float *m)
{
    const struct scheme *s = cv->t.scheme;
    size_t count = min_size(cv->chunk, cv->t.count - first);
    float *slot =
        cv->moments == NULL ? NULL : cv->moments + first / cv->chunk * 3 * cv->k + panel * PANEL;
    for (size_t i = 0; i < count; i++) {
        union {
            const float *in[SCHEME_MAX_PLANES];
            float *out[SCHEME_MAX_PLANES];
        } px;
        tile_pixels(&cv->t, first + i, s->out, 0, cv->y, cv->k, NULL, px.in);
        for (size_t at = 0; at < PANEL; at += VL) {
            const float *row = m + i * PANEL + at;
            size_t channel = panel * PANEL + at;
            if (slot == NULL) {
                s->output(row, cv->m_plane, cv->bias, px.out, channel, cv->streams, NULL);
                continue;
            }
            struct scheme_moments sums = {slot + at, slot + cv->k + at, slot + 2 * cv->k + at,
                                          i == 0};
            s->output(row, cv->m_plane, cv->bias, px.out, channel, cv->streams, &sums);
        }
    }
    if (cv->streams) {
        vstream_end();
    }
}

/* Does the same for tiles first .. first + count, chunk by chunk. */
static void transform_outputs(const struct conv *cv, size_t panel, size_t first, size_t count,
                              const float *m)
{
    for (size_t at = 0; at < count; at += cv->chunk) {
        transform_output(cv, panel, first + at, m + at * PANEL);
    }
}

static void item_weight(void *ctx, size_t panel, unsigned thread)
{
    const struct conv *cv = ctx;
    (void)thread;
    transform_weight(cv, panel, 0, cv->u + panel * cv->u_panel);
}

static void item_block(void *ctx, size_t block, unsigned thread)
{
    const struct conv *cv = ctx;
    float *v = cv->v + thread * cv->v_each, *m = cv->m + thread * cv->m_each;
    size_t first = block * cv->block, count = min_size(cv->block, cv->t.count - first);
    transform_input(cv, 0, cv->c / PANEL, first, count, v);
    for (size_t panel = 0; panel < cv->k / PANEL; panel++) {
        multiply(cv, 0, count, v, cv->u + panel * cv->u_panel, m, thread);
        transform_outputs(cv, panel, first, count, m);
    }
}

static void item_input(void *ctx, size_t panel, unsigned thread)
{
    const struct conv *cv = ctx;
    (void)thread;
    transform_input(cv, panel, 1, 0, cv->t.count, cv->v + panel * cv->room * PANEL);
}

static void item_panel(void *ctx, size_t panel, unsigned thread)
{
    const struct conv *cv = ctx;
    float *u = cv->u + thread * cv->u_panel, *m = cv->m + thread * cv->m_each;
    for (size_t from = 0; from < cv->c; from += cv->depth) {
        transform_weight(cv, panel, from, u);
        multiply(cv, from, cv->t.count, cv->v, u, m, thread);
    }
    transform_outputs(cv, panel, 0, cv->t.count, m);
}

static void run(struct conv *cv, struct thread_pool *threads)
{
    if (cv->wide) {
        parallel_for(threads, cv->c / PANEL, item_input, cv);
        parallel_for(threads, cv->k / PANEL, item_panel, cv);
    } else {
        parallel_for(threads, cv->k / PANEL, item_weight, cv);
        parallel_for(threads, ceil_div(cv->t.count, cv->block), item_block, cv);
    }
}

static struct conv conv_of(const struct conv_shape *s)
{
    return (struct conv){.t = tiling_of(s), .c = s->c, .k = s->k};
}

void conv_tiles_forward(const struct conv_shape *s, const float *x, const float *weight,
                        const float *bias, float *y, float *mean, float *var,
                        const struct work *work)
{
    struct conv cv = conv_of(s);
    struct carver scratch = {.base = work->scratch};
    cv.x = x;
    cv.y = y;
    cv.weight = weight;
    cv.bias = bias;
    plan(&cv, thread_pool_size(work->threads), &scratch);
    memset(cv.zeros, 0, cv.c * sizeof(float));
    float *moments = cv.moments;
    cv.moments = mean != NULL ? moments : NULL;
    run(&cv, work->threads);
    if (mean != NULL) {
        size_t tile = cv.t.scheme->out * cv.t.scheme->out;
        moments_merge(moments, cv.k, cv.t.count * tile, cv.chunk * tile, mean, var);
    }
}

void conv_tiles_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                              float *dx, const struct work *work)
{
    struct conv cv = conv_of(s);
    struct carver scratch = {.base = work->scratch};
    cv.c = s->k;
    cv.k = s->c;
    cv.x = dy;
    cv.y = dx;
    cv.weight = weight;
    cv.turned = true;
    plan(&cv, thread_pool_size(work->threads), &scratch);
    memset(cv.zeros, 0, (cv.c > cv.k ? cv.c : cv.k) * sizeof(float));
    cv.bias = cv.zeros;
    cv.moments = NULL;
    run(&cv, work->threads);
}

/* A smaller batch may need more: the largest batch that is one block. */
static size_t most_scratch(struct conv cv, unsigned threads)
{
    struct carver all = {0}, one_block = {0};
    plan(&cv, threads, &all);
    cv.t.count = min_size(cv.t.count, WIDE_TILES);
    plan(&cv, threads, &one_block);
    return all.used > one_block.used ? all.used : one_block.used;
}

size_t conv_tiles_scratch(const struct conv_shape *s, unsigned threads)
{
    struct conv cv = conv_of(s), turned = cv;
    turned.c = cv.k;
    turned.k = cv.c;
    size_t forward = most_scratch(cv, threads), backward = most_scratch(turned, threads);
    return forward > backward ? forward : backward;
}
