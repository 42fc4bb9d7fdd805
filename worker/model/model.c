/* Creates and frees a model; the passes are in forward.c and backward.c. */
#include "worker/model/model.h"

#include <stdlib.h>

#include "base/mem.h"
#include "worker/model/model_internal.h"

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
    m->outside_grads = params->grads;
    m->threads = params->threads;
    int r = thread_pool_new(m->threads, &m->work.threads, err);
    if (r < 0) {
        model_free(m);
        return r;
    }
    r = model_plan_memory(m, err);
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
    arena_done(&m->arena);
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
