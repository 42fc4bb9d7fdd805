/* The one table of compute kernels. ref.c fills every slot with the readable truth; faster files
 * override slots for what the CPU has. Written once, before threads; read-only afterwards.
 *
 * Letters: N batch, C channels in, K channels out, H W image. All tensors are row-major fp32,
 * (N, H, W, C) unless said otherwise, and never alias unless said otherwise. Images and scratch are
 * 64-byte aligned, parameters and their gradients need not be. Sums over pixels carry more than
 * fp32 (or are blocked), so results do not degrade with the batch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/thread_pool.h"
#include "worker/tensor/rng.h"

struct conv_shape { /* 3x3, stride 1, zero padding 1 */
    uint32_t n, c, k, h, w;
};

struct bn_shape { /* h = w = 1 behind a fully connected layer; both even where it pools */
    uint32_t n, h, w, k;
};

struct pool_shape { /* h and w even, of the input */
    uint32_t n, h, w, c;
};

/* Element i is dropped if its 16 bits are below `below`: those of word i % 64 of tile i / 128 of
 * the key (rng.h), the lower half in the tile's first 64 elements, the upper half in its last. */
struct dropout_mask {
    struct rng_key key;
    uint32_t below; /* probability * DROPOUT_ONE */
};
#define DROPOUT_ONE 65536

/* Bits that say which elements of a (N, H, W, K) are above 0: words (N, H, W, KEPT_WORDS(K)), bit
 * k % 32 of word k / 32 is channel k's; those behind channel K - 1 are 0. */
#define KEPT_WORDS(k) (((size_t)(k) + 31) / 32)

struct work {                    /* what a kernel may use; it keeps nothing there */
    struct thread_pool *threads; /* NULL: one thread */
    float *scratch;              /* as many floats as the kernel asks for */
};

struct kernels {
    const char *name; /* "ref", "native" */
    const char *isa;  /* "ref", "baseline", "avx2", "avx512", "amx" */

    /* y (N,H,W,K) = x (N,H,W,C) * weight (3,3,C,K) + bias (K). Overwrites y. 18*N*K*C*H*W FLOPs by
     * definition. Also mean (K) and biased variance (K) of y over N, H, W, unless both are NULL. */
    void (*conv3x3_forward)(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *mean, float *var,
                            const struct work *work);
    /* dx (N,H,W,C) from dy (N,H,W,K). Overwrites dx. */
    void (*conv3x3_backward_data)(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, const struct work *work);
    /* dweight (3,3,C,K) and dbias (K) from x and dy. Overwrites both. */
    void (*conv3x3_backward_weight)(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, const struct work *work);
    /* Floats of scratch that the three above need for a shape; never less for a larger n. */
    size_t (*conv3x3_scratch)(const struct conv_shape *s, unsigned threads);

    /* y (N,K) = x (N,C) * weight (K,C)^T + bias (K). */
    void (*fc_forward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y, const struct work *work);
    /* dx (N,C) (NULL: not wanted), dweight (K,C), dbias (K). Overwrites all. */
    void (*fc_backward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias,
                        const struct work *work);

    /* mean (K) and biased variance (K) of y (N,H,W,K) over all but K. */
    void (*bn_stats)(const struct bn_shape *s, const float *y, float *mean, float *var,
                     const struct work *work);
    /* a = max(0, scale[k]*y + shift[k]): the affine form of BN for known statistics, then ReLU,
     * then dropout (mask NULL: none). Overwrites `kept`, the caller's, with the bits of a (NULL:
     * not wanted). */
    void (*bn_relu_forward)(const struct bn_shape *s, const struct dropout_mask *mask,
                            const float *y, const float *scale, const float *shift, float *a,
                            uint32_t *kept, const struct work *work);
    /* Back through that, for statistics that depend on y: dy (N,H,W,K), dgamma (K), dbeta (K) from
     * da, all overwritten; dy may be da. Nothing flows back where the bits of a (`kept`) are 0:
     * there ReLU or dropout stopped the signal. */
    void (*bn_relu_backward)(const struct bn_shape *s, const float *y, const uint32_t *kept,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta,
                             const struct work *work);
    /* a (N,H/2,W/2,K) = the largest of each 2x2 block of max(0, scale[k]*y + shift[k]). */
    void (*bn_relu_pool_forward)(const struct bn_shape *s, const float *y, const float *scale,
                                 const float *shift, float *a, const struct work *work);
    /* Back through that: as bn_relu_backward; da (N,H/2,W/2,K) goes to the first largest of its
     * block in row order. dy may not be da. */
    void (*bn_relu_pool_backward)(const struct bn_shape *s, const float *y, const float *scale,
                                  const float *shift, const float *da, const float *mean,
                                  const float *inv_std, const float *gamma, float *dy,
                                  float *dgamma, float *dbeta, const struct work *work);

    /* y (n) = x (n) where the mask keeps, 0 elsewhere; not rescaled. y may be x. The same call
     * takes dy to dx. */
    void (*dropout)(size_t n, const struct dropout_mask *mask, const float *x, float *y);

    /* y (N,H/2,W/2,C): the largest of each 2x2 block of x. */
    void (*maxpool2x2_forward)(const struct pool_shape *s, const float *x, float *y);
    /* dx: dy at the first largest element in row order, 0 elsewhere. */
    void (*maxpool2x2_backward)(const struct pool_shape *s, const float *x, const float *dy,
                                float *dx);

    /* Mean over N of -log softmax(logits (N,K))[label], and its gradient dlogits (N,K). `ret_right`
     * counts rows whose largest logit (the first of equals) is the label's. */
    double (*softmax_xent)(uint32_t n, uint32_t k, const float *logits, const uint8_t *labels,
                           float *dlogits, uint32_t *ret_right);
};

/* Floats of scratch for bn_stats and the four bn_relu kernels: no more than this. */
#define BN_SCRATCH_SLOTS 64
#define BN_SCRATCH(k) ((size_t)BN_SCRATCH_SLOTS * 3 * ((k) + 16))

/* All slots from ref.c. */
void kernels_init_ref(struct kernels *k);
/* The best that the CPU has, but no better than BENCH_CPU_MASK says: "baseline", "avx2", "avx512",
 * "amx"; another word says nothing. */
void kernels_init_best(struct kernels *k);
/* Those of one instruction set, for tests; -1 if the CPU (or the build) has not got it. */
int kernels_init_isa(struct kernels *k, const char *isa);
