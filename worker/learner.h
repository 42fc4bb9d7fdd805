/* What every way to train has: a network at its initial parameters and room for one batch. Used by
 * train.c, bench.c and role_trainer.c; the optimiser's callback also by role_pserver.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/model/model.h"

struct learner { /* all owned */
    struct model *model;
    float *x;        /* (params->batch, 3, 32, 32), at a cache line */
    uint8_t *labels; /* (params->batch) */
};

/* params->seed also makes the initial parameters. -ENOMEM; learner_done in any case. */
int learner_init(struct learner *l, const struct model_params *params, struct err *err);
void learner_done(struct learner *l);

/* exchange_apply_fn over a struct adam: the exchange knows no optimiser, the model no exchange. */
void learner_apply_adam(void *adam, uint64_t t, size_t offset, size_t n, float *params,
                        const float *grad_sum, float grad_scale);
