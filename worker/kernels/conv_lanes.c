/* The input gradient of 2x2 images by scheme_pair, with images instead of channels on the lanes of
 * vectors:
 *
 *     dX (C, images) = U (C, K) * Z (K, images)     plane by plane
 *
 * reads weights as rows of C with contiguous K, which is their layout in memory. With channels on
 * the lanes (conv_tiles.c) all weights would have to be transposed; here dy and dx are, which are
 * smaller. Both ways compute the same sums in the same order, so they give the same bits. */
#include <stdbool.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/conv_internal.h"
#include "worker/kernels/simd.h"
#include "worker/kernels/thread_pool.h"
#include "worker/kernels/tiles.h"

#define PIXELS 4
#define STRIP (VL * PANEL)  /* VL channels of PANEL images */
#define IMAGES_PER_EMPTY 8  /* at least so many images for each empty lane */
#define PREFETCH_FLOATS 128 /* how far ahead weights are prefetched */

struct lanes {
    size_t threads, n, c, k;
    size_t groups; /* of PANEL images; the last one is padded with zeros */
    const float *dy, *weight;
    float *dx;
    /* Scratch; u and m of each thread, *_each floats apart. */
    size_t u_plane, z_plane, m_plane, u_each, m_each;
    float *u; /* (planes, K / PANEL, PANEL of C, PANEL of K) */
    float *z; /* (planes, groups, K, PANEL) */
    float *m; /* (planes, groups, PANEL of C, PANEL) */
};

static struct lanes plan(const struct conv_shape *s, size_t threads, struct carver *scratch)
{
    struct lanes l = {.threads = threads, .n = s->n, .c = s->c, .k = s->k};
    size_t planes = scheme_pair.planes;
    l.groups = (l.n + PANEL - 1) / PANEL;
    l.u_plane = l.k * PANEL + PLANE_PAD;
    l.z_plane = l.groups * l.k * PANEL + PLANE_PAD;
    l.m_plane = l.groups * PANEL * PANEL + PLANE_PAD;
    l.u_each = planes * l.u_plane;
    l.m_each = planes * l.m_plane;
    l.u = carve(scratch, l.u_each * threads);
    l.z = carve(scratch, planes * l.z_plane);
    l.m = carve(scratch, l.m_each * threads);
    return l;
}

bool conv_lanes_fit(const struct conv_shape *s)
{
    size_t empty = (PANEL - s->n % PANEL) % PANEL;
    return tiling_of(s).scheme == &scheme_pair && empty * IMAGES_PER_EMPTY <= s->n;
}

/* strip (VL, PANEL) = pixels (images, VL) transposed, with rows `row` floats apart. */
SIMD_INLINE void take_strip(const float *pixels, size_t row, size_t images, float *strip)
{
    vf block[VL];
    for (size_t image = 0; image < PANEL; image += VL) {
        for (size_t i = 0; i < VL; i++) {
            block[i] = image + i < images ? vload(pixels + (image + i) * row) : vzero();
        }
        vtranspose(block);
        for (size_t i = 0; i < VL; i++) {
            vstore(strip + i * PANEL + image, block[i]);
        }
    }
}

/* The reverse of take_strip. */
SIMD_INLINE void put_strip(const float *strip, size_t row, size_t images, float *pixels)
{
    vf block[VL];
    for (size_t image = 0; image < PANEL; image += VL) {
        for (size_t i = 0; i < VL; i++) {
            block[i] = vload(strip + i * PANEL + image);
        }
        vtranspose(block);
        for (size_t i = 0; i < VL && image + i < images; i++) {
            vstore(pixels + (image + i) * row, block[i]);
        }
    }
}

static size_t images_of(const struct lanes *l, size_t group)
{
    size_t left = l->n - group * PANEL;
    return left < PANEL ? left : PANEL;
}

/* Z of VL channels of a group. */
static void transform_dy(const struct lanes *l, size_t group, size_t channel)
{
    const float *dy = l->dy + group * PANEL * PIXELS * l->k + channel, *px[PIXELS];
    float *z = l->z + (group * l->k + channel) * PANEL, strips[PIXELS][STRIP];
    for (size_t i = 0; i < PIXELS; i++) {
        take_strip(dy + i * l->k, PIXELS * l->k, images_of(l, group), strips[i]);
        px[i] = strips[i];
    }
    for (size_t at = 0; at < STRIP; at += VL) {
        scheme_pair.input(px, at, z + at, l->z_plane);
    }
}

static void item_dy(void *ctx, size_t panel, unsigned thread)
{
    const struct lanes *l = ctx;
    (void)thread;
    for (size_t group = 0; group < l->groups; group++) {
        for (size_t channel = panel * PANEL; channel < (panel + 1) * PANEL; channel += VL) {
            transform_dy(l, group, channel);
        }
    }
}

/* U of one panel of C, with the taps in reverse order. The nine taps lie 2^n apart and share the
 * sets of a cache, so they are read along K, where the hardware detects nine streams. */
static void transform_weight(const struct lanes *l, size_t panel, float *u)
{
    ptrdiff_t tap = (ptrdiff_t)(l->c * l->k);
    for (size_t row = 0; row < PANEL; row++) {
        const float *w = l->weight + 8 * tap + (panel * PANEL + row) * l->k;
        for (size_t k = 0; k < l->k; k += PANEL) {
            prefetch_taps(w + k + PREFETCH_FLOATS, -tap);
            for (size_t at = 0; at < PANEL; at += VL) {
                scheme_pair.weight(w + k + at, -tap, u + (k + row) * PANEL + at, l->u_plane);
            }
        }
    }
}

static void multiply(const struct lanes *l, const float *u, float *m, unsigned thread)
{
    struct product_grid g = {.first = {.a = u,
                                       .a_panel = PANEL * PANEL,
                                       .b = l->z,
                                       .b_step = PANEL,
                                       .c = m,
                                       .c_row = PANEL,
                                       .panels = l->k / PANEL,
                                       .steps = PANEL,
                                       .next = l->z + l->z_plane,
                                       .next_floats = l->groups * l->k * PANEL},
                             .planes = scheme_pair.planes,
                             .begin = product_begin(scheme_pair.planes, thread, l->threads),
                             .a_plane = l->u_plane,
                             .b_plane = l->z_plane,
                             .c_plane = l->m_plane,
                             .next_plane = l->z_plane,
                             .columns = l->groups,
                             .b_column = l->k * PANEL,
                             .c_column = PANEL * PANEL};
    product_grid_tiles(&g, PANEL);
}

/* dx of VL channels of a group; their rows of M begin at m. */
static void transform_output(const struct lanes *l, size_t group, size_t channel, const float *m)
{
    static const float no_bias[STRIP];
    float *dx = l->dx + group * PANEL * PIXELS * l->c + channel, *px[PIXELS];
    size_t row = PIXELS * l->c, images = images_of(l, group);
    float strips[PIXELS][STRIP];
    for (size_t i = 0; i < PIXELS; i++) {
        px[i] = strips[i];
        for (size_t image = 0; image < images; image++) {
            __builtin_prefetch(dx + i * l->c + image * row, 1);
        }
    }
    for (size_t at = 0; at < STRIP; at += VL) {
        scheme_pair.output(m + at, l->m_plane, no_bias, px, at, false, NULL);
    }
    for (size_t i = 0; i < PIXELS; i++) {
        put_strip(strips[i], row, images, dx + i * l->c);
    }
}

static void item_panel(void *ctx, size_t panel, unsigned thread)
{
    const struct lanes *l = ctx;
    float *u = l->u + thread * l->u_each, *m = l->m + thread * l->m_each;
    transform_weight(l, panel, u);
    multiply(l, u, m, thread);
    for (size_t group = 0; group < l->groups; group++) {
        for (size_t row = 0; row < PANEL; row += VL) {
            transform_output(l, group, panel * PANEL + row, m + (group * PANEL + row) * PANEL);
        }
    }
}

void conv_lanes_backward_data(const struct conv_shape *s, const float *dy, const float *weight,
                              float *dx, const struct work *work)
{
    struct carver scratch = {.base = work->scratch};
    struct lanes l = plan(s, thread_pool_size(work->threads), &scratch);
    l.dy = dy;
    l.weight = weight;
    l.dx = dx;
    parallel_for(work->threads, l.k / PANEL, item_dy, &l);
    parallel_for(work->threads, l.c / PANEL, item_panel, &l);
}

size_t conv_lanes_scratch(const struct conv_shape *s, unsigned threads)
{
    struct carver scratch = {0};
    if (tiling_of(s).scheme == &scheme_pair) {
        (void)plan(s, threads, &scratch);
    }
    return scratch.used;
}
