/* The one table of compute kernels. ref.c fills every slot with the readable truth; faster files
 * override slots for what the CPU has. Written once, before threads; read-only afterwards.
 *
 * Letters: N batch, C channels in, K channels out, H W image, P = N*H*W pixels. All tensors are
 * row-major fp32, (N, C, H, W) unless said otherwise, 64-byte aligned, and never alias unless said
 * otherwise. Sums over pixels carry more than fp32 (or are blocked), so results do not degrade with
 * the batch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker/tensor/rng.h"

struct conv_shape { /* 3x3, stride 1, zero padding 1 */
    uint32_t n, c, k, h, w;
};

struct bn_shape { /* hw pixels a plane; 1 behind a fully connected layer */
    uint32_t n, k, hw;
};

struct pool_shape { /* planes = N*C; h and w even, of the input */
    uint32_t planes, h, w;
};

struct dropout_mask { /* element i is dropped if word i of the key (rng.h) is below `below` */
    struct rng_key key;
    uint32_t below; /* probability * 2^32 */
};

struct kernels {
    const char *name; /* "ref", "openblas" */
    const char *isa;  /* of the passes over memory: "ref", "baseline", "avx2", "avx512" */

    /* y (N,K,H,W) = x (N,C,H,W) * weight (K,C,3,3) + bias (K). Overwrites y. 18*N*K*C*H*W FLOPs. */
    void (*conv3x3_forward)(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *scratch);
    /* dx (N,C,H,W) from dy (N,K,H,W). Overwrites dx. */
    void (*conv3x3_backward_data)(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, float *scratch);
    /* dweight (K,C,3,3) and dbias (K) from x and dy. Overwrites both. */
    void (*conv3x3_backward_weight)(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, float *scratch);
    /* Floats of scratch that the three above need for a shape; never less for a larger n. */
    size_t (*conv3x3_scratch)(const struct conv_shape *s);

    /* y (N,K) = x (N,C) * weight (K,C)^T + bias (K). */
    void (*fc_forward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y);
    /* dx (N,C) (NULL: not wanted), dweight (K,C), dbias (K). Overwrites all. */
    void (*fc_backward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias);

    /* mean (K) and biased variance (K) of y (N,K,HW) over N and HW. */
    void (*bn_stats)(const struct bn_shape *s, const float *y, float *mean, float *var);
    /* a = max(0, scale[k]*y + shift[k]): the affine form of BN for known statistics, then ReLU. */
    void (*bn_relu_forward)(const struct bn_shape *s, const float *y, const float *scale,
                            const float *shift, float *a);
    /* Back through ReLU (and a dropout in place behind it: a is its output, and where a is 0
     * nothing flows back) and through BN whose statistics depend on y: dy (N,K,HW), dgamma (K),
     * dbeta (K) from da, all overwritten. */
    void (*bn_relu_backward)(const struct bn_shape *s, const float *y, const float *a,
                             const float *da, const float *mean, const float *inv_std,
                             const float *gamma, float *dy, float *dgamma, float *dbeta);

    /* y (n) = x (n) where the mask keeps, 0 elsewhere; not rescaled. y may be x. The same call
     * takes dy to dx. */
    void (*dropout)(size_t n, const struct dropout_mask *mask, const float *x, float *y);

    /* y (planes, h/2, w/2): the largest of each 2x2 block of x (planes, h, w). */
    void (*maxpool2x2_forward)(const struct pool_shape *s, const float *x, float *y);
    /* dx (planes, h, w): dy at the first largest element in row order, 0 elsewhere. */
    void (*maxpool2x2_backward)(const struct pool_shape *s, const float *x, const float *dy,
                                float *dx);

    /* Mean over N of -log softmax(logits (N,K))[label], and its gradient dlogits (N,K). `ret_right`
     * counts rows whose largest logit (the first of equals) is the label's. */
    double (*softmax_xent)(uint32_t n, uint32_t k, const float *logits, const uint8_t *labels,
                           float *dlogits, uint32_t *ret_right);
};

/* All slots from ref.c. */
void kernels_init_ref(struct kernels *k);
/* im2col + OpenBLAS, vectorised passes, or ref where that does not apply; chosen at run time. */
void kernels_init_best(struct kernels *k, uint32_t threads);
/* As kernels_init_best, with the passes of one instruction set, for tests; -1 if the CPU (or the
 * build) has not got it. */
int kernels_init_isa(struct kernels *k, uint32_t threads, const char *isa);
