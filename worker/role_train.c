/* `benchworker train`: trains in this process, epochs over a dataset with Adam, and tests after
 * each epoch. Prints one line per epoch to stdout; with -o json it prints the records of
 * docs/contracts/record.md to stdout and the lines to stderr. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/str.h"
#include "worker/data/dataset.h"
#include "worker/kernels/blas.h"
#include "worker/learner.h"
#include "worker/model/adam.h"
#include "worker/report.h"
#include "worker/role_options.h"
#include "worker/role_verb.h"

#define MAX_BATCH 4096
#define MAX_THREADS 256
#define MAX_COUNT 1000000000

static const struct arg_opt options[] = {
    {"model", 0, "NAME", "Network to train (default vgg16-fluid-fc512)"},
    {"data", 0, "SOURCE", "Data set: synthetic, idx:DIR or cifar10:DIR (default synthetic)"},
    {"batch", 'b', "N", "Samples per step (default 32)"},
    {"epochs", 0, "N", "Passes over the training data (default 1)"},
    {"limit", 0, "N", "Train on the first N samples only (default 0: all)"},
    {"test-limit", 0, "N", "Test on the first N samples only; 0 disables the test (default: all)"},
    {"steps", 0, "N", "Stop after N steps (default 0: no limit)"},
    {"seed", 0, "N", "Seed of parameters, order, dropout and synthetic data (default 1)"},
    {"threads", 't', "N", "Compute threads (default 1)"},
    {"no-dropout", 0, NULL, "Train without dropout"},
    {"output", 'o', "FORMAT", "text or json (default text)"},
};

struct trainer {
    struct role_env env; /* of the start record: model_name, data, threads, seed; borrowed */
    const struct model_def *def;
    uint32_t batch;
    uint64_t epochs, max_steps; /* 0: no limit */
    int64_t limit, test_limit;  /* test_limit -1: all */
    bool dropout, json;
    struct dataset *data, *test; /* test NULL: no test; all owned from here on */
    struct learner learner;
    struct adam adam;
    struct report report;
    uint64_t steps; /* done */
};

static int take_options(const struct args *a, struct trainer *t, struct err *err)
{
    const struct role_number rows[] = {
        ROLE_NUMBER("batch", 32, 1, MAX_BATCH, &t->batch),
        ROLE_NUMBER("threads", 1, 1, MAX_THREADS, &t->env.threads),
        ROLE_NUMBER("epochs", 1, 1, MAX_COUNT, &t->epochs),
        ROLE_NUMBER("steps", 0, 0, MAX_COUNT, &t->max_steps),
        ROLE_NUMBER("seed", 1, 0, INT64_MAX, &t->env.seed),
        ROLE_NUMBER("limit", 0, 0, MAX_COUNT, &t->limit),
        ROLE_NUMBER("test-limit", -1, 0, MAX_COUNT, &t->test_limit),
    };
    const char *output = args_get(a, "output", "text");
    t->env.model_name = args_get(a, "model", "vgg16-fluid-fc512");
    t->env.data = args_get(a, "data", "synthetic");
    t->dropout = !args_has(a, "no-dropout");
    t->json = str_eq(output, "json");
    const int r = role_find_model(t->env.model_name, &t->def, err);
    if (r >= 0 && !t->json && !str_eq(output, "text")) {
        return err_set(err, EINVAL, "--output '%s': expected text or json", output);
    }
    return r < 0 ? r : role_take_numbers(a, rows, COUNT_OF(rows), err);
}

static int open_data(struct trainer *t, struct err *err)
{
    const uint64_t seed = (uint64_t)t->env.seed;
    const size_t n_test = t->test_limit < 0 ? 0 : (size_t)t->test_limit;
    const int r = dataset_open(t->env.data, DATA_TRAIN, (size_t)t->limit, seed, &t->data, err);
    return r < 0 || t->test_limit == 0
               ? r
               : dataset_open(t->env.data, DATA_TEST, n_test, seed, &t->test, err);
}

/* ---- for people ---- */

static FILE *people(const struct trainer *t)
{
    return t->json ? stderr : stdout;
}

static int flush(const struct trainer *t, struct err *err)
{
    errno = 0;
    return fflush(people(t)) == 0 && !ferror(people(t))
               ? 0
               : err_set_errno(err, errno == 0 ? EIO : errno, "write to %s",
                               t->json ? "stderr" : "stdout");
}

static int begin(struct trainer *t, struct err *err)
{
    const struct role_env *e = &t->env;
    fprintf(people(t),
            "%s on %s: %zu samples, batch %u, seed %lld, %lld thread%s, OpenBLAS core %s%s\n",
            e->model_name, e->data, dataset_size(t->data), t->batch, (long long)e->seed,
            (long long)e->threads, e->threads == 1 ? "" : "s", blas_core(),
            t->dropout ? "" : ", no dropout");
    const int r = flush(t, err);
    return r < 0 || !t->json ? r : report_start(&t->report, e, err);
}

/* ---- training ---- */

static bool has_step_left(const struct trainer *t)
{
    return t->max_steps == 0 || t->steps < t->max_steps;
}

static void train_batch(struct trainer *t, uint64_t epoch, size_t first, struct record_step *ret)
{
    struct learner *l = &t->learner;
    const size_t left = dataset_size(t->data) - first;
    const struct data_batch batch = {.epoch = epoch,
                                     .shuffle = true,
                                     .first = first,
                                     .stride = 1,
                                     .n = left < t->batch ? (uint32_t)left : t->batch};
    struct record_step step = {.step = (uint32_t)t->steps, .samples = batch.n};
    int64_t at = clock_monotonic_ns();
    dataset_read(t->data, &batch, l->x, l->labels);
    report_lap(&step, PHASE_DATA, &at);
    step.loss =
        model_forward(l->model, l->x, l->labels, batch.n, (struct model_key){.step = t->steps});
    report_lap(&step, PHASE_FORWARD, &at);
    model_backward(l->model);
    report_lap(&step, PHASE_BACKWARD, &at);
    adam_apply(&t->adam, ++t->steps, 0, model_n_params(l->model), model_param_data(l->model),
               model_grad_data(l->model), 1.0f);
    report_lap(&step, PHASE_UPDATE, &at);
    for (int i = 0; i < PHASE_COUNT; i++) {
        step.step_ns += step.phase_ns[i];
    }
    step.t_ns = t->report.summary.duration_ns + step.step_ns; /* without tests between epochs */
    *ret = step;
}

static double lap_s(int64_t *since_ns)
{
    const int64_t now_ns = clock_monotonic_ns(), took_ns = now_ns - *since_ns;
    *since_ns = now_ns;
    return (double)took_ns / 1e9;
}

static int train_epoch(struct trainer *t, uint64_t epoch, struct err *err)
{
    const size_t size = dataset_size(t->data);
    uint64_t samples = 0, right = 0;
    double loss = 0; /* of all samples */
    int64_t at_ns = clock_monotonic_ns();
    for (size_t first = 0; first < size && has_step_left(t); first += t->batch) {
        struct record_step step;
        train_batch(t, epoch, first, &step);
        int r = learner_check_loss(step.loss, step.step, err);
        r = r < 0 || !t->json ? r : report_step(&t->report, &step, err);
        if (r < 0) {
            return r;
        }
        samples += step.samples;
        loss += step.loss * step.samples;
        right += model_right(t->learner.model);
    }
    const double n = (double)samples, train_s = lap_s(&at_ns);
    fprintf(people(t),
            "epoch %llu/%llu   loss %.4f   train accuracy %.4f   %.1f samples/s in %.1f s",
            (unsigned long long)epoch + 1, (unsigned long long)t->epochs, loss / n,
            (double)right / n, n / train_s, train_s);
    if (t->test != NULL) {
        const double accuracy = learner_accuracy(&t->learner, t->test, t->batch);
        fprintf(people(t), "   test accuracy %.4f in %.1f s", accuracy, lap_s(&at_ns));
    }
    fputc('\n', people(t));
    return flush(t, err);
}

static int train(struct trainer *t, struct err *err)
{
    const struct model_params model = {.def = t->def,
                                       .batch = t->batch,
                                       .threads = (uint32_t)t->env.threads,
                                       .seed = (uint64_t)t->env.seed,
                                       .dropout = t->dropout};
    int r = begin(t, err);
    r = r < 0 ? r : learner_init(&t->learner, &model, err);
    if (r < 0) {
        return r;
    }
    adam_init(&t->adam, model_n_params(t->learner.model));
    t->adam.threads = model_threads(t->learner.model);
    for (uint64_t epoch = 0; r >= 0 && epoch < t->epochs && has_step_left(t); epoch++) {
        r = train_epoch(t, epoch, err);
    }
    return r < 0 || !t->json ? r : report_summary(&t->report, err);
}

static int exit_code_of(int r)
{
    switch (r) {
    case -EINVAL: /* a bad word on the command line */
        return EXIT_USAGE;
    case -EDOM:
        return EXIT_WORKER_DIVERGED;
    case -ENOMEM:
    case -ENOSPC:
    case -EDQUOT:
    case -EIO:
    case -EPIPE:
        return EXIT_WORKER_RESOURCE;
    default:
        return r < 0 ? EXIT_WORKER_DATA : EXIT_OK;
    }
}

static int run(const struct args *a, struct err *err)
{
    struct trainer t = {.env.role = ROLE_TRAINER, .adam = ADAM_DEFAULT};
    int r = take_options(a, &t, err);
    r = r < 0 ? r : open_data(&t, err);
    if (r >= 0) {
        report_init(&t.report, &t.env);
        r = train(&t, err);
        if (r < 0 && t.json) {
            (void)report_error(&t.report, exit_code_of(r), NULL, err->msg, NULL);
            err->msg[0] = '\0'; /* it was said */
        }
        report_done(&t.report);
    }
    learner_done(&t.learner);
    adam_done(&t.adam);
    dataset_free(t.data);
    dataset_free(t.test);
    return exit_code_of(r);
}

int role_train(int argc, char *const *argv)
{
    static const struct role_command command = {
        .name = "train",
        .text = "Train in one process, without peers, and test after each epoch.",
        .options = options,
        .n_options = COUNT_OF(options),
        .run = run,
    };
    return role_command_run(&command, argc, argv);
}
