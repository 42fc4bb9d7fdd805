/* Shared by the files of the weight gradient: conv_grads.c calls the three functions below, which
 * are defined in conv_grads_vectors.c for vectors and in conv_grads_amx.c for tile registers. Each
 * instruction set is compiled with one of the two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/kernels/tiles.h"

#define CHUNK_TILES (KERNELS_AMX ? 32 : 16) /* tiles that one thread transforms at a time */
#define CORNER (PANEL * PANEL)

enum grads_way { BY_PARTS, TOGETHER, BY_CORNERS }; /* see the head of conv_grads.c */

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
    size_t item_side;         /* BY_CORNERS: an item has so many panels of C and of K */
    struct block now;         /* TOGETHER, BY_CORNERS */
    /* Scratch; arrays of threads or parts lie *_each floats apart. */
    size_t v_plane, z_plane, u_plane, v_each, z_each, u_each;
    float *u; /* (parts) or, BY_CORNERS, (threads) */
    float *v, *z, *zeros;
    float *corners;    /* (threads, planes, CORNER_PLANE): BY_PARTS, sums of all parts */
    float *bias_slots; /* (chunks, k) */
};

struct corners { /* of dU: a part of its planes, panels of C and panels of K */
    size_t plane, planes, c_panel, c_panels, k_panel, k_panels;
};

#define grads_transform_dy ISA_SYMBOL(grads_transform_dy)
#define grads_multiply ISA_SYMBOL(grads_multiply)
#define grads_transform_corner ISA_SYMBOL(grads_transform_corner)
/* Computes Z of tiles offset .. offset + count of the block (a chunk, its V must exist), and sums
 * (K), the sum of their dy. Sets to 0 what grads_multiply would read after the last tile. */
void grads_transform_dy(const struct grads *g, const struct block *b, size_t offset, size_t count,
                        float *sums);
/* dU (planes, c_panels, k_panels, CORNER) (+)= V^T Z of the block; planes lie u_plane floats apart.
 * Only grads_transform_corner depends on the layout of a corner. */
void grads_multiply(const struct grads *g, const struct block *b, const struct corners *which,
                    float *u, size_t u_plane);
/* Computes dw of a corner from its dU, with planes u_plane floats apart. */
void grads_transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u,
                            size_t u_plane);
