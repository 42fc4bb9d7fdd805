/* Creates and frees a model; the passes are in forward.c and backward.c. */
#include "worker/model/model.h"

#include <assert.h>

#include "base/mem.h"
#include "worker/model/model_internal.h"

/* ---- memory: one function goes over the layers twice, to count and to assign pointers ---- */

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void carve_model(struct model *m, struct carver *c)
{
    size_t n_params = model_def_n_params(m->def), delta = 0, scratch = 0;
    m->params = carve(c, n_params);
    m->grads = carve(c, n_params);
    m->input = carve(c, m->batch * layer_x_floats(&m->layers[0]));
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        struct layer *l = &m->layers[i];
        layer_carve(l, m->batch, c);
        l->x = i == 0 ? m->input : m->layers[i - 1].out;
        l->out = l->def->kind == LAYER_POOL ? m->layers[i - 1].out : l->out;
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

static int plan_memory(struct model *m, struct err *err)
{
    assert(m->def->n_layers <= MODEL_MAX_LAYERS);
    m->layers = xnew_array(struct layer, m->def->n_layers);
    layers_shape(m->def, m->layers);
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

/* ---- life ---- */

static void reset_running_stats(struct model *m)
{
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        struct layer *l = &m->layers[i];
        for (uint32_t k = 0; layer_has_bn(l->def) && k < l->shape.k; k++) {
            l->running_mean[k] = 0;
            l->running_var[k] = 1;
        }
    }
}

int model_new_with(const struct model_params *params, const struct kernels *kernels,
                   struct model **ret, struct err *err)
{
    struct model *m = xnew(struct model);
    m->def = params->def;
    m->kernels = *kernels;
    m->batch = params->batch;
    m->seed = params->seed;
    m->dropout = params->dropout;
    m->threads = params->threads;
    int r = thread_pool_new(m->threads, &m->work.threads, err);
    if (r < 0) {
        model_free(m);
        return r;
    }
    r = plan_memory(m, err);
    if (r < 0) {
        model_free(m);
        return err_wrap(err, r, "batch of %u", params->batch);
    }
    reset_running_stats(m);
    *ret = m;
    return 0;
}

int model_new(const struct model_params *params, struct model **ret, struct err *err)
{
    struct kernels kernels;
    kernels_init_best(&kernels);
    return model_new_with(params, &kernels, ret, err);
}

void model_free(struct model *m)
{
    if (m == NULL) {
        return;
    }
    thread_pool_free(m->work.threads);
    free(m->arena.data);
    free(m->layers);
    free(m);
}

float *model_param_data(struct model *m)
{
    return m->params;
}

float *model_grad_data(struct model *m)
{
    return m->grads;
}

size_t model_n_params(const struct model *m)
{
    return model_def_n_params(m->def);
}

struct thread_pool *model_threads(const struct model *m)
{
    return m->work.threads;
}

size_t model_bytes(const struct model *m)
{
    return m->arena.n * sizeof(float);
}

void model_set_probe(struct model *m, const struct model_probe *probe)
{
    m->probe = probe;
}

void model_set_hooks(struct model *m, const struct model_hooks *hooks)
{
    m->hooks = hooks;
}

const char *model_isa(const struct model *m)
{
    return m->kernels.isa;
}
