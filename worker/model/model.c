/* Creates and frees a model, and its initial values; the passes are in forward.c and backward.c. */
#include "worker/model/model.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "worker/kernels/carve.h"
#include "worker/model/model_internal.h"
#include "worker/tensor/rng.h"

/* ---- initial values ---- */

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

/* ---- memory: one function goes over the layers twice, to count and to assign pointers ---- */

/* Sets the definitions, shapes and offsets of the layers of a network: (n_layers) all zero. */
static void layers_shape(const struct model_def *def, struct layer *layers)
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

/* Takes the memory of a layer for batches of n, but for its x. */
static void layer_carve(struct layer *l, size_t n, struct carver *c)
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
