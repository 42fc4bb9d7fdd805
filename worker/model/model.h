/* A network to train: VGG16 in its variants, forward and backward, and its flat parameter arena.
 *
 * Parameters lie in one array in layer order; the exchange cuts it into slices without knowing the
 * layers. Gradients lie in a second array of the same shape. BN running statistics are not
 * parameters: each trainer keeps its own, as the original networks do (docs/worker.md).
 *
 * Networks as tables are in lib/network. The passes are defined in forward.c and backward.c, the
 * rest in model.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "network/layer_def.h"

/* Writes the initial parameters: convolutions N(0, sqrt(2/(k*k*Cin))), FC Xavier uniform, bias 0,
 * BN 1 and 0. A pure function of (variant, seed), so trainers and parameter servers need no
 * transfer. */
void model_init_params(const struct model_def *def, uint64_t seed, float *params);

struct model_params {
    const struct model_def *def;
    uint32_t batch;   /* the largest batch */
    uint32_t threads; /* for the kernels */
    uint64_t seed;    /* keys dropout */
    bool dropout;     /* true: as published; tests turn it off */
};

struct model;
/* Plans and allocates all memory. -ENOMEM, with the number of bytes in the text. */
int model_new(const struct model_params *params, struct model **ret, struct err *err);
void model_free(struct model *m);
float *model_param_data(struct model *m); /* (n_params), filled by model_init_params or a pull */
float *model_grad_data(struct model *m);  /* (n_params), overwritten by each model_backward */
size_t model_n_params(const struct model *m);
struct thread_pool *model_threads(
    const struct model *m); /* its threads, for work between its passes */

/* Identifies a micro-batch: its dropout masks are a function of (seed, step, trainer). */
struct model_key {
    uint64_t step;
    uint32_t trainer;
};

/* Training mode (batch statistics, dropout) on x (N, 3, 32, 32) in [0, 1] and labels (N) in 0..9;
 * N <= batch. Returns the mean cross-entropy in nats. Keeps what model_backward needs. */
double model_forward(struct model *m, const float *x, const uint8_t *labels, uint32_t n,
                     struct model_key key);
/* The number of right answers of that forward pass. */
uint32_t model_right(const struct model *m);
/* The gradient of that loss with respect to every parameter; overwrites model_grad_data. */
void model_backward(struct model *m);
/* Inference mode (running statistics, no dropout). Returns the number of right answers. Overwrites
 * what model_backward needs. */
uint32_t model_evaluate(struct model *m, const float *x, const uint8_t *labels, uint32_t n);
/* Where a step reads parameters and finishes gradients, so that they can be exchanged while it
 * computes. `want` is called before forward reads the n parameters from `offset` on, in layer
 * order. `ready` is called when the gradients from `offset` on are final and backward does not read
 * the parameters from there on any more, each time with a smaller offset, at last with 0. */
struct model_hooks {
    void (*want)(void *ctx, size_t offset, size_t n);
    void (*ready)(void *ctx, size_t offset);
    void *ctx;
};
void model_set_hooks(struct model *m, const struct model_hooks *hooks); /* borrowed; NULL: none */
/* A probe is called after each part of a step, so that a benchmark can measure the parts. */
enum model_part {
    MODEL_FORWARD, /* a product: convolution or fully connected, statistics included */
    MODEL_BACKWARD_DATA,
    MODEL_BACKWARD_WEIGHT, /* of a fully connected layer both gradients */
    MODEL_PASSES,          /* BN, ReLU, dropout, pooling, forward and backward */
    MODEL_OTHER,           /* layout of the input, loss */
};
#define MODEL_PARTS 5
struct model_probe {
    void (*after)(void *ctx, uint32_t layer, enum model_part part);
    void *ctx;
};
void model_set_probe(struct model *m, const struct model_probe *probe); /* borrowed; NULL: none */
const char *model_isa(const struct model *m); /* of the kernels: "avx512", ... */

/* Bytes of the arenas. */
size_t model_bytes(const struct model *m);
