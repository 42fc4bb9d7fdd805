#include "worker/kernels/product.h"

#include "worker/kernels/simd.h"

/* The rows of a that come next, in another panel or below: the hardware sees no stream in 12 rows
 * of 128 bytes here and there. conv4_2 at batch 128 took 35 to 50 ms without, 28 with. */
SIMD_INLINE void prefetch_rows(size_t rows, const float *a)
{
    for (size_t i = 0; i < rows * PANEL; i += 16) {
        __builtin_prefetch(a + i);
    }
}

/* Rows of pixels overlap: a row's value comes again three steps later in the row above. GCC would
 * keep it until then in registers that it has not got (conv1_1 forward: 10.5 ms, then 6.7). */
#define FORGET_LOADS() __asm__ volatile("" ::: "memory")

/* One register block: `rows` rows by two vectors. `rows`, a_row and a_step are constants wherever
 * this is inlined, so acc lives in registers. */
SIMD_INLINE void block(size_t rows, size_t a_row, size_t a_step, const struct product *p,
                       const float *a, const float *b, const float *init,
                       float *c)
{
    vf acc[PRODUCT_ROWS][2];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        acc[r][0] = init == NULL ? vzero() : vload(init + r * p->init_row);
        acc[r][1] = init == NULL ? vzero() : vload(init + r * p->init_row + VL);
    }
    for (size_t panel = 0; panel < p->panels; panel++) {
        const float *at = a + panel * p->a_panel;
        if (a_row == PANEL) {
            prefetch_rows(rows, panel + 1 < p->panels ? at + p->a_panel : a + rows * PANEL);
        }
        for (size_t l = 0; l < p->steps; l++) {
            vf b0 = vload(b), b1 = vload(b + VL);
            if (a_row > a_step) {
                FORGET_LOADS();
            }
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++) {
                acc[r][0] += at[r * a_row] * b0;
                acc[r][1] += at[r * a_row] * b1;
            }
            at += a_step;
            b += p->b_step;
        }
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        vstore(c + r * p->c_row, acc[r][0]);
        vstore(c + r * p->c_row + VL, acc[r][1]);
    }
}

#if PRODUCT_ROWS == 12
#define TALL_BLOCKS(ROW, STEP)                                                                     \
    case 7: block(7, ROW, STEP, p, a, b, init, c); break;                                          \
    case 8: block(8, ROW, STEP, p, a, b, init, c); break;                                          \
    case 9: block(9, ROW, STEP, p, a, b, init, c); break;                                          \
    case 10: block(10, ROW, STEP, p, a, b, init, c); break;                                        \
    case 11: block(11, ROW, STEP, p, a, b, init, c); break;                                        \
    case 12: block(12, ROW, STEP, p, a, b, init, c); break;
#else
#define TALL_BLOCKS(ROW, STEP)
#endif

/* Rows are split evenly: 32 are 11 + 11 + 10, not 12 + 12 + 8. */
#define DEFINE_PRODUCT(NAME, ROW, STEP)                                                            \
    static void NAME##_block(const struct product *p, size_t rows, const float *a,                 \
                             const float *b, const float *init, float *c)                          \
    {                                                                                              \
        switch (rows) {                                                                            \
        case 1: block(1, ROW, STEP, p, a, b, init, c); break;                                      \
        case 2: block(2, ROW, STEP, p, a, b, init, c); break;                                      \
        case 3: block(3, ROW, STEP, p, a, b, init, c); break;                                      \
        case 4: block(4, ROW, STEP, p, a, b, init, c); break;                                      \
        case 5: block(5, ROW, STEP, p, a, b, init, c); break;                                      \
        case 6: block(6, ROW, STEP, p, a, b, init, c); break;                                      \
            TALL_BLOCKS(ROW, STEP)                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void NAME(const struct product *p, size_t rows)                                                \
    {                                                                                              \
        size_t blocks = (rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS;                                  \
        for (size_t i = 0, row = 0; i < blocks; i++) {                                             \
            size_t count = (rows - row) / (blocks - i);                                            \
            for (size_t column = 0; column < PANEL; column += 2 * VL) {                            \
                const float *init =                                                                \
                    p->init == NULL ? NULL : p->init + row * p->init_row + column;                 \
                NAME##_block(p, count, p->a + row * (ROW), p->b + column, init,                    \
                             p->c + row * p->c_row + column);                                      \
            }                                                                                      \
            row += count;                                                                          \
        }                                                                                          \
    }

DEFINE_PRODUCT(product_tiles, PANEL, 1)
DEFINE_PRODUCT(product_grads, 1, PANEL)
DEFINE_PRODUCT(product_pixels, 3, 1)
DEFINE_PRODUCT(product_pixel_grads, 1, 3)
