/* Inside of conv_grads.c, the weight gradient: what depends on who multiplies. conv_grads_vectors.c has
 * it for vectors, conv_grads_amx.c for tile registers; each instruction set is built with one of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/kernels/tiles.h"

#define CHUNK_TILES (KERNELS_AMX ? 32 : 16) /* what one thread transforms at a time */
#define CORNER (PANEL * PANEL)

enum grads_way { BY_PARTS, TOGETHER, BY_CORNERS };

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
    enum grads_way way;
    size_t most;              /* tiles of a block */
    size_t parts, part_tiles; /* BY_PARTS; else one */
    size_t item_side;         /* BY_CORNERS: panels of C, and of K, of an item */
    struct block now;         /* TOGETHER, BY_CORNERS */
    /* Scratch; those of threads or parts *_each floats apart. */
    size_t v_plane, z_plane, u_plane, v_each, z_each, u_each;
    float *u; /* (parts) or, BY_CORNERS, (threads) */
    float *v, *z, *zeros;
    float *corners;    /* (threads, planes, CORNER_PLANE): of all parts, BY_PARTS */
    float *bias_slots; /* (chunks, k) */
};

struct corners { /* of dU: a part of its planes, panels of C and panels of K */
    size_t plane, planes, c_panel, c_panels, k_panel, k_panels;
};

#define grads_transform_dy ISA_SYMBOL(grads_transform_dy)
#define grads_multiply ISA_SYMBOL(grads_multiply)
#define grads_transform_corner ISA_SYMBOL(grads_transform_corner)
/* Z of tiles offset .. offset + count of the block, a chunk, whose V is there; sums (K) = that of
 * their dy. Makes 0 what grads_multiply would read behind the last tile. */
void grads_transform_dy(const struct grads *g, const struct block *b, size_t offset, size_t count,
                        float *sums);
/* dU (planes, c_panels, k_panels, CORNER) (+)= V^T Z of the block; planes u_plane floats apart. How
 * a corner lies is known to grads_transform_corner only. */
void grads_multiply(const struct grads *g, const struct block *b, const struct corners *which,
                    float *u, size_t u_plane);
/* dw of a corner from its dU, whose planes lie u_plane floats apart. */
void grads_transform_corner(const struct grads *g, size_t c_panel, size_t k_panel, const float *u,
                            size_t u_plane);
