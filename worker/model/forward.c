/* The forward pass: training (batch statistics, dropout) or inference (running statistics, no
 * dropout). */
#include <assert.h>
#include <math.h>

#include "worker/model/model_internal.h"

struct dropout_mask layer_mask(const struct model *m, const struct layer *l)
{
    uint32_t place = m->key.trainer * MODEL_MAX_LAYERS + (uint32_t)(l - m->layers);
    return (struct dropout_mask){
        .key = {.seed = m->seed, .stream = rng_stream(RNG_DROPOUT, place, m->key.step)},
        .below = (uint32_t)lround(l->def->dropout * DROPOUT_ONE),
    };
}

enum pass { PASS_TRAINING, PASS_INFERENCE };

/* As in Fluid, dropout does not rescale in training; inference multiplies by the fraction kept. */
static float inference_keep(const struct model *m, const struct layer *l)
{
    return m->dropout ? (float)(1.0 - l->def->dropout) : 1.0f;
}

/* In training it also computes the statistics of y: they are cheapest where y is computed. */
static void linear(const struct model *m, const struct layer *l, enum pass pass, float *y)
{
    bool wants_moments = pass == PASS_TRAINING && layer_has_bn(l->def);
    const float *weight = m->params + l->param, *bias = weight + l->sizes.weight;
    if (l->def->kind == LAYER_CONV) {
        struct conv_shape s = layer_conv_shape(l, m->n);
        m->kernels.conv3x3_forward(&s, l->x, weight, bias, y, wants_moments ? l->mean : NULL,
                                   wants_moments ? l->var : NULL, &m->work);
    } else {
        m->kernels.fc_forward(m->n, (uint32_t)layer_x_floats(l), l->shape.k, l->x, weight, bias, y,
                              &m->work);
        if (wants_moments) {
            struct bn_shape s = layer_bn_shape(l, m->n);
            m->kernels.bn_stats(&s, y, l->mean, l->var, &m->work);
        }
    }
}

static void update_running(const struct layer *l)
{
    for (uint32_t k = 0; k < l->shape.k; k++) {
        l->running_mean[k] = BN_MOMENTUM * l->running_mean[k] + (1.0f - BN_MOMENTUM) * l->mean[k];
        l->running_var[k] = BN_MOMENTUM * l->running_var[k] + (1.0f - BN_MOMENTUM) * l->var[k];
    }
}

static void bn_relu(const struct model *m, const struct layer *l, enum pass pass)
{
    const float *gamma = m->params + l->param + l->sizes.weight + l->sizes.bias;
    const float *beta = gamma + l->sizes.gamma;
    const float *mean = pass == PASS_TRAINING ? l->mean : l->running_mean;
    const float *var = pass == PASS_TRAINING ? l->var : l->running_var;
    float keep = pass == PASS_TRAINING ? 1.0f : inference_keep(m, l);
    struct bn_shape s = layer_bn_shape(l, m->n);
    if (pass == PASS_TRAINING) {
        update_running(l);
    }
    for (uint32_t k = 0; k < s.k; k++) {
        l->inv_std[k] = (float)(1.0 / sqrt((double)var[k] + (double)BN_EPS));
        l->scale[k] = keep * gamma[k] * l->inv_std[k];
        l->shift[k] = keep * beta[k] - mean[k] * l->scale[k];
    }
    if (l->pools) {
        m->kernels.bn_relu_pool_forward(&s, l->y, l->scale, l->shift, l->out, &m->work);
        return;
    }
    struct dropout_mask mask = layer_mask(m, l);
    bool drops = pass == PASS_TRAINING && m->dropout && l->def->dropout > 0;
    m->kernels.bn_relu_forward(&s, drops ? &mask : NULL, l->y, l->scale, l->shift, l->out,
                               pass == PASS_TRAINING ? l->kept : NULL, &m->work);
}

static void dropout_alone(const struct model *m, const struct layer *l, enum pass pass)
{
    if (pass == PASS_TRAINING && m->dropout) {
        struct dropout_mask mask = layer_mask(m, l);
        m->kernels.dropout(m->n * layer_out_floats(l), &mask, l->x, l->out);
        return;
    }
    float keep = pass == PASS_TRAINING ? 1.0f : inference_keep(m, l);
    for (size_t i = 0; i < m->n * layer_out_floats(l); i++) {
        l->out[i] = keep * l->x[i];
    }
}

static void layer_forward(const struct model *m, const struct layer *l, enum pass pass)
{
    switch (l->def->kind) {
    case LAYER_CONV:
    case LAYER_FC_BN:
        linear(m, l, pass, l->y);
        model_mark(m, l, MODEL_FORWARD);
        bn_relu(m, l, pass);
        break;
    case LAYER_FC:
        linear(m, l, pass, l->out);
        model_mark(m, l, MODEL_FORWARD);
        return;
    case LAYER_POOL: /* done by the layer before */
        break;
    case LAYER_DROPOUT:
        dropout_alone(m, l, pass);
        break;
    }
    model_mark(m, l, MODEL_PASSES);
}

/* Copies (N, C, H, W), as data sets are stored, to (N, H, W, C). */
static void take_input(const struct model *m, const float *x)
{
    size_t c_n = m->def->c, hw = (size_t)m->def->h * m->def->w;
    for (size_t n = 0; n < m->n; n++) {
        for (size_t i = 0; i < hw; i++) {
            for (size_t c = 0; c < c_n; c++) {
                m->input[(n * hw + i) * c_n + c] = x[(n * c_n + c) * hw + i];
            }
        }
    }
}

static double forward(struct model *m, const float *x, const uint8_t *labels, uint32_t n,
                      enum pass pass, uint32_t *ret_right)
{
    assert(n >= 1 && n <= m->batch);
    m->n = n;
    take_input(m, x);
    model_mark(m, m->layers, MODEL_OTHER);
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        if (m->hooks != NULL && layer_params_total(&l->sizes) > 0) {
            m->hooks->want(m->hooks->ctx, l->param, layer_params_total(&l->sizes));
        }
        layer_forward(m, l, pass);
    }
    const struct layer *last = model_last(m);
    double loss = kernels_softmax_xent(n, last->shape.k, last->out, labels, m->dlogits, ret_right);
    model_mark(m, last, MODEL_OTHER);
    return loss;
}

double model_forward(struct model *m, const float *x, const uint8_t *labels, uint32_t n,
                     struct model_key key)
{
    m->key = key;
    return forward(m, x, labels, n, PASS_TRAINING, &m->right);
}

uint32_t model_right(const struct model *m)
{
    return m->right;
}

uint32_t model_evaluate(struct model *m, const float *x, const uint8_t *labels, uint32_t n)
{
    uint32_t right = 0;
    (void)forward(m, x, labels, n, PASS_INFERENCE, &right); /* returns the loss */
    return right;
}
