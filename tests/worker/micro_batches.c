/* What N trainers of batch B must equal: one process that runs N micro-batches of B each step, each
 * with its own batch statistics and its trainer's dropout, adds the gradients in order and applies the
 * average. Prints the digest of the parameters as `benchworker trainer --print-digest` does.
 *
 *     micro_batches TRAINERS BATCH STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "worker/comm/auth.h"
#include "worker/data/dataset.h"
#include "worker/model/adam.h"
#include "worker/model/model.h"
#include "worker/tensor/accumulate.h"

static void must(int r, const struct err *err)
{
    if (r < 0) {
        fprintf(stderr, "micro_batches: %s\n", err->msg);
        exit(1);
    }
}

static int64_t number(const char *text)
{
    int64_t v = 0;
    struct err err = {.msg = "TRAINERS BATCH STEPS are numbers from 1 to 100"};
    must(parse_i64_in(text, 1, 100, &v), &err);
    return v;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: micro_batches TRAINERS BATCH STEPS\n");
        return 2;
    }
    uint32_t trainers = (uint32_t)number(argv[1]), batch = (uint32_t)number(argv[2]);
    uint64_t steps = (uint64_t)number(argv[3]);
    struct model_params p = {.def = model_def_find("vgg16-fluid-fc512"),
                             .batch = batch,
                             .threads = 1,
                             .seed = 1,
                             .dropout = true};
    struct model *model;
    struct dataset *data;
    struct err err;
    must(model_new(&p, &model, &err), &err);
    must(dataset_open("synthetic", DATA_TRAIN, 0, 1, &data, &err), &err);
    size_t n = model_n_params(model);
    float *params = model_param_data(model), *sum = xnew_array(float, n);
    float *x = xnew_array(float, (size_t)batch *DATA_SAMPLE_FLOATS);
    uint8_t *labels = xnew_array(uint8_t, batch);
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, n);
    model_init_params(p.def, p.seed, params);
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t first = step * batch * trainers;
        for (uint32_t t = 0; t < trainers; t++) {
            struct data_batch b = {.epoch = first / dataset_size(data),
                                   .shuffle = true,
                                   .first = first + t,
                                   .stride = trainers,
                                   .n = batch};
            dataset_read(data, &b, x, labels);
            (void)model_forward(model, x, labels, batch, (struct model_key){step, t});
            model_backward(model);
            const float *grad = model_grad_data(model);
            if (t == 0) {
                memcpy(sum, grad, n * sizeof(*sum));
            } else {
                grad_add(sum, grad, n);
            }
        }
        adam_apply(&adam, step + 1, 0, n, params, sum, 1.0f / (float)trainers);
    }
    uint8_t digest[AUTH_DIGEST_SIZE];
    auth_sha256(params, n * sizeof(float), digest);
    printf("params_digest ");
    for (size_t i = 0; i < sizeof(digest); i++) {
        printf("%02x", digest[i]);
    }
    printf("\n");
    adam_done(&adam);
    dataset_free(data);
    model_free(model);
    free(sum);
    free(x);
    free(labels);
    return 0;
}
