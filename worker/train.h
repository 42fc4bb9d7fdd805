/* Training in one process: epochs over a dataset with Adam, and a test after each epoch. It prints
 * nothing; steps and epochs go to a reporter. Used by role_train.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/data/dataset.h"
#include "worker/model/model.h"

struct train_params {
    const struct model_def *def;
    const struct dataset *train, *test; /* test NULL: no test */
    uint32_t batch, threads;
    uint64_t seed;
    uint64_t epochs;
    uint64_t max_steps; /* 0: no limit */
    bool dropout;
};

struct train_step {
    uint64_t step, epoch; /* from 0 */
    uint32_t samples;
    double loss; /* mean over the batch, nats */
    int64_t data_ns, forward_ns, backward_ns, update_ns;
};

struct train_epoch {
    uint64_t epoch; /* from 0 */
    uint64_t samples;
    double loss;           /* mean over the samples */
    double train_accuracy; /* of the answers during training, with dropout */
    double test_accuracy;  /* NaN: no test */
    int64_t train_ns, test_ns;
};

struct train_reporter {
    int (*step)(void *ctx, const struct train_step *step, struct err *err);
    int (*epoch)(void *ctx, const struct train_epoch *epoch, struct err *err);
    void *ctx;
};

/* -ENOMEM, or what the reporter returned. */
int train(const struct train_params *params, const struct train_reporter *reporter,
          struct err *err);
