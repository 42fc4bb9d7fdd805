/* A model as the files of this folder and their tests see it: its layers, and where they
 * lie in the one block of memory. Everyone else uses model.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/layer_def.h"
#include "worker/kernels/kernels.h"
#include "worker/model/model.h"
#include "worker/tensor/arena.h"

/* A layer of a model: its shape, where its tensors lie, and how much memory it needs.
 *
 * Forward of a layer with BN, in training:  x -> y = W*x + b -> out = dropout(relu(bn(y))).
 * Backward needs x, y, the batch statistics and one bit for each element of out: where out is 0,
 * ReLU or dropout stopped the signal, and neither lets a gradient through.
 *
 * A convolution also computes the pooling that follows it: its out is pooled, the full-size
 * activation never exists, and backward recomputes it from y. */

struct layer {
    const struct layer_def *def;
    struct layer_shape shape;
    struct layer_params sizes;
    size_t param;   /* offset of the first tensor in params and grads */
    bool pools;     /* also computes the pooling that follows it */
    const float *x; /* (N, H, W, C): the input of the model or the out of the layer before */
    float *y;       /* (N, H, W, K): before BN; NULL without BN */
    float *out;     /* (N, Ho, Wo, K); (N, Ho/2, Wo/2, K) if it pools. Of a pooling: that of the
                     * layer before */
    uint32_t *kept; /* (N, Ho, Wo, KEPT_WORDS(K)): bits of out (kernels.h), of the last forward in
                     * training; NULL without BN and if it pools */
    /* (K) each, NULL without BN: */
    float *mean, *var, *inv_std;       /* of the batch */
    float *running_mean, *running_var; /* for inference */
    float *scale, *shift;              /* BN as one multiply-add */
};

static inline size_t layer_x_floats(const struct layer *l) /* of one sample */
{
    return (size_t)l->shape.c * l->shape.h * l->shape.w;
}

static inline size_t layer_out_floats(const struct layer *l) /* of one sample, before pooling */
{
    return (size_t)l->shape.k * l->shape.ho * l->shape.wo;
}

static inline struct conv_shape layer_conv_shape(const struct layer *l, uint32_t n)
{
    return (struct conv_shape){
        .n = n, .c = l->shape.c, .k = l->shape.k, .h = l->shape.h, .w = l->shape.w};
}

static inline struct bn_shape layer_bn_shape(const struct layer *l, uint32_t n)
{
    return (struct bn_shape){.n = n, .h = l->shape.ho, .w = l->shape.wo, .k = l->shape.k};
}

struct model {
    const struct model_def *def;
    struct kernels kernels;
    uint32_t batch, threads;
    uint64_t seed;
    bool dropout;

    const struct model_probe *probe; /* NULL: none */
    const struct model_hooks *hooks; /* NULL: none */

    struct arena arena;    /* owns all that follows, but for those */
    float *params, *grads; /* (n_params), layer order */
    float *input;          /* (N, H, W, C) */
    float *delta[2];  /* gradients of activations, used in turn; as large as the largest layer */
    float *dlogits;   /* (N, classes) */
    struct work work; /* for the kernels: threads (owned) and scratch */
    struct layer *layers; /* owned */
    /* Of the last forward: */
    uint32_t n; /* samples */
    struct model_key key;
    uint32_t right; /* right answers, in training */
};

/* Like model_new, with the given kernels and any layer table. Defined in model.c. */
int model_new_with(const struct model_params *params, const struct kernels *kernels,
                   struct model **ret, struct err *err);

/* The dropout mask of a layer for the micro-batch m->key. Defined in forward.c. */
struct dropout_mask layer_mask(const struct model *m, const struct layer *l);

static inline void model_mark(const struct model *m, const struct layer *l, enum model_part part)
{
    if (m->probe != NULL) {
        m->probe->after(m->probe->ctx, (uint32_t)(l - m->layers), part);
    }
}

static inline const struct layer *model_last(const struct model *m)
{
    return &m->layers[m->def->n_layers - 1];
}
