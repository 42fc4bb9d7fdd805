/* `benchworker train`: trains in this process and tests after each epoch. Prints one line per epoch
 * to stdout; with -o json it prints the records of docs/contracts/record.md to stdout and the lines
 * to stderr. */
#include <stdlib.h>

#include "base/exit_code.h"
#include "base/str.h"
#include "worker/role_verb.h"
#include "worker/role_options.h"
#include "worker/train_output.h"

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

struct command {
    struct train_params params;
    const char *model, *source; /* borrowed from argv */
    int64_t limit, test_limit;  /* test_limit -1: all */
    bool json;
};

static int take_numbers(const struct args *a, struct command *c, struct err *err)
{
    const struct role_number rows[] = {
        ROLE_NUMBER("batch", 32, 1, MAX_BATCH, &c->params.batch),
        ROLE_NUMBER("threads", 1, 1, MAX_THREADS, &c->params.threads),
        ROLE_NUMBER("epochs", 1, 1, MAX_COUNT, &c->params.epochs),
        ROLE_NUMBER("steps", 0, 0, MAX_COUNT, &c->params.max_steps),
        ROLE_NUMBER("seed", 1, 0, INT64_MAX, &c->params.seed),
        ROLE_NUMBER("limit", 0, 0, MAX_COUNT, &c->limit),
        ROLE_NUMBER("test-limit", -1, 0, MAX_COUNT, &c->test_limit),
    };
    return role_take_numbers(a, rows, COUNT_OF(rows), err);
}

static int take_options(const struct args *a, struct command *c, struct err *err)
{
    const char *output = args_get(a, "output", "text");
    c->model = args_get(a, "model", "vgg16-fluid-fc512");
    const int r = role_find_model(c->model, &c->params.def, err);
    if (r < 0) {
        return r;
    }
    if (!str_eq(output, "text") && !str_eq(output, "json")) {
        return err_set(err, EINVAL, "--output '%s': expected text or json", output);
    }
    c->json = str_eq(output, "json");
    c->source = args_get(a, "data", "synthetic");
    c->params.dropout = !args_has(a, "no-dropout");
    return take_numbers(a, c, err);
}

static int open_data(const struct command *c, struct dataset **ret_train, struct dataset **ret_test,
                     struct err *err)
{
    int r = dataset_open(c->source, DATA_TRAIN, (size_t)c->limit, c->params.seed, ret_train, err);
    if (r == 0 && c->test_limit != 0) {
        size_t limit = c->test_limit < 0 ? 0 : (size_t)c->test_limit;
        r = dataset_open(c->source, DATA_TEST, limit, c->params.seed, ret_test, err);
    }
    return r;
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
        return EXIT_WORKER_DATA;
    }
}

/* Called with open data; errors from here on are also written as a record. */
static int train_and_tell(const struct command *c)
{
    struct train_output out;
    struct err err = {0};
    int r = train_output_begin(&out, &c->params, c->model, c->source, c->json, &err);
    if (r == 0) {
        struct train_reporter reporter = train_output_reporter(&out);
        r = train(&c->params, &reporter, &err);
    }
    r = r < 0 ? r : train_output_end(&out, &err);
    if (r < 0) {
        train_output_error(&out, exit_code_of(r), err.msg);
    }
    train_output_done(&out);
    return r < 0 ? exit_code_of(r) : EXIT_OK;
}

static int run(const struct args *a, struct err *err)
{
    struct command c = {0};
    struct dataset *data = NULL, *test = NULL;
    int r = take_options(a, &c, err);
    r = r < 0 ? r : open_data(&c, &data, &test, err);
    int code = exit_code_of(r);
    if (r == 0) {
        c.params.train = data;
        c.params.test = test;
        code = train_and_tell(&c);
    }
    dataset_free(data);
    dataset_free(test);
    return code;
}

int role_train(int argc, char *const *argv)
{
    static const struct role_command command = {
        .name = "train",
        .usage = "[OPTION...]",
        .text = "Train in one process, without peers, and test after each epoch.",
        .options = options,
        .n_options = COUNT_OF(options),
        .run = run,
    };
    return role_command_run(&command, argc, argv);
}
