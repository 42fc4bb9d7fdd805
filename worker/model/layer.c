/* Shapes and memory of layers, see layer.h. */
#include "worker/model/layer.h"

#include <assert.h>

#include "base/mem.h"

void layers_shape(const struct model_def *def, struct layer *layers)
{
    size_t param = 0;
    for (uint32_t i = 0; i < def->n_layers; i++) {
        struct layer *l = &layers[i];
        l->def = &def->layers[i];
        l->shape = layer_shape_next(def, i, i == 0 ? NULL : &layers[i - 1].shape);
        l->sizes = layer_params(l->def, &l->shape);
        l->param = param;
        param += layer_params_total(&l->sizes);
        l->pools = i + 1 < def->n_layers && l->def[1].kind == LAYER_POOL;
        assert(!l->pools || (l->def->kind == LAYER_CONV && l->def->dropout == 0));
    }
}

void layer_carve(struct layer *l, size_t n, struct carver *c)
{
    const size_t k = l->shape.k;
    if (l->def->kind != LAYER_POOL) {
        l->out = carve(c, n * layer_out_floats(l) / (l->pools ? 4 : 1));
    }
    if (layer_has_bn(l->def)) {
        float **vectors[] = {&l->mean,        &l->var,   &l->inv_std, &l->running_mean,
                             &l->running_var, &l->scale, &l->shift};
        l->y = carve(c, n * layer_out_floats(l));
        if (!l->pools) { /* a word of bits is as large as a float */
            l->kept = (void *)carve(c, n * l->shape.ho * l->shape.wo * KEPT_WORDS(k));
        }
        for (size_t i = 0; i < COUNT_OF(vectors); i++) {
            *vectors[i] = carve(c, k);
        }
    }
}
