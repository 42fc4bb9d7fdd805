/* Small dense products on panels, in which all convolutions spend most of their time.
 *
 * A panel holds PANEL columns (channels) of many rows, row by row: (rows, PANEL). Rows of a panel
 * lie 128 bytes apart, so no operand is read with large strides, and nothing needs to be packed,
 * because the transforms write panels. The register block is PRODUCT_ROWS x 2 vectors (simd.h).
 *
 * It is compiled once for each instruction set. Defined in product.c. */
#pragma once

#include <stddef.h>

#include "worker/kernels/isa.h"

#define PANEL 32

/* c (rows, PANEL) = init (rows, PANEL) + sum over `panels` panels p and `steps` steps l of
 *     a[p * a_panel + row * A_ROW + l * A_STEP] * b[(p * steps + l) * b_step + column]
 * Rows of c lie c_row floats apart, rows of init init_row: 0 for a bias. init may be c; NULL: 0. */
struct product {
    const float *a;
    size_t a_panel;
    const float *b;
    size_t b_step;
    float *c;
    size_t c_row;
    const float *init;
    size_t init_row;
    size_t panels, steps;
    /* What is read next: it is prefetched into the second-level cache at the same time (except by
     * the products of pixels). The address may be invalid; NULL: nothing. */
    const float *next;
    size_t next_floats;
};

/* The same for many planes and many panels of b ("columns"). From plane to plane a, b, c, init
 * (unless NULL) and next advance by a_plane, b_plane, c_plane, c_plane and next_plane; from column
 * to column b advances by b_column, c and init by c_column. next is prefetched once per plane.
 * Plane `begin` is computed first and those before it last: see product_begin. */
struct product_grid {
    struct product first;
    size_t planes, begin, a_plane, b_plane, c_plane, next_plane;
    size_t columns, b_column, c_column;
};

/* The first plane of a thread. Threads that read the same operand begin at different planes:
 * otherwise they would request the same lines at the same time and wait for each other. */
static inline size_t product_begin(size_t planes, size_t thread, size_t threads)
{
    return planes * thread / threads;
}

#define product_grid_tiles ISA_SYMBOL(product_grid_tiles)
#define product_tiles ISA_SYMBOL(product_tiles)
#define product_grads ISA_SYMBOL(product_grads)
#define product_pixels ISA_SYMBOL(product_pixels)
#define product_pixel_grads ISA_SYMBOL(product_pixel_grads)
/* A_ROW, A_STEP = PANEL, 1: rows of panels times a matrix; steps and b_step are PANEL. */
void product_grid_tiles(const struct product_grid *g, size_t rows);
void product_tiles(const struct product *p, size_t rows);
/* 1, PANEL: the transpose of a panel times a panel; b_step is PANEL. */
void product_grads(const struct product *p, size_t rows);
/* 3, 1: pixels of three channels times a matrix. */
void product_pixels(const struct product *p, size_t rows);
/* 1, 3: the transpose of pixels of three channels times a matrix. */
void product_pixel_grads(const struct product *p, size_t rows);
