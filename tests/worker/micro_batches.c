/* What N trainers of batch B must equal: one process that runs N micro-batches of B each step, each
 * with its own batch statistics and its trainer's dropout, adds the gradients in order and applies the
 * average. Over Bf16 gradients and parameters are rounded as on their way. Prints the digest of the
 * parameters as `benchworker trainer --print-digest` does; of other data than synthetic also the accuracy on
 * its test set.
 *
 *     micro_batches TRAINERS BATCH STEPS [WIRE [SEED DATA]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "core/exchange.h"
#include "worker/comm/auth.h"
#include "worker/data/dataset.h"
#include "worker/model/adam.h"
#include "worker/model/model.h"
#include "worker/tensor/accumulate.h"
#include "worker/tensor/bf16.h"

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
    struct err err = {.msg = "TRAINERS BATCH STEPS SEED are numbers from 1 to 100000"};
    must(parse_i64_in(text, 1, 100000, &v), &err);
    return v;
}

/* What a peer makes of values that were sent. */
static void send(enum exchange_wire wire, uint16_t *narrowed, const float *from, float *to,
                 size_t n)
{
    if (wire == EXCHANGE_WIRE_FP32) {
        memmove(to, from, n * sizeof(*to));
    } else {
        bf16_narrow(narrowed, from, n);
        bf16_widen(to, narrowed, n);
    }
}

static void print_accuracy(struct model *model, const char *source, uint64_t seed, float *x,
                           uint8_t *labels, uint32_t batch)
{
    struct dataset *data;
    struct err err;
    size_t right = 0;
    must(dataset_open(source, DATA_TEST, 0, seed, &data, &err), &err);
    const size_t size = dataset_size(data) / batch * batch;
    for (size_t first = 0; first < size; first += batch) {
        const struct data_batch b = {.first = first, .stride = 1, .n = batch};
        dataset_read(data, &b, x, labels);
        right += model_evaluate(model, x, labels, batch);
    }
    printf("test_accuracy %.4f\n", (double)right / (double)size);
    dataset_free(data);
}

int main(int argc, char **argv)
{
    const int known = argc > 4 ? exchange_wire_from_string(argv[4]) : EXCHANGE_WIRE_FP32;
    if ((argc != 4 && argc != 5 && argc != 7) || known < 0) {
        fprintf(stderr, "usage: micro_batches TRAINERS BATCH STEPS [WIRE [SEED DATA]]\n");
        return 2;
    }
    const enum exchange_wire wire = (enum exchange_wire)known;
    const uint64_t seed = argc > 5 ? (uint64_t)number(argv[5]) : 1;
    const char *source = argc > 6 ? argv[6] : "synthetic";
    uint32_t trainers = (uint32_t)number(argv[1]), batch = (uint32_t)number(argv[2]);
    uint64_t steps = (uint64_t)number(argv[3]);
    struct model_params p = {.def = model_def_find("vgg16-fluid-fc512"),
                             .batch = batch,
                             .threads = 1,
                             .seed = seed,
                             .dropout = true};
    struct model *model;
    struct dataset *data;
    struct err err;
    must(model_new(&p, &model, &err), &err);
    must(dataset_open(source, DATA_TRAIN, 0, seed, &data, &err), &err);
    size_t n = model_n_params(model);
    float *params = model_param_data(model), *sum = xnew_array(float, n);
    float *x = xnew_array(float, (size_t)batch *DATA_SAMPLE_FLOATS);
    uint8_t *labels = xnew_array(uint8_t, batch);
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, n);
    model_init_params(p.def, p.seed, params);
    float *own = xnew_array(float, n),
          *sent = xnew_array(float, n); /* of the server; what it got */
    uint16_t *narrowed = xnew_array(uint16_t, n);
    memcpy(own, params, n * sizeof(*own));
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
            send(wire, narrowed, model_grad_data(model), t == 0 ? sum : sent, n);
            if (t > 0) {
                grad_add(sum, sent, n);
            }
        }
        adam_apply(&adam, step + 1, 0, n, own, sum, 1.0f / (float)trainers);
        send(wire, narrowed, own, params, n);
    }
    uint8_t digest[AUTH_DIGEST_SIZE];
    auth_sha256(params, n * sizeof(float), digest);
    printf("params_digest ");
    for (size_t i = 0; i < sizeof(digest); i++) {
        printf("%02x", digest[i]);
    }
    printf("\n");
    if (argc > 6) {
        print_accuracy(model, source, seed, x, labels, batch);
    }
    free(narrowed);
    free(sent);
    free(own);
    adam_done(&adam);
    dataset_free(data);
    model_free(model);
    free(sum);
    free(x);
    free(labels);
    return 0;
}
