#include "worker/train.h"

#include <math.h>

#include "base/clock.h"
#include "worker/learner.h"
#include "worker/model/adam.h"

struct trainer {
    const struct train_params *params;
    const struct train_reporter *reporter;
    struct learner learner; /* owned, as adam */
    struct adam adam;
    uint64_t steps; /* done */
};

static int64_t lap(int64_t *since)
{
    int64_t now = clock_monotonic_ns(), took = now - *since;
    *since = now;
    return took;
}

static void train_batch(struct trainer *t, uint64_t epoch, size_t first, struct train_step *ret)
{
    struct learner *l = &t->learner;
    const size_t left = dataset_size(t->params->train) - first;
    uint32_t n = left < t->params->batch ? (uint32_t)left : t->params->batch;
    struct data_batch batch = {
        .epoch = epoch, .shuffle = true, .first = first, .stride = 1, .n = n};
    *ret = (struct train_step){.step = t->steps, .epoch = epoch, .samples = n};
    int64_t at = clock_monotonic_ns();
    dataset_read(t->params->train, &batch, l->x, l->labels);
    ret->data_ns = lap(&at);
    ret->loss = model_forward(l->model, l->x, l->labels, n, (struct model_key){.step = t->steps});
    ret->forward_ns = lap(&at);
    model_backward(l->model);
    ret->backward_ns = lap(&at);
    adam_apply(&t->adam, ++t->steps, 0, model_n_params(l->model), model_param_data(l->model),
               model_grad_data(l->model), 1.0f);
    ret->update_ns = lap(&at);
}

static bool has_step_left(const struct trainer *t)
{
    return t->params->max_steps == 0 || t->steps < t->params->max_steps;
}

static int train_epoch(struct trainer *t, uint64_t epoch, struct err *err)
{
    struct train_epoch sum = {.epoch = epoch, .test_accuracy = NAN};
    size_t size = dataset_size(t->params->train);
    uint64_t right = 0;
    int64_t at = clock_monotonic_ns();
    for (size_t first = 0; first < size && has_step_left(t); first += t->params->batch) {
        struct train_step step;
        train_batch(t, epoch, first, &step);
        int r = learner_check_loss(step.loss, step.step, err);
        if (r < 0) {
            return r;
        }
        sum.samples += step.samples;
        sum.loss += step.loss * step.samples;
        right += model_right(t->learner.model);
        r = t->reporter->step(t->reporter->ctx, &step, err);
        if (r < 0) {
            return r;
        }
    }
    sum.loss /= (double)sum.samples;
    sum.train_accuracy = (double)right / (double)sum.samples;
    sum.train_ns = lap(&at);
    if (t->params->test != NULL) {
        sum.test_accuracy = learner_accuracy(&t->learner, t->params->test, t->params->batch);
        sum.test_ns = lap(&at);
    }
    return t->reporter->epoch(t->reporter->ctx, &sum, err);
}

static int trainer_init(struct trainer *t, struct err *err)
{
    const struct train_params *p = t->params;
    struct model_params model = {.def = p->def,
                                 .batch = p->batch,
                                 .threads = p->threads,
                                 .seed = p->seed,
                                 .dropout = p->dropout};
    t->adam = ADAM_DEFAULT;
    adam_init(&t->adam, model_def_n_params(p->def));
    int r = learner_init(&t->learner, &model, err);
    if (r == 0) {
        t->adam.threads = model_threads(t->learner.model);
    }
    return r;
}

int train(const struct train_params *params, const struct train_reporter *reporter, struct err *err)
{
    struct trainer t = {.params = params, .reporter = reporter};
    int r = trainer_init(&t, err);
    for (uint64_t epoch = 0; r == 0 && epoch < params->epochs && has_step_left(&t); epoch++) {
        r = train_epoch(&t, epoch, err);
    }
    learner_done(&t.learner);
    adam_done(&t.adam);
    return r;
}
