/* Counter-based random numbers: a pure function of (key, counter), so the same seed gives the same
 * bits for any number of threads, trainers or restarts. Philox4x32-10 (Salmon et al., SC11). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng_key {
    uint64_t seed;
    uint64_t stream; /* what the numbers are for: see rng_stream */
};

/* Purposes. Add new ones at the end: the numbers of the others must not change. */
enum rng_purpose {
    RNG_INIT,    /* a: tensor */
    RNG_DROPOUT, /* a: layer and trainer, b: step */
    RNG_SHUFFLE, /* b: epoch */
    RNG_PIXELS,  /* a: split, b: sample */
    RNG_LABELS,  /* a: split */
    RNG_JITTER,  /* a: trainer, b: step; of an emulated trainer */
    RNG_GRADS,   /* made up, of emulated trainers */
};

/* Mixes up to three small numbers (purpose, step, trainer, layer...) into a stream id. */
uint64_t rng_stream(uint32_t purpose, uint32_t a, uint64_t b);
/* Four 32-bit words for one counter. */
void rng_block(struct rng_key key, uint64_t counter, uint32_t ret[4]);
/* Tile t holds 64 words: word 16*j + l is rng_block(key, 16*t + l)[j], an order that vector code
 * can compute cheaply (tensor/rng_tile.h). All arrays below are such words from tile 0 on. */
#define RNG_TILE 64
void rng_tile(struct rng_key key, uint64_t tile, uint32_t ret[RNG_TILE]);
/* n floats, uniform in [0, 1), from tile 0. */
void rng_uniform(struct rng_key key, float *out, size_t n);
/* n floats, normal(0, sd), from tile 0. */
void rng_normal(struct rng_key key, float sd, float *out, size_t n);
/* Where the key's permutation of 0..n-1 maps index i. It has no state and takes
 * O(1) expected time. */
uint64_t rng_permute(struct rng_key key, uint64_t i, uint64_t n);
