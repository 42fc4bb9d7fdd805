/* `benchworker bench`: times training steps on synthetic data in memory, step by step and layer by
 * layer. Prints one JSON document, or with -o trace what a definition takes (docs/worker.md). */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "config.h"
#include "host/host.h"
#include "host/probe.h"
#include "worker/data/dataset.h"
#include "worker/kernels/blas.h"
#include "worker/learner.h"
#include "worker/model/adam.h"
#include "worker/role_options.h"
#include "worker/role_verb.h"

#define WARMUP_STEPS 2

struct layer_cost {
    char name[16];
    double cpu_ms[MODEL_PARTS]; /* CPU time per step: the mean over the measured steps */
    /* Of all parts together: CPU time with one thread, which other processes do not lengthen; with
     * more threads by the clock. */
    double forward_ms, backward_ms;
};

struct bench {
    const struct model_def *def;
    const char *model; /* its name, borrowed from argv */
    uint32_t batch, threads;
    uint64_t seed;
    size_t steps; /* measured, after WARMUP_STEPS */
    bool prints_trace;

    /* What was measured. The arrays are owned. */
    double *samples_per_s, *samples_per_cpu_s; /* (steps), sorted */
    int64_t duration_ns, cpu_ns;               /* all measured steps together */
    struct layer_cost *layers;                 /* (def->n_layers) */
    double update_cpu_ms;                      /* Adam's CPU time per step */
    double loss_nats;                          /* the loss of the last step */
    uint64_t max_rss_bytes;
    struct noise_probe noise;      /* a probe of the machine afterwards, */
    double probe_ms, probe_cpu_ms; /* and what it took */

    struct learner learner;
    struct adam adam;
    struct dataset *data;
    int64_t marked_ns;      /* CPU time of the last mark */
    int64_t marked_pass_ns; /* pass_clock_ns at the last mark */
    bool is_backward;
};

static double lap_ms(struct bench *b)
{
    int64_t now = clock_process_cpu_ns(), took = now - b->marked_ns;
    b->marked_ns = now;
    return (double)took / 1e6;
}

static int64_t pass_clock_ns(const struct bench *b)
{
    return b->threads == 1 ? clock_process_cpu_ns() : clock_monotonic_ns();
}

static void after_part(void *ctx, uint32_t layer, enum model_part part)
{
    struct bench *b = ctx;
    struct layer_cost *l = &b->layers[layer];
    const int64_t now_ns = pass_clock_ns(b);
    *(b->is_backward ? &l->backward_ms : &l->forward_ms) +=
        (double)(now_ns - b->marked_pass_ns) / 1e6;
    b->marked_pass_ns = now_ns;
    l->cpu_ms[part] += lap_ms(b);
}

/* Loads the next batch outside of the measured time: a step finds its batch in memory. */
static void load(struct bench *b, uint64_t number)
{
    const uint32_t n = b->batch;
    struct data_batch batch = {.first = number * n, .stride = 1, .n = n};
    dataset_read(b->data, &batch, b->learner.x, b->learner.labels);
}

static void step(struct bench *b, uint64_t number)
{
    struct learner *l = &b->learner;
    b->marked_ns = clock_process_cpu_ns();
    b->marked_pass_ns = pass_clock_ns(b);
    b->is_backward = false;
    b->loss_nats =
        model_forward(l->model, l->x, l->labels, b->batch, (struct model_key){.step = number});
    b->is_backward = true;
    model_backward(l->model);
    (void)lap_ms(b); /* discards the time since the last part */
    adam_apply(&b->adam, number + 1, 0, model_n_params(l->model), model_param_data(l->model),
               model_grad_data(l->model), 1.0f);
    b->update_cpu_ms += lap_ms(b);
}

static void timed_step(struct bench *b, size_t i)
{
    const double samples = b->batch;
    load(b, WARMUP_STEPS + i);
    const int64_t wall_begin_ns = clock_monotonic_ns(), cpu_begin_ns = clock_process_cpu_ns();
    step(b, WARMUP_STEPS + i);
    const int64_t wall_ns = clock_monotonic_ns() - wall_begin_ns;
    const int64_t cpu_ns = clock_process_cpu_ns() - cpu_begin_ns;
    b->samples_per_s[i] = samples * 1e9 / (double)wall_ns;
    b->samples_per_cpu_s[i] = samples * 1e9 / (double)cpu_ns;
    b->duration_ns += wall_ns;
    b->cpu_ns += cpu_ns;
}

static void probe_machine(struct bench *b)
{
    const struct probe_limits limits = probe_limits_of("");
    const int64_t begin_ns = clock_monotonic_ns(), begin_cpu_ns = clock_process_cpu_ns();
    probe_run(&limits, &b->noise);
    b->probe_ms = (double)(clock_monotonic_ns() - begin_ns) / 1e6;
    b->probe_cpu_ms = (double)(clock_process_cpu_ns() - begin_cpu_ns) / 1e6;
}

static void measure(struct bench *b)
{
    struct model_probe probe = {after_part, b};
    for (size_t i = 0; i < WARMUP_STEPS; i++) {
        load(b, i);
        step(b, i);
    }
    b->update_cpu_ms = 0;
    model_set_probe(b->learner.model, &probe);
    for (size_t i = 0; i < b->steps; i++) {
        timed_step(b, i);
    }
    model_set_probe(b->learner.model, NULL);
    qsort(b->samples_per_s, b->steps, sizeof(double), by_double);
    qsort(b->samples_per_cpu_s, b->steps, sizeof(double), by_double);
    b->update_cpu_ms /= (double)b->steps;
    for (uint32_t i = 0; i < b->def->n_layers; i++) {
        for (size_t part = 0; part < MODEL_PARTS; part++) {
            b->layers[i].cpu_ms[part] /= (double)b->steps;
        }
        b->layers[i].forward_ms /= (double)b->steps;
        b->layers[i].backward_ms /= (double)b->steps;
    }
    b->max_rss_bytes = host_max_rss_bytes();
    probe_machine(b);
}

static int prepare(struct bench *b, struct err *err)
{
    const struct model_params model = {
        .def = b->def, .batch = b->batch, .threads = b->threads, .seed = b->seed, .dropout = true};
    const int r = learner_init(&b->learner, &model, err);
    if (r < 0) {
        return r;
    }
    adam_init(&b->adam, model_n_params(b->learner.model));
    b->adam.threads = model_threads(b->learner.model);
    b->samples_per_s = xnew_array(double, b->steps);
    b->samples_per_cpu_s = xnew_array(double, b->steps);
    b->layers = xnew_array(struct layer_cost, b->def->n_layers);
    for (uint32_t i = 0; i < b->def->n_layers; i++) {
        model_def_layer_name(b->def, i, b->layers[i].name);
    }
    return dataset_open("synthetic", DATA_TRAIN, b->seed, &b->data, err);
}

static void bench_done(struct bench *b)
{
    dataset_free(b->data);
    learner_done(&b->learner);
    adam_done(&b->adam);
    free(b->samples_per_s);
    free(b->samples_per_cpu_s);
    free(b->layers);
}

/* ---- the command ---- */

static const struct arg_opt options[] = {
    {"model", 0, "NAME", "Network to train (default vgg16-fluid-fc512)"},
    {"batch", 'b', "N", "Samples per step (default 128)"},
    {"threads", 't', "N", "Compute threads (default 1)"},
    {"steps", 0, "N", "Measured steps, after two warm-up steps (default 20)"},
    {"seed", 0, "N", "Seed of parameters, data and dropout (default 1)"},
    {"output", 'o', "FORMAT",
     "json, or trace: times for spec.workload.trace of a definition (default json)"},
};

static int take_options(const struct args *a, struct bench *b, struct err *err)
{
    const char *output = args_get(a, "output", "json");
    int64_t batch = 128, threads = 1, steps = 20, seed = 1;
    const struct {
        const char *name;
        int64_t max, *ret;
    } rows[] = {{"batch", 4096, &batch},
                {"threads", 256, &threads},
                {"steps", 1000000, &steps},
                {"seed", INT64_MAX, &seed}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text = args_get(a, rows[i].name, NULL);
        if (text != NULL && parse_i64_in(text, 1, rows[i].max, rows[i].ret) < 0) {
            return err_set(err, EINVAL, "--%s '%s': expected a whole number from 1 to %lld",
                           rows[i].name, text, (long long)rows[i].max);
        }
    }
    b->batch = (uint32_t)batch;
    b->threads = (uint32_t)threads;
    b->steps = (size_t)steps;
    b->seed = (uint64_t)seed;
    b->model = args_get(a, "model", "vgg16-fluid-fc512");
    b->prints_trace = str_eq(output, "trace");
    if (!b->prints_trace && !str_eq(output, "json")) {
        return err_set(err, EINVAL, "--output '%s': expected json or trace", output);
    }
    return role_find_model(b->model, &b->def, err);
}

/* ---- output ---- */

static double median(const double *sorted, size_t n)
{
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The parts in the order of enum model_part. */
static const char *const part_keys[MODEL_PARTS] = {"forward", "backward_data", "backward_weight",
                                                   "passes", "other"};

static json_t *layers_json(const struct bench *b)
{
    json_t *layers = json_array();
    for (uint32_t i = 0; i < b->def->n_layers; i++) {
        json_t *parts = json_object();
        for (size_t part = 0; part < MODEL_PARTS; part++) {
            (void)json_object_set_new(parts, part_keys[part],
                                      json_real(b->layers[i].cpu_ms[part])); /* omits NULL */
        }
        json_t *layer = json_pack("{s:s, s:o}", "name", b->layers[i].name, "cpu_ms", parts);
        (void)json_array_append_new(layers, layer); /* the same */
    }
    return layers;
}

static json_t *spread_json(const double *sorted, size_t n)
{
    return json_pack("[f, f]", sorted[0], sorted[n - 1]);
}

static json_t *probe_json(const struct bench *b)
{
    return json_pack("{s:I, s:I, s:f, s:f}", "spins_per_s", (json_int_t)b->noise.spins_per_s,
                     "copy_bytes_per_s", (json_int_t)b->noise.copy_bytes_per_s, "ms", b->probe_ms,
                     "cpu_ms", b->probe_cpu_ms);
}

/* Returns false if it cannot be written. */
static bool print_json(const struct bench *b)
{
    json_auto_t *o = json_pack(
        "{s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:I, s:I, s:f, s:s, s:s, "
        "s:s, s:s, s:f}",
        "model", b->model, "build", "benchworker " BENCHD_VERSION, "batch_size", (int)b->batch,
        "threads", (int)b->threads, "steps", (json_int_t)b->steps, "seed", (json_int_t)b->seed,
        "duration_ns", (json_int_t)b->duration_ns, "cpu_ns", (json_int_t)b->cpu_ns, "samples_per_s",
        median(b->samples_per_s, b->steps), "samples_per_cpu_s",
        median(b->samples_per_cpu_s, b->steps), "samples_per_s_range",
        spread_json(b->samples_per_s, b->steps), "samples_per_cpu_s_range",
        spread_json(b->samples_per_cpu_s, b->steps), "peak_rss_bytes", (json_int_t)b->max_rss_bytes,
        "model_bytes", (json_int_t)model_bytes(b->learner.model), "loss_nats", b->loss_nats,
        "cpu_features", cpu_features(), "kernels", model_isa(b->learner.model), "blas",
        blas_config(), "blas_core", blas_core(), "update_cpu_ms", b->update_cpu_ms);
    return o != NULL && json_object_set_new(o, "source", json_string(build_source())) == 0 &&
           json_object_set_new(o, "layers", layers_json(b)) == 0 &&
           json_object_set_new(o, "probe", probe_json(b)) == 0 &&
           json_dumpf(o, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
}

/* Times of layers, as a definition takes them. */
static void print_trace(const struct bench *b)
{
    const double sum_ms = array_sum(b->layers, b->def->n_layers, l, l->forward_ms + l->backward_ms);
    printf("# %s, batch %u, %u thread%s: %.1f ms a step, without Adam's; mean of %zu steps\n"
           "# benchworker %s, source %s, kernels %s\n"
           "batchSize: %u\n"
           "trace:\n  layers:\n",
           b->model, b->batch, b->threads, b->threads == 1 ? "" : "s", sum_ms, b->steps,
           BENCHD_VERSION, build_source(), model_isa(b->learner.model), b->batch);
    for (uint32_t i = 0; i < b->def->n_layers; i++) {
        const struct layer_cost *l = &b->layers[i];
        if (l->forward_ms + l->backward_ms > 0) {
            printf("  - {name: %s, forwardMicroseconds: %.0f, backwardMicroseconds: %.0f}\n",
                   l->name, l->forward_ms * 1e3, l->backward_ms * 1e3);
        }
    }
}

static int print(const struct bench *b, struct err *err)
{
    bool is_written = true;
    if (b->prints_trace) {
        print_trace(b);
    } else {
        is_written = print_json(b);
    }
    if (is_written && fflush(stdout) == 0) {
        return EXIT_OK;
    }
    (void)err_set(err, EIO, "cannot write the result to stdout");
    return EXIT_WORKER_RESOURCE;
}

static int run(struct bench *b, struct err *err)
{
    int code = EXIT_WORKER_RESOURCE;
    if (prepare(b, err) >= 0) {
        measure(b);
        code = print(b, err);
    }
    bench_done(b);
    return code;
}

int role_bench(int argc, char *const *argv)
{
    static const struct role_command command = {
        .name = "bench",
        .text = "Measure training steps on synthetic data in memory, layer by layer.",
        .options = options,
        .n_options = COUNT_OF(options),
    };
    struct bench b = {.adam = ADAM_DEFAULT};
    struct args args = {0};
    struct err err = {0};
    const int r = role_parse(&command, argc, argv, &args, &err);
    const int code = r > 0                                        ? EXIT_OK
                     : r < 0 || take_options(&args, &b, &err) < 0 ? EXIT_USAGE
                                                                  : run(&b, &err);
    args_done(&args);
    if (err.msg[0] != '\0') {
        (void)fprintf(stderr, "benchworker bench: %s\n", err.msg);
    }
    return code;
}
