/* A network as data: a table of layers. The one that users can train is in layer_def.c; tests
 * define small networks of their own, so they check the code that trains. Pure: benchworker trains
 * what the table says, and benchctl counts its parameters. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum layer_kind {
    LAYER_CONV,    /* 3x3 convolution with bias, BN, ReLU, dropout */
    LAYER_POOL,    /* max 2x2, stride 2, of the even height and width of a CONV without dropout */
    LAYER_DROPOUT, /* dropout alone */
    LAYER_FC_BN,   /* fully connected with bias, BN, ReLU, dropout */
    LAYER_FC,      /* fully connected with bias, linear */
};

struct layer_def {
    enum layer_kind kind;
    uint32_t k;     /* output channels or features; 0 for POOL and DROPOUT */
    double dropout; /* probability of dropping an element; 0: no dropout */
};

/* The last layer is a LAYER_FC with one feature per class (at most 256). A network has at most
 * MODEL_MAX_LAYERS layers. */
#define MODEL_MAX_LAYERS 256
struct model_def {
    const char *name;
    uint32_t c, h, w; /* of one input sample */
    const struct layer_def *layers;
    uint32_t n_layers;
};

struct layer_shape {
    uint32_t c, h, w;   /* of one input sample */
    uint32_t k, ho, wo; /* of one output sample */
};

/* BN as in the original networks: running = .9 * running + .1 * batch, biased variances. */
#define BN_EPS 1e-5f
#define BN_MOMENTUM 0.9f

int layer_has_bn(const struct layer_def *layer);
int layer_has_weight(const struct layer_def *layer);
/* The shape of layer i from that of layer i - 1 (NULL for the first). */
struct layer_shape layer_shape_next(const struct model_def *def, uint32_t i,
                                    const struct layer_shape *prev);
/* The number of floats of each trainable tensor of a layer, in the order of the arena. */
struct layer_params {
    size_t weight; /* (3, 3, C, K) or (K, H*W*C) */
    size_t bias;   /* (K) */
    size_t gamma;  /* (K), 0 without BN */
    size_t beta;   /* (K), 0 without BN */
};
struct layer_params layer_params(const struct layer_def *layer, const struct layer_shape *shape);
size_t layer_params_total(const struct layer_params *p);
const struct model_def *model_def_find(const char *name); /* "vgg16-fluid-fc512"; NULL: unknown */
const char *model_def_names(void);                        /* comma-separated, for messages */
size_t model_def_n_params(const struct model_def *def);   /* trainable floats: 15,254,602 */
/* Of training with one sample, a multiply-add counted as two. Forward takes one per weight and
 * output pixel, backward two; the first layer computes no gradient of its input. BN, ReLU, dropout
 * and pooling are not counted. Kernels may need fewer. */
double model_def_flops_per_sample(const struct model_def *def);
/* The name of a layer, for tables: "conv1_2", "pool1", "fc2", ... */
void model_def_layer_name(const struct model_def *def, uint32_t layer, char ret[static 16]);
