/* The network that can be trained, and what follows from a layer table: shapes, sizes, names. */
#include "network/layer_def.h"

#include <assert.h>
#include <stdio.h>

#include "base/str.h"
#include "base/vec.h"

/* VGG16 as PaddlePaddle's benchmark/cluster/vgg16/vgg16_fluid.py trained it on CIFAR-10 (with FC
 * 512): BN and ReLU after each convolution, dropout after all but the last of a stack. */
static const struct layer_def vgg16_fluid_fc512[] = {
    {LAYER_CONV, 64, 0.3}, {LAYER_CONV, 64, 0}, {LAYER_POOL, 0, 0},      {LAYER_CONV, 128, 0.4},
    {LAYER_CONV, 128, 0},  {LAYER_POOL, 0, 0},  {LAYER_CONV, 256, 0.4},  {LAYER_CONV, 256, 0.4},
    {LAYER_CONV, 256, 0},  {LAYER_POOL, 0, 0},  {LAYER_CONV, 512, 0.4},  {LAYER_CONV, 512, 0.4},
    {LAYER_CONV, 512, 0},  {LAYER_POOL, 0, 0},  {LAYER_CONV, 512, 0.4},  {LAYER_CONV, 512, 0.4},
    {LAYER_CONV, 512, 0},  {LAYER_POOL, 0, 0},  {LAYER_DROPOUT, 0, 0.5}, {LAYER_FC_BN, 512, 0.5},
    {LAYER_FC, 512, 0},    {LAYER_FC, 10, 0},
};

static const struct model_def vgg16 = {
    .name = "vgg16-fluid-fc512",
    .c = 3,
    .h = 32,
    .w = 32,
    .layers = vgg16_fluid_fc512,
    .n_layers = COUNT_OF(vgg16_fluid_fc512),
};

const struct model_def *model_def_find(const char *name)
{
    return str_eq(name, vgg16.name) ? &vgg16 : NULL;
}

const char *model_def_names(void)
{
    return vgg16.name;
}

int layer_has_bn(const struct layer_def *layer)
{
    return layer->kind == LAYER_CONV || layer->kind == LAYER_FC_BN;
}

int layer_has_weight(const struct layer_def *layer)
{
    return layer_has_bn(layer) || layer->kind == LAYER_FC;
}

struct layer_shape layer_shape_next(const struct model_def *def, uint32_t i,
                                    const struct layer_shape *prev)
{
    const struct layer_def *layer = &def->layers[i];
    struct layer_shape s = {.c = def->c, .h = def->h, .w = def->w};
    if (prev != NULL) {
        s = (struct layer_shape){.c = prev->k, .h = prev->ho, .w = prev->wo};
    }
    s.k = layer->k == 0 ? s.c : layer->k;
    s.ho = s.h;
    s.wo = s.w;
    if (layer->kind == LAYER_POOL) {
        assert(s.h % 2 == 0 && s.w % 2 == 0);
        s.ho = s.h / 2;
        s.wo = s.w / 2;
    } else if (layer->kind == LAYER_FC || layer->kind == LAYER_FC_BN) {
        s.ho = s.wo = 1;
    }
    return s;
}

struct layer_params layer_params(const struct layer_def *layer, const struct layer_shape *shape)
{
    struct layer_params p = {0};
    if (layer_has_weight(layer)) {
        size_t fan_in = layer->kind == LAYER_CONV ? (size_t)shape->c * 9
                                                  : (size_t)shape->c * shape->h * shape->w;
        p.weight = shape->k * fan_in;
        p.bias = shape->k;
    }
    if (layer_has_bn(layer)) {
        p.gamma = p.beta = shape->k;
    }
    return p;
}

size_t layer_params_total(const struct layer_params *p)
{
    return p->weight + p->bias + p->gamma + p->beta;
}

size_t model_def_n_params(const struct model_def *def)
{
    struct layer_shape shape = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < def->n_layers; i++) {
        shape = layer_shape_next(def, i, i == 0 ? NULL : &shape);
        struct layer_params p = layer_params(&def->layers[i], &shape);
        n += layer_params_total(&p);
    }
    return n;
}

double model_def_flops_per_sample(const struct model_def *def)
{
    struct layer_shape shape = {0};
    double flops = 0;
    for (uint32_t i = 0; i < def->n_layers; i++) {
        shape = layer_shape_next(def, i, i == 0 ? NULL : &shape);
        const struct layer_params p = layer_params(&def->layers[i], &shape);
        flops += 2.0 * (double)p.weight * shape.ho * shape.wo * (i == 0 ? 2 : 3);
    }
    return flops;
}

/* Convolutions are numbered within their stack, which ends with a pooling. */
void model_def_layer_name(const struct model_def *def, uint32_t layer, char ret[static 16])
{
    unsigned stack = 1, conv = 0, fc = 0, drop = 0;
    for (uint32_t i = 0; i <= layer; i++) {
        switch (def->layers[i].kind) {
        case LAYER_CONV:
            (void)snprintf(ret, 16, "conv%u_%u", stack % 100, ++conv % 100);
            break;
        case LAYER_POOL:
            (void)snprintf(ret, 16, "pool%u", stack++ % 100);
            conv = 0;
            break;
        case LAYER_DROPOUT:
            (void)snprintf(ret, 16, "dropout%u", ++drop % 100);
            break;
        case LAYER_FC_BN:
        case LAYER_FC:
            (void)snprintf(ret, 16, "fc%u", ++fc % 100);
            break;
        }
    }
}
