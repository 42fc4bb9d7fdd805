/* Plans the memory of a model: one function goes over the layers twice, first to count, then to
 * assign the pointers. */
#include <assert.h>

#include "base/mem.h"
#include "worker/kernels/carve.h"
#include "worker/model/model_internal.h"

static void carve_layer(struct model *m, struct layer *l, struct carver *c)
{
    size_t n = m->batch, k = l->shape.k;
    if (!l->is_done) {
        l->out = carve(c, n * layer_out_floats(l) / (l->pools ? 4 : 1));
    }
    if (layer_has_bn(l->def)) {
        float **vectors[] = {&l->mean,        &l->var,   &l->inv_std, &l->running_mean,
                             &l->running_var, &l->scale, &l->shift};
        l->y = carve(c, n * layer_out_floats(l));
        if (!l->pools) { /* a word of bits is as large as a float */
            l->kept = (void *)carve(c, n * l->shape.ho * l->shape.wo * KEPT_WORDS(k));
        }
        for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
            *vectors[i] = carve(c, k);
        }
    }
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void carve_model(struct model *m, struct carver *c)
{
    size_t n_params = model_def_n_params(m->def), delta = 0, scratch = 0;
    m->params = carve(c, n_params);
    m->grads = m->outside_grads != NULL ? m->outside_grads : carve(c, n_params);
    m->input = carve(c, m->batch * layer_x_floats(&m->layers[0]));
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        struct layer *l = &m->layers[i];
        carve_layer(m, l, c);
        l->x = i == 0 ? m->input : m->layers[i - 1].out;
        l->out = l->is_done ? m->layers[i - 1].out : l->out;
        delta = max_size(delta, max_size(layer_x_floats(l), layer_out_floats(l)));
        if (l->def->kind == LAYER_CONV) {
            struct conv_shape s = layer_conv_shape(l, m->batch);
            scratch = max_size(scratch, m->kernels.conv3x3_scratch(&s, m->threads));
        }
        scratch = max_size(scratch, layer_has_bn(l->def) ? BN_SCRATCH(l->shape.k) : 0);
    }
    m->dlogits = carve(c, m->batch * layer_out_floats(model_last(m)));
    m->delta[0] = carve(c, m->batch * delta);
    m->delta[1] = carve(c, m->batch * delta);
    m->work.scratch = carve(c, scratch);
}

static bool does_pooling(const struct model *m, uint32_t i)
{
    const struct layer_def *l = &m->def->layers[i];
    return l->kind == LAYER_CONV && l->dropout == 0 && i + 1 < m->def->n_layers &&
           l[1].kind == LAYER_POOL;
}

static void shape_layers(struct model *m)
{
    size_t param = 0;
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        struct layer *l = &m->layers[i];
        l->def = &m->def->layers[i];
        l->shape = layer_shape_next(m->def, i, i == 0 ? NULL : &m->layers[i - 1].shape);
        l->sizes = layer_params(l->def, &l->shape);
        l->param = param;
        param += layer_params_total(&l->sizes);
        l->is_done = i > 0 && does_pooling(m, i - 1);
        l->pools = does_pooling(m, i);
    }
}

int model_plan_memory(struct model *m, struct err *err)
{
    assert(m->def->n_layers <= MODEL_MAX_LAYERS);
    m->layers = xnew_array(struct layer, m->def->n_layers);
    shape_layers(m);
    struct carver count = {0};
    carve_model(m, &count);
    int r = arena_new(&m->arena, count.used, m->def->name, err);
    if (r < 0) {
        return r;
    }
    struct carver hand_out = {.base = m->arena.data};
    carve_model(m, &hand_out);
    return 0;
}
