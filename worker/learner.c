#include "worker/learner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "worker/data/dataset.h"
#include "worker/model/adam.h"

#define CACHE_LINE_BYTES 64 /* the size of a sample is a multiple, as aligned_alloc requires */

int learner_init(struct learner *l, const struct model_params *params, struct err *err)
{
    *l = (struct learner){0};
    int r = model_new(params, &l->model, err);
    if (r < 0) {
        return r;
    }
    model_init_params(params->def, params->seed, model_param_data(l->model));
    const size_t x_bytes = (size_t)params->batch * DATA_SAMPLE_FLOATS * sizeof(float);
    l->x = aligned_alloc(CACHE_LINE_BYTES, x_bytes);
    l->labels = xnew_array(uint8_t, params->batch);
    if (l->x == NULL) {
        return err_set(err, ENOMEM, "no memory for the %zu bytes of a batch", x_bytes);
    }
    return 0;
}

void learner_done(struct learner *l)
{
    model_free(l->model);
    free(l->x);
    free(l->labels);
    *l = (struct learner){0};
}

double learner_accuracy(struct learner *l, const struct dataset *data, uint32_t batch)
{
    const size_t size = dataset_size(data);
    size_t right = 0;
    for (size_t first = 0; first < size; first += batch) {
        const size_t left = size - first;
        const struct data_batch b = {
            .first = first, .stride = 1, .n = left < batch ? (uint32_t)left : batch};
        dataset_read(data, &b, l->x, l->labels);
        right += model_evaluate(l->model, l->x, l->labels, b.n);
    }
    return (double)right / (double)size;
}

int learner_check_loss(double loss, uint64_t step, struct err *err)
{
    return isfinite(loss)
               ? 0
               : err_set(err, EDOM, "the training has diverged: the loss of step %llu is %s",
                         (unsigned long long)step, isnan(loss) ? "not a number" : "infinite");
}

void learner_apply_adam(void *adam, uint64_t t, size_t offset, size_t n, float *params,
                        const float *grad_sum, float grad_scale)
{
    adam_apply(adam, t, offset, n, params, grad_sum, grad_scale);
}

void learner_apply_average(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                           const float *sum, float scale)
{
    (void)ctx, (void)t, (void)offset;
    for (size_t i = 0; i < n; i++) {
        params[i] = sum[i] * scale;
    }
}
