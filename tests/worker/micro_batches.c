/* What N trainers of batch B must equal: one process that runs N micro-batches of B each step, each
 * with its own batch statistics and its trainer's dropout, adds the gradients in order and applies
 * the average. Over BF16 gradients and parameters are rounded as on their way. With local steps a
 * trainer trains alone for some, then parameters are averaged. Prints the digest of the parameters
 * as `benchworker trainer --print-digest` does, and writes them into a file.
 *
 *     micro_batches TRAINERS BATCH STEPS WIRE MODE [FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "core/exchange_kind.h"
#include "worker/comm/link/auth.h"
#include "worker/data/dataset.h"
#include "worker/kernels/blas.h"
#include "worker/kernels/cpu.h"
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
    struct err err = {.msg = "TRAINERS BATCH STEPS are numbers from 1 to 100000"};
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

struct gang {
    uint32_t trainers, batch;
    enum exchange_wire wire;
    struct exchange_mode mode;
    struct model *model;
    struct dataset *data;
    size_t n;
    float *x;
    uint8_t *labels;
    struct adam server, *locals; /* (trainers) */
    float *own;                  /* (n) of the servers */
    float *sent, *sum;           /* (n) what a trainer sends, the sum of all */
    uint16_t *narrowed;
};

/* Trainer t's gradients of one step. */
static void compute(struct gang *g, uint64_t step, uint32_t t)
{
    const struct data_batch b = {.shuffle = true,
                                 .first = step * g->batch * g->trainers + t,
                                 .stride = g->trainers,
                                 .n = g->batch};
    dataset_read(g->data, &b, g->x, g->labels);
    (void)model_forward(g->model, g->x, g->labels, g->batch, (struct model_key){step, t});
    model_backward(g->model);
}

/* What trainer t sends after the steps from `first` on, in g->sent. */
static void train_alone(struct gang *g, uint64_t first, uint32_t t)
{
    const uint32_t period = exchange_mode_period(&g->mode);
    float *params = model_param_data(g->model), *grads = model_grad_data(g->model);
    send(g->wire, g->narrowed, g->own, params, g->n); /* the first ones are computed, not sent */
    if (first == 0) {
        memcpy(params, g->own, g->n * sizeof(*params));
    }
    for (uint32_t k = 0; k < period; k++) {
        compute(g, first + k, t);
        if (g->mode.local_steps > 0) {
            adam_apply(&g->locals[t], first + k + 1, 0, g->n, params, grads, 1.0f);
        }
    }
    send(g->wire, g->narrowed, g->mode.local_steps > 0 ? params : grads, g->sent, g->n);
}

static void exchange(struct gang *g, uint64_t t)
{
    const float scale = 1.0f / (float)g->trainers;
    if (g->mode.local_steps == 0) {
        adam_apply(&g->server, t, 0, g->n, g->own, g->sum, scale);
        return;
    }
    for (size_t i = 0; i < g->n; i++) {
        g->own[i] = g->sum[i] * scale;
    }
}

static void train(struct gang *g, uint64_t steps)
{
    const uint32_t period = exchange_mode_period(&g->mode);
    for (uint64_t step = 0; step < steps; step += period) {
        for (uint32_t t = 0; t < g->trainers; t++) {
            train_alone(g, step, t);
            if (t == 0) {
                memcpy(g->sum, g->sent, g->n * sizeof(*g->sum));
            } else {
                grad_add(g->sum, g->sent, g->n);
            }
        }
        exchange(g, step / period + 1);
    }
    send(g->wire, g->narrowed, g->own, model_param_data(g->model), g->n);
}

static void print_digest(const struct model *model, const float *params)
{
    uint8_t digest[AUTH_DIGEST_SIZE];
    auth_sha256(params, model_n_params(model) * sizeof(float), digest);
    printf("params_digest ");
    for (size_t i = 0; i < sizeof(digest); i++) {
        printf("%02x", digest[i]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const uint64_t seed = 1;
    const int wire = argc == 6 || argc == 7 ? exchange_wire_from_string(argv[4]) : -1;
    if (wire < 0) {
        fprintf(stderr, "usage: micro_batches TRAINERS BATCH STEPS WIRE MODE [FILE]\n");
        return 2;
    }
    blas_repair(argv); /* as benchworker does, like the next */
    cpu_flush_denormals();
    struct gang g = {.trainers = (uint32_t)number(argv[1]),
                     .batch = (uint32_t)number(argv[2]),
                     .wire = (enum exchange_wire)wire};
    struct model_params p = {.def = model_def_find("vgg16-fluid-fc512"),
                             .batch = g.batch,
                             .threads = 1,
                             .seed = seed,
                             .dropout = true};
    struct err err;
    must(exchange_mode_parse(argv[5], &g.mode, &err), &err);
    must(model_new(&p, &g.model, &err), &err);
    must(dataset_open("synthetic", DATA_TRAIN, seed, &g.data, &err), &err);
    g.n = model_n_params(g.model);
    float **arrays[] = {&g.own, &g.sent, &g.sum};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
        *arrays[i] = xnew_array(float, g.n);
    }
    g.narrowed = xnew_array(uint16_t, g.n);
    g.x = xnew_array(float, (size_t)g.batch *DATA_SAMPLE_FLOATS);
    g.labels = xnew_array(uint8_t, g.batch);
    g.locals = xnew_array(struct adam, g.trainers);
    g.server = ADAM_DEFAULT;
    adam_init(&g.server, g.n);
    for (uint32_t t = 0; t < g.trainers; t++) {
        g.locals[t] = ADAM_DEFAULT;
        adam_init(&g.locals[t], g.mode.local_steps > 0 ? g.n : 0);
    }
    model_init_params(p.def, p.seed, g.own);
    train(&g, (uint64_t)number(argv[3]));
    print_digest(g.model, model_param_data(g.model));
    if (argc == 7) {
        FILE *file = fopen(argv[6], "we");
        err_set(&err, EIO, "%s cannot be written", argv[6]);
        must(file == NULL || fwrite(model_param_data(g.model), sizeof(float), g.n, file) != g.n ||
                     fclose(file) != 0
                 ? -1
                 : 0,
             &err);
    }
    for (uint32_t t = 0; t < g.trainers; t++) {
        adam_done(&g.locals[t]);
    }
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
        free(*arrays[i]);
    }
    free(g.locals);
    free(g.narrowed);
    adam_done(&g.server);
    dataset_free(g.data);
    model_free(g.model);
    free(g.x);
    free(g.labels);
    return 0;
}
