/* The table of compute kernels, which dispatch.c fills for the CPU, once, before threads start.
 * tests/worker/kernels_ref.c has a readable reference of every entry.
 *
 * Letters: N batch, C input channels, K output channels, H W image. All tensors are row-major fp32,
 * (N, H, W, C) unless noted otherwise, and never alias unless noted otherwise. Images and scratch
 * are 64-byte aligned; parameters and their gradients need not be. Sums over pixels have more
 * precision than fp32 or are blocked, so the error does not grow with the batch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/thread_pool.h"
#include "worker/tensor/rng.h"

/* 3x3, stride 1, zero padding 1. K is a multiple of 32. C is 3, or a multiple of 32 with images of
 * 2x2 or of whole 4x4 tiles. */
struct conv_shape {
    uint32_t n, c, k, h, w;
};

/* K is a multiple of 32; h = w = 1 after a fully connected layer; both even with pooling. */
struct bn_shape {
    uint32_t n, h, w, k;
};

/* Element i is dropped if its 16 random bits are less than `below`. They are a half of word i % 64
 * of the key's tile i / 128 (rng.h): the lower half for the first 64 elements of these 128, the
 * upper half for the others. */
struct dropout_mask {
    struct rng_key key;
    uint32_t below; /* probability * DROPOUT_ONE */
};
#define DROPOUT_ONE 65536

/* Bits for the elements of a (N, H, W, K) that are above 0: words (N, H, W, KEPT_WORDS(K)), where
 * channel k has bit k % 32 of word k / 32; bits after channel K - 1 are 0. */
#define KEPT_WORDS(k) (((size_t)(k) + 31) / 32)

struct work {                    /* what a kernel may use during a call */
    struct thread_pool *threads; /* NULL: one thread */
    float *scratch;              /* as many floats as conv3x3_scratch or BN_SCRATCH says */
};

struct kernels {
    const char *isa; /* "baseline", "neon", "avx2", "avx512" */

    /* y (N,H,W,K) = x (N,H,W,C) * weight (3,3,C,K) + bias (K). Overwrites y. 18*N*K*C*H*W FLOPs by
     * definition. Also mean (K) and biased variance (K) of y over N, H, W, unless both are NULL. */
    void (*conv3x3_forward)(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *mean, float *var,
                            const struct work *work);
    /* dx (N,H,W,C) from dy (N,H,W,K). Overwrites dx. Not for C = 3. */
    void (*conv3x3_backward_data)(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, const struct work *work);
    /* dweight (3,3,C,K) and dbias (K) from x and dy. Overwrites both. */
    void (*conv3x3_backward_weight)(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, const struct work *work);
    /* Floats of scratch that these three need for a shape; never fewer for a larger n. */
    size_t (*conv3x3_scratch)(const struct conv_shape *s, unsigned threads);

    /* y (N,K) = x (N,C) * weight (K,C)^T + bias (K). */
    void (*fc_forward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y, const struct work *work);
    /* dx (N,C) (NULL: not computed), dweight (K,C), dbias (K). Overwrites all. */
    void (*fc_backward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias,
                        const struct work *work);

    /* mean (K) and biased variance (K) of y (N,H,W,K) over all but K. */
    void (*bn_stats)(const struct bn_shape *s, const float *y, float *mean, float *var,
                     const struct work *work);
    /* a = max(0, scale[k]*y + shift[k]): BN with known statistics in its affine form, ReLU, then
     * dropout (mask NULL: none). Overwrites `kept` with the bits of a (NULL: not computed). */
    void (*bn_relu_forward)(const struct bn_shape *s, const struct dropout_mask *mask,
                            const float *y, const float *scale, const float *shift, float *a,
                            uint32_t *kept, const struct work *work);
    /* The gradients of that, where the statistics depend on y: dy (N,H,W,K), dgamma (K) and dbeta
     * (K) from da. Overwrites all; dy may be da. The gradient is 0 where the bits of a (`kept`) are
     * 0: there ReLU or dropout stopped the signal. */
    void (*bn_relu_backward)(const struct bn_shape *s, const float *y, const uint32_t *kept,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta,
                             const struct work *work);
    /* a (N,H/2,W/2,K) = the maximum of each 2x2 block of max(0, scale[k]*y + shift[k]). */
    void (*bn_relu_pool_forward)(const struct bn_shape *s, const float *y, const float *scale,
                                 const float *shift, float *a, const struct work *work);
    /* The gradients of that, as bn_relu_backward: da (N,H/2,W/2,K) goes to the first maximum of its
     * block in row order. dy must not be da. */
    void (*bn_relu_pool_backward)(const struct bn_shape *s, const float *y, const float *scale,
                                  const float *shift, const float *da, const float *mean,
                                  const float *inv_std, const float *gamma, float *dy,
                                  float *dgamma, float *dbeta, const struct work *work);

    /* y (n) = x (n) where the mask keeps the element, 0 elsewhere; not rescaled. y may be x. The
     * same call computes dx from dy. */
    void (*dropout)(size_t n, const struct dropout_mask *mask, const float *x, float *y);
};

/* Floats of scratch that suffice for bn_stats and the four bn_relu kernels. */
#define BN_SCRATCH_SLOTS 64
#define BN_SCRATCH(k) ((size_t)BN_SCRATCH_SLOTS * 3 * ((k) + 16))

/* The mean over N of -log softmax(logits (N,K))[label], and its gradient dlogits (N,K). *ret_right
 * is the number of rows whose largest logit (the first of equal ones) is the label's. Defined in
 * softmax.c. */
double kernels_softmax_xent(uint32_t n, uint32_t k, const float *logits, const uint8_t *labels,
                            float *dlogits, uint32_t *ret_right);
/* The best kernels for the CPU, but none better than the environment variable BENCH_CPU_MASK
 * allows: "baseline", "avx2", "avx512"; other values are ignored. Defined in dispatch.c. */
void kernels_init_best(struct kernels *k);
/* The kernels of one instruction set, for tests; -1 if the CPU or the build lacks it. Defined in
 * dispatch.c. */
int kernels_init_isa(struct kernels *k, const char *isa);
