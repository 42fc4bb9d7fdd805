/* A model as the files of this folder and their tests see it: its layers (layer.h), and where they
 * lie in the one block of memory. Everyone else uses model.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/model/layer.h"
#include "worker/model/model.h"
#include "worker/tensor/arena.h"

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
