/* A network with its initial parameters and the memory of one batch. role_trainer.c and
 * role_bench.c use it; role_pserver.c uses only the callback of the optimiser. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/model/model.h"

struct learner { /* all owned */
    struct model *model;
    float *x;        /* (params->batch, 3, 32, 32), aligned to a cache line */
    uint8_t *labels; /* (params->batch) */
};

/* params->seed also determines the initial parameters. -ENOMEM. Call learner_done
 * also on failure. */
int learner_init(struct learner *l, const struct model_params *params, struct err *err);
void learner_done(struct learner *l);
/* The share of the data set's samples that the model gets right, in batches of the model's size. */
struct dataset;
double learner_accuracy(struct learner *l, const struct dataset *data, uint32_t batch);

/* Returns -EDOM if the loss of a step is infinite or no number: what is measured after it does not
 * say how fast a training is. */
int learner_check_loss(double loss, uint64_t step, struct err *err);

/* An exchange_apply_fn for a struct adam. It connects the exchange, which does not know the
 * optimiser, with the model, which does not know the exchange. */
void learner_apply_adam(void *adam, uint64_t t, size_t offset, size_t n, float *params,
                        const float *grad_sum, float grad_scale);
/* Another one, for local steps: trainers send parameters, and the new ones are their
 * average. `ctx` is not used. */
void learner_apply_average(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                           const float *sum, float scale);
