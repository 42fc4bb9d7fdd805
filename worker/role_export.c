/* `benchworker export`: writes the initial parameters and the batches of the first steps, in the
 * order of `benchworker train`, so that another program can start from the same values.
 *
 *   export.json   the tensors in the order of params.f32, each with its shape and its dimensions'
 *                 letters (R S filter, C in, K out); steps, batch and the data's dimensions
 *   params.f32    every parameter
 *   x.f32         the samples of all steps, (N, 3, 32, 32) each step; labels.u8: their labels
 *   steps.u32     the number of samples of each step: the last step of an epoch can have fewer
 *
 * All numbers are in the machine's byte order, little-endian. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/data/dataset.h"
#include "network/layer_def.h"
#include "worker/model/model.h"
#include "worker/role_verb.h"
#include "worker/role_options.h"

#define MAX_BATCH 4096
#define MAX_STEPS 100000

static const struct arg_opt options[] = {
    {"dir", 0, "DIR", "Directory for the files; created if missing"},
    {"model", 0, "NAME", "Network to train (default vgg16-fluid-fc512)"},
    {"data", 0, "SOURCE", "Data set: synthetic, idx:DIR or cifar10:DIR (default synthetic)"},
    {"batch", 'b', "N", "Samples per step (default 32)"},
    {"limit", 0, "N", "Train on the first N samples only (default 0: all)"},
    {"steps", 0, "N", "Write the batches of the first N steps (default 0: parameters only)"},
    {"seed", 0, "N", "Seed of parameters, order and synthetic data (default 1)"},
};

struct command {
    const char *dir, *model, *source; /* borrowed from argv */
    const struct model_def *def;
    int64_t batch, limit, steps, seed;
};

static int take_options(const struct args *a, struct command *c, struct err *err)
{
    const struct role_number rows[] = {
        ROLE_NUMBER("batch", 32, 1, MAX_BATCH, &c->batch),
        ROLE_NUMBER("limit", 0, 0, 1000000000, &c->limit),
        ROLE_NUMBER("steps", 0, 0, MAX_STEPS, &c->steps),
        ROLE_NUMBER("seed", 1, 0, INT64_MAX, &c->seed),
    };
    const int r = role_take_numbers(a, rows, COUNT_OF(rows), err);
    if (r < 0) {
        return r;
    }
    c->dir = args_get(a, "dir", NULL);
    c->model = args_get(a, "model", "vgg16-fluid-fc512");
    c->source = args_get(a, "data", "synthetic");
    if (c->dir == NULL) {
        return err_set(err, EINVAL, "--dir is required");
    }
    return role_find_model(c->model, &c->def, err);
}

static int open_file(const struct command *c, const char *name, FILE **ret, struct err *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", c->dir, name);
    *ret = fopen(path, "we");
    return *ret != NULL ? 0 : err_set_errno(err, errno, "open '%s'", path);
}

/* Closes f and reports any failed write. */
static int close_file(FILE *f, const char *name, struct err *err)
{
    int had_error = ferror(f);
    return fclose(f) != 0 || had_error ? err_set_errno(err, EIO, "write %s", name) : 0;
}

static int write_params(const struct command *c, struct err *err)
{
    FILE *f;
    size_t n = model_def_n_params(c->def);
    int r = open_file(c, "params.f32", &f, err);
    if (r < 0) {
        return r;
    }
    _cleanup_(freep) float *params = xnew_array(float, n);
    model_init_params(c->def, (uint64_t)c->seed, params);
    (void)fwrite(params, sizeof(*params), n, f); /* close_file reports a failure */
    return close_file(f, "params.f32", err);
}

struct batch_files {
    FILE *x, *labels, *steps;
};

static void write_batches(const struct command *c, const struct dataset *d, struct batch_files *f)
{
    uint32_t batch = (uint32_t)c->batch;
    _cleanup_(freep) float *x = xnew_array(float, (size_t)batch *DATA_SAMPLE_FLOATS);
    _cleanup_(freep) uint8_t *labels = xnew_array(uint8_t, batch);
    size_t size = dataset_size(d), first = 0;
    uint64_t epoch = 0;
    for (int64_t step = 0; step < c->steps; step++) { /* in the order of role_train.c */
        uint32_t n = size - first < batch ? (uint32_t)(size - first) : batch;
        struct data_batch at = {
            .epoch = epoch, .shuffle = true, .first = first, .stride = 1, .n = n};
        dataset_read(d, &at, x, labels);
        /* close_file reports a failure */
        (void)fwrite(x, sizeof(*x), (size_t)n * DATA_SAMPLE_FLOATS, f->x);
        (void)fwrite(labels, 1, n, f->labels);
        (void)fwrite(&n, sizeof(n), 1, f->steps);
        first += n;
        if (first >= size) {
            first = 0;
            epoch++;
        }
    }
}

static int export_batches(const struct command *c, struct err *err)
{
    struct dataset *d = NULL;
    struct batch_files files = {0};
    int r = dataset_open(c->source, DATA_TRAIN, (size_t)c->limit, (uint64_t)c->seed, &d, err);
    if (r < 0) {
        return r;
    }
    const struct {
        const char *name;
        FILE **file;
    } rows[] = {{"x.f32", &files.x}, {"labels.u8", &files.labels}, {"steps.u32", &files.steps}};
    for (size_t i = 0; i < 3 && r == 0; i++) {
        r = open_file(c, rows[i].name, rows[i].file, err);
    }
    if (r == 0) {
        write_batches(c, d, &files);
    }
    for (size_t i = 0; i < 3; i++) {
        struct err late;
        if (*rows[i].file != NULL && close_file(*rows[i].file, rows[i].name, &late) < 0 && r == 0) {
            r = err_set(err, EIO, "%s", late.msg);
        }
    }
    dataset_free(d);
    return r;
}

static void describe_tensor(struct buf *out, uint32_t layer, const char *name, const char *dims,
                            const char *shape)
{
    buf_printf(out, "%s  {\"layer\": %u, \"tensor\": \"%s\", \"dims\": \"%s\", \"shape\": %s}",
               str_has_suffix(buf_cstr(out), "[\n") ? "" : ",\n", layer, name, dims, shape);
}

/* The tensors as struct layer_params orders them. */
static void describe_layer(struct buf *out, const struct layer_def *layer,
                           const struct layer_shape *s, uint32_t i)
{
    bool is_conv = layer->kind == LAYER_CONV;
    _cleanup_(freep) char *vector = xasprintf("[%u]", s->k);
    _cleanup_(freep) char *weight = is_conv ? xasprintf("[3, 3, %u, %u]", s->c, s->k)
                                            : xasprintf("[%u, %u]", s->k, s->c * s->h * s->w);
    describe_tensor(out, i, "weight", is_conv ? "RSCK" : "KC", weight);
    describe_tensor(out, i, "bias", "K", vector);
    if (layer_has_bn(layer)) {
        describe_tensor(out, i, "gamma", "K", vector);
        describe_tensor(out, i, "beta", "K", vector);
    }
}

static int write_description(const struct command *c, struct err *err)
{
    FILE *f;
    int r = open_file(c, "export.json", &f, err);
    if (r < 0) {
        return r;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_printf(&out,
               "{\"version\": 1, \"model\": \"%s\", \"seed\": %lld, \"batch\": %lld, "
               "\"steps\": %lld, \"x_dims\": \"NCHW\", \"tensors\": [\n",
               c->model, (long long)c->seed, (long long)c->batch, (long long)c->steps);
    struct layer_shape shape;
    for (uint32_t i = 0; i < c->def->n_layers; i++) {
        shape = layer_shape_next(c->def, i, i == 0 ? NULL : &shape);
        if (layer_has_weight(&c->def->layers[i])) {
            describe_layer(&out, &c->def->layers[i], &shape, i);
        }
    }
    buf_puts(&out, "\n]}\n");
    (void)fwrite(out.data, 1, out.len, f); /* close_file reports a failure */
    return close_file(f, "export.json", err);
}

static int write_all(const struct command *c, struct err *err)
{
    if (mkdir(c->dir, 0777) < 0 && errno != EEXIST) {
        return err_set_errno(err, errno, "create directory '%s'", c->dir);
    }
    int r = write_params(c, err);
    if (r == 0 && c->steps > 0) {
        r = export_batches(c, err);
    }
    return r < 0 ? r : write_description(c, err); /* last: it shows that the rest is complete */
}

static int run(const struct args *a, struct err *err)
{
    struct command c = {0};
    int r = take_options(a, &c, err);
    r = r < 0 ? r : write_all(&c, err);
    return r >= 0          ? EXIT_OK
           : r == -EINVAL  ? EXIT_USAGE
           : r == -EBADMSG ? EXIT_WORKER_DATA
                           : EXIT_WORKER_RESOURCE;
}

int role_export(int argc, char *const *argv)
{
    static const struct role_command command = {
        .name = "export",
        .usage = "--dir DIR [OPTION...]",
        .text = "Write initial parameters and batches, so that another program can start from the "
                "same values.",
        .options = options,
        .n_options = COUNT_OF(options),
        .run = run,
    };
    return role_command_run(&command, argc, argv);
}
