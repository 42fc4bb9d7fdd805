/* The initial values of a layer table. Declared in model.h. */
#include <math.h>

#include "worker/model/model.h"
#include "worker/tensor/rng.h"

static void fill(float *out, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = value;
    }
}

/* Fluid's defaults: conv normal with sd sqrt(2 / (3*3*Cin)), FC uniform +-sqrt(6 / (in + out)). */
static void init_weight(const struct layer_def *layer, const struct layer_shape *shape,
                        struct rng_key key, float *weight, size_t n)
{
    if (layer->kind == LAYER_CONV) {
        rng_normal(key, sqrtf(2.0f / (9.0f * (float)shape->c)), weight, n);
        return;
    }
    float fan_in = (float)(shape->c * shape->h * shape->w);
    float bound = sqrtf(6.0f / (fan_in + (float)shape->k));
    rng_uniform(key, weight, n);
    for (size_t i = 0; i < n; i++) {
        weight[i] = (2.0f * weight[i] - 1.0f) * bound;
    }
}

void model_init_params(const struct model_def *def, uint64_t seed, float *params)
{
    struct layer_shape shape = {0};
    for (uint32_t i = 0; i < def->n_layers; i++) {
        const struct layer_def *layer = &def->layers[i];
        shape = layer_shape_next(def, i, i == 0 ? NULL : &shape);
        struct layer_params p = layer_params(layer, &shape);
        if (layer_has_weight(layer)) {
            struct rng_key key = {.seed = seed, .stream = rng_stream(RNG_INIT, i, 0)};
            init_weight(layer, &shape, key, params, p.weight);
        }
        fill(params + p.weight, p.bias, 0);
        fill(params + p.weight + p.bias, p.gamma, 1);
        fill(params + p.weight + p.bias + p.gamma, p.beta, 0);
        params += layer_params_total(&p);
    }
}
