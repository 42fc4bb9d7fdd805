/* The one table of compute kernels. ref.c fills every slot with the readable truth; faster files
 * override slots for what the CPU has. Written once, before threads; read-only afterwards.
 *
 * Letters: N batch, C channels in, K channels out, H W image, P = N*H*W pixels. All tensors are
 * row-major fp32, (N, C, H, W) unless said otherwise, 64-byte aligned, and never alias. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct conv_shape { /* 3x3, stride 1, zero padding 1 */
    uint32_t n, c, k, h, w;
};

struct kernels {
    const char *name; /* "ref", "openblas" */

    /* y (N,K,H,W) = x (N,C,H,W) * weight (K,C,3,3) + bias (K). Overwrites y. 18*N*K*C*H*W FLOPs. */
    void (*conv3x3_forward)(const struct conv_shape *s, const float *x, const float *weight,
                            const float *bias, float *y, float *scratch);
    /* dx (N,C,H,W) from dy (N,K,H,W). Overwrites dx. */
    void (*conv3x3_backward_data)(const struct conv_shape *s, const float *dy, const float *weight,
                                  float *dx, float *scratch);
    /* dweight (K,C,3,3) and dbias (K) from x and dy. Overwrites both. */
    void (*conv3x3_backward_weight)(const struct conv_shape *s, const float *x, const float *dy,
                                    float *dweight, float *dbias, float *scratch);
    /* Floats of scratch that the three above need for a shape. */
    size_t (*conv3x3_scratch)(const struct conv_shape *s);

    /* y (N,K) = x (N,C) * weight (K,C)^T + bias (K). */
    void (*fc_forward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                       const float *bias, float *y);
    /* dx (N,C) (NULL: not wanted), dweight (K,C), dbias (K). Overwrites all. */
    void (*fc_backward)(uint32_t n, uint32_t c, uint32_t k, const float *x, const float *weight,
                        const float *dy, float *dx, float *dweight, float *dbias);
};

/* All slots from ref.c. */
void kernels_init_ref(struct kernels *k);
/* im2col + OpenBLAS, or ref where that does not apply; chosen at run time. */
void kernels_init_best(struct kernels *k, uint32_t threads);
