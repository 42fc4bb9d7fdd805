/* The backward pass, from dlogits down through the layers. Two buffers alternate as the gradient of
 * a layer's output and of its input. */
#include <string.h>

#include "worker/model/model_internal.h"

/* dy is the gradient of W*x + b; dx (NULL for the first layer) that of x. */
static void linear_backward(const struct model *m, const struct layer *l, const float *dy,
                            float *dx)
{
    const float *weight = m->params + l->param;
    float *dweight = m->grads + l->param, *dbias = dweight + l->sizes.weight;
    if (l->def->kind == LAYER_CONV) {
        struct conv_shape s = layer_conv_shape(l, m->n);
        m->kernels.conv3x3_backward_weight(&s, l->x, dy, dweight, dbias, &m->work);
        model_mark(m, l, MODEL_BACKWARD_WEIGHT);
        if (dx != NULL) {
            m->kernels.conv3x3_backward_data(&s, dy, weight, dx, &m->work);
            model_mark(m, l, MODEL_BACKWARD_DATA);
        }
    } else {
        m->kernels.fc_backward(m->n, (uint32_t)layer_x_floats(l), l->shape.k, l->x, weight, dy, dx,
                               dweight, dbias, &m->work);
        model_mark(m, l, MODEL_BACKWARD_WEIGHT);
    }
}

/* dy may be dout if the layer does not pool. */
static void bn_relu_backward(const struct model *m, const struct layer *l, const float *dout,
                             float *dy)
{
    size_t gamma = l->param + l->sizes.weight + l->sizes.bias, beta = gamma + l->sizes.gamma;
    struct bn_shape s = layer_bn_shape(l, m->n);
    if (l->pools) {
        m->kernels.bn_relu_pool_backward(&s, l->y, l->scale, l->shift, dout, l->mean, l->inv_std,
                                         m->params + gamma, dy, m->grads + gamma, m->grads + beta,
                                         &m->work);
    } else {
        m->kernels.bn_relu_backward(&s, l->y, l->kept, dout, l->mean, l->inv_std, m->params + gamma,
                                    dy, m->grads + gamma, m->grads + beta, &m->work);
    }
    model_mark(m, l, MODEL_PASSES);
}

/* *dout: on entry the gradient of the layer's output, on return that of its input; *spare: the
 * other buffer. */
static void layer_backward(const struct model *m, const struct layer *l, float **dout,
                           float **spare)
{
    bool first = l == m->layers;
    float *from = *dout, *to = *spare;
    switch (l->def->kind) {
    case LAYER_CONV:
    case LAYER_FC_BN:
        if (l->pools) {
            bn_relu_backward(m, l, from, to);
            linear_backward(m, l, to, first ? NULL : from);
            return;
        }
        bn_relu_backward(m, l, from, from); /* in place: one array less in the caches */
        linear_backward(m, l, from, first ? NULL : to);
        break;
    case LAYER_FC:
        linear_backward(m, l, from, first ? NULL : to);
        break;
    case LAYER_POOL: /* done by the layer before */
        return;
    case LAYER_DROPOUT: {
        struct dropout_mask mask = layer_mask(m, l);
        if (m->dropout) {
            m->kernels.dropout(m->n * layer_out_floats(l), &mask, from, from);
            model_mark(m, l, MODEL_PASSES);
        }
        return;
    }
    }
    *dout = to;
    *spare = from;
}

void model_backward(struct model *m)
{
    float *dout = m->delta[0], *spare = m->delta[1];
    memcpy(dout, m->dlogits, m->n * layer_out_floats(model_last(m)) * sizeof(*dout));
    for (uint32_t i = m->def->n_layers; i-- > 0;) {
        const struct layer *l = &m->layers[i];
        layer_backward(m, l, &dout, &spare);
        if (m->hooks != NULL && layer_params_total(&l->sizes) > 0) {
            m->hooks->ready(m->hooks->ctx, l->param);
        }
    }
}
