/* The variants that can be trained, by name. */
#include "base/str.h"
#include "base/vec_walk.h"
#include "network/layer_def.h"

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

static const struct model_def variants[] = {
    {
        .name = "vgg16-fluid-fc512",
        .c = 3,
        .h = 32,
        .w = 32,
        .layers = vgg16_fluid_fc512,
        .n_layers = COUNT_OF(vgg16_fluid_fc512),
    },
};

const struct model_def *model_def_find(const char *name)
{
    return array_find(variants, COUNT_OF(variants), it, str_eq(it->name, name));
}

const char *model_def_names(void)
{
    _Static_assert(COUNT_OF(variants) == 1, "join the names");
    return variants[0].name;
}
