#include "worker/kernels/product.h"

#include <stdbool.h>

#include "worker/kernels/carve.h"
#include "worker/kernels/simd.h"

#define LINE_FLOATS 16

/* Prefetches the rows of a that come next, in another panel or below: the hardware detects no
 * stream in scattered blocks of 12 rows of 128 bytes. conv4_2 at batch 128 takes 28 ms with it, 35
 * to 50 without. */
SIMD_INLINE void prefetch_rows(size_t rows, const float *a)
{
    for (size_t i = 0; i < rows * PANEL; i += LINE_FLOATS) {
        __builtin_prefetch(a + i);
    }
}

/* Rows of pixels overlap: the value of a row is used again three steps later in the row above.
 * Without this GCC keeps it until then and runs out of registers. */
#define FORGET_LOADS() __asm__ volatile("" ::: "memory")

/* acc (rows, 2 vectors) += a column of a, from at on, times a row of b. */
SIMD_INLINE void add_step(size_t rows, size_t a_row, const float *at, const float *b,
                          vf acc[PRODUCT_ROWS][2])
{
    vf b0 = vload(b), b1 = vload(b + VL);
    size_t r = 0;
#if defined(__aarch64__)
#pragma GCC unroll 2
    for (size_t end = a_row == 1 ? rows : 0; r + VL <= end; r += VL) { /* see add_four_steps */
        vf column = vload(at + r);
#pragma GCC unroll 4
        for (size_t i = 0; i < VL; i++) {
            acc[r + i][0] += column[i] * b0;
            acc[r + i][1] += column[i] * b1;
        }
    }
#endif
#pragma GCC unroll 12
    for (; r < rows; r++) {
        acc[r][0] += at[r * a_row] * b0;
        acc[r][1] += at[r * a_row] * b1;
    }
}

#ifdef __aarch64__
/* Four steps of tiles. A multiply-add takes one lane of a vector here, so a load brings four
 * numbers of a row; on x86 each would be an operand in memory. The sums are those of four
 * add_step. */
SIMD_INLINE void add_four_steps(size_t rows, const float *at, const float *b,
                                vf acc[PRODUCT_ROWS][2])
{
    vf step[4][2];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        step[i][0] = vload(b + i * PANEL);
        step[i][1] = vload(b + i * PANEL + VL);
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        vf row = vload(at + r * PANEL);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            acc[r][0] += row[i] * step[i][0];
            acc[r][1] += row[i] * step[i][1];
        }
        FORGET_LOADS();
    }
}
#endif

/* Steps per iteration of the loop: with one step its counters would take a tenth of the issue slots
 * of a CPU that starts two multiply-adds per cycle. */
#define TURN_STEPS 4
#define TURN_LINES 2 /* of `next` that an iteration prefetches */

struct ahead { /* what to prefetch, and how far to advance in an iteration */
    const float *at;
    size_t floats;
};

/* One register block: `rows` rows by two vectors. `rows`, a_row and a_step are constants where this
 * is inlined, so acc stays in registers. */
SIMD_INLINE void block(size_t rows, size_t a_row, size_t a_step, const struct product *p,
                       const float *a, const float *b, const float *init, float *c,
                       struct ahead next)
{
    bool is_tiles = a_row == PANEL, is_pixels = a_row == 3 || a_step == 3;
    size_t steps = is_tiles ? PANEL : p->steps, b_step = is_pixels ? p->b_step : PANEL;
    vf acc[PRODUCT_ROWS][2];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        acc[r][0] = init == NULL ? vzero() : vload(init + r * p->init_row);
        acc[r][1] = init == NULL ? vzero() : vload(init + r * p->init_row + VL);
    }
    for (size_t panel = 0; panel < p->panels; panel++) {
        const float *at = a + panel * p->a_panel;
        size_t l = 0;
        if (is_tiles) {
            prefetch_rows(rows, panel + 1 < p->panels ? at + p->a_panel : a + rows * PANEL);
        }
        for (; !is_pixels && l + TURN_STEPS <= steps; l += TURN_STEPS) {
            for (size_t line = 0; line < TURN_LINES; line++) {
                __builtin_prefetch(next.at + line * LINE_FLOATS, 0, 2);
            }
            next.at += next.floats;
#if defined(__aarch64__)
            if (is_tiles) {
                add_four_steps(rows, at, b, acc);
                at += TURN_STEPS;
                b += TURN_STEPS * PANEL;
                continue;
            }
#endif
#pragma GCC unroll 4
            for (size_t i = 0; i < TURN_STEPS; i++) {
                add_step(rows, a_row, at + i * a_step, b + i * b_step, acc);
            }
            at += TURN_STEPS * a_step;
            b += TURN_STEPS * b_step;
        }
        for (; l < steps; l++) {
            if (is_pixels && a_row > a_step) {
                FORGET_LOADS();
            }
            add_step(rows, a_row, at, b, acc);
            at += a_step;
            b += b_step;
        }
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        vstore(c + r * p->c_row, acc[r][0]);
        vstore(c + r * p->c_row + VL, acc[r][1]);
    }
}

/* A block of a number of rows that is a constant. */
/* clang-format off */
#define ROWS(N, ROW, STEP) case N: block(N, ROW, STEP, p, a, b, init, c, next); break;
#define ROWS_TO_6(ROW, STEP)                                                                       \
    ROWS(1, ROW, STEP) ROWS(2, ROW, STEP) ROWS(3, ROW, STEP)                                       \
    ROWS(4, ROW, STEP) ROWS(5, ROW, STEP) ROWS(6, ROW, STEP)
#if PRODUCT_ROWS == 12
#define ROW_12(ROW, STEP) ROWS(12, ROW, STEP)
#else
#define ROW_12(ROW, STEP)
#endif
#if PRODUCT_ROWS > 6
#define ALL_ROWS(ROW, STEP)                                                                        \
    ROWS_TO_6(ROW, STEP)                                                                           \
    ROWS(7, ROW, STEP) ROWS(8, ROW, STEP) ROWS(9, ROW, STEP)                                       \
    ROWS(10, ROW, STEP) ROWS(11, ROW, STEP) ROW_12(ROW, STEP)
#else
#define ALL_ROWS ROWS_TO_6
#endif
/* clang-format on */

/* Register block `part` of `parts` prefetches its share of p->next. */
static struct ahead ahead_of(const struct product *p, size_t part, size_t parts)
{
    if (p->next == NULL) {
        return (struct ahead){p->b, 0};
    }
    size_t turns = p->panels * (p->steps / TURN_STEPS), share = p->next_floats / parts;
    size_t lines = turns == 0 ? 0 : ceil_div(share / LINE_FLOATS, turns);
    size_t floats = (lines < TURN_LINES ? lines : TURN_LINES) * LINE_FLOATS;
    return (struct ahead){p->next + part * share, floats};
}

/* Rows are split evenly: 32 rows into 11 + 11 + 10, not 12 + 12 + 8. */
#define DEFINE_PRODUCT(NAME, ROW, STEP)                                                            \
    static void NAME##_block(const struct product *p, size_t rows, const float *a, const float *b, \
                             const float *init, float *c, struct ahead next)                       \
    {                                                                                              \
        switch (rows) {                                                                            \
            ALL_ROWS(ROW, STEP)                                                                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void NAME(const struct product *p, size_t rows)                                                \
    {                                                                                              \
        size_t blocks = ceil_div(rows, PRODUCT_ROWS), columns = PANEL / (2 * VL);                  \
        for (size_t i = 0, row = 0; i < blocks; i++) {                                             \
            size_t count = (rows - row) / (blocks - i);                                            \
            for (size_t j = 0; j < columns; j++) {                                                 \
                size_t column = j * 2 * VL;                                                        \
                const float *init = p->init == NULL ? NULL : p->init + row * p->init_row + column; \
                NAME##_block(p, count, p->a + row * (ROW), p->b + column, init,                    \
                             p->c + row * p->c_row + column,                                       \
                             ahead_of(p, i * columns + j, blocks * columns));                      \
            }                                                                                      \
            row += count;                                                                          \
        }                                                                                          \
    }

DEFINE_PRODUCT(product_tiles, PANEL, 1)

void product_grid_tiles(const struct product_grid *g, size_t rows)
{
    for (size_t i = 0; i < g->planes; i++) {
        size_t plane = (g->begin + i) % g->planes;
        for (size_t column = 0; column < g->columns; column++) {
            struct product p = g->first;
            size_t c = plane * g->c_plane + column * g->c_column;
            p.a += plane * g->a_plane;
            p.b += plane * g->b_plane + column * g->b_column;
            p.c += c;
            p.init = p.init == NULL ? NULL : p.init + c;
            p.next = p.next == NULL || column != 0 ? NULL : p.next + plane * g->next_plane;
            product_tiles(&p, rows);
        }
    }
}

DEFINE_PRODUCT(product_grads, 1, PANEL)
DEFINE_PRODUCT(product_pixels, 3, 1)
DEFINE_PRODUCT(product_pixel_grads, 1, 3)
