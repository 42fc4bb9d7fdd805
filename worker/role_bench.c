/* `benchworker bench`: measures how fast this machine trains and where the time goes. Prints a
 * table, or one JSON document with -o json (docs/worker.md). */
#include <stdio.h>

#include <jansson.h>

#include "base/build_info.h"
#include "base/exit_code.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "config.h"
#include "worker/bench.h"
#include "worker/kernels/blas.h"
#include "worker/role_verb.h"
#include "worker/role_options.h"

static const struct arg_opt options[] = {
    {"model", 0, "NAME", "Network to train (default vgg16-fluid-fc512)"},
    {"batch", 'b', "N", "Samples per step (default 128)"},
    {"threads", 't', "N", "Compute threads (default 1)"},
    {"steps", 0, "N", "Measured steps, after two warm-up steps (default 20)"},
    {"seed", 0, "N", "Seed of parameters, data and dropout (default 1)"},
    {"output", 'o', "FORMAT",
     "text, json, or trace: times for spec.workload.trace of a definition (default text)"},
};

struct command {
    struct bench_params params;
    const char *model; /* borrowed from argv */
    enum { TEXT, JSON, TRACE } output;
};

static int take_options(const struct args *a, struct command *c, struct err *err)
{
    const char *output = args_get(a, "output", "text");
    const struct role_number rows[] = {
        ROLE_NUMBER("batch", 128, 1, 4096, &c->params.batch),
        ROLE_NUMBER("threads", 1, 1, 256, &c->params.threads),
        ROLE_NUMBER("steps", 20, 1, 1000000, &c->params.steps),
        ROLE_NUMBER("seed", 1, 1, INT64_MAX, &c->params.seed),
    };
    c->model = args_get(a, "model", "vgg16-fluid-fc512");
    const int r = role_find_model(c->model, &c->params.def, err);
    if (r < 0) {
        return r;
    }
    if (!str_eq(output, "text") && !str_eq(output, "json") && !str_eq(output, "trace")) {
        return err_set(err, EINVAL, "--output '%s': expected text, json or trace", output);
    }
    c->output = str_eq(output, "json") ? JSON : str_eq(output, "trace") ? TRACE : TEXT;
    return role_take_numbers(a, rows, COUNT_OF(rows), err);
}

/* The parts in the order of enum model_part. */
static const char *const part_keys[MODEL_PARTS] = {"forward", "backward_data", "backward_weight",
                                                   "passes", "other"};

static json_t *layers_json(const struct bench_result *r)
{
    json_t *layers = json_array();
    for (uint32_t i = 0; i < r->n_layers; i++) {
        json_t *parts = json_object();
        for (size_t part = 0; part < MODEL_PARTS; part++) {
            (void)json_object_set_new(parts, part_keys[part],
                                      json_real(r->layers[i].cpu_ms[part])); /* NULL: left out */
        }
        json_t *layer = json_pack("{s:s, s:o}", "name", r->layers[i].name, "cpu_ms", parts);
        (void)json_array_append_new(layers, layer); /* the same */
    }
    return layers;
}

static json_t *spread_json(const double *sorted, size_t n)
{
    return json_pack("[f, f]", sorted[0], sorted[n - 1]);
}

static json_t *probe_json(const struct bench_result *r)
{
    return json_pack("{s:I, s:I, s:f, s:f}", "spins_per_s", (json_int_t)r->noise.spins_per_s,
                     "copy_bytes_per_s", (json_int_t)r->noise.copy_bytes_per_s, "ms", r->probe_ms,
                     "cpu_ms", r->probe_cpu_ms);
}

static int print_json(const struct command *c, const struct bench_result *r)
{
    const struct bench_params *p = &c->params;
    json_auto_t *o = json_pack(
        "{s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:I, s:I, s:f, s:s, s:s, "
        "s:s, s:s, s:f}",
        "model", c->model, "build", "benchworker " BENCHD_VERSION, "batch_size", (int)p->batch,
        "threads", (int)p->threads, "steps", (json_int_t)p->steps, "seed", (json_int_t)p->seed,
        "duration_ns", (json_int_t)r->duration_ns, "cpu_ns", (json_int_t)r->cpu_ns, "samples_per_s",
        bench_median(r->samples_per_s, r->steps), "samples_per_cpu_s",
        bench_median(r->samples_per_cpu_s, r->steps), "samples_per_s_range",
        spread_json(r->samples_per_s, r->steps), "samples_per_cpu_s_range",
        spread_json(r->samples_per_cpu_s, r->steps), "peak_rss_bytes", (json_int_t)r->max_rss_bytes,
        "model_bytes", (json_int_t)r->model_bytes, "loss_nats", r->loss_nats, "cpu_features",
        cpu_features(), "kernels", r->isa, "blas", blas_config(), "blas_core", blas_core(),
        "update_cpu_ms", r->update_cpu_ms);
    int code = EXIT_WORKER_RESOURCE;
    if (o != NULL && json_object_set_new(o, "source", json_string(build_source())) == 0 &&
        json_object_set_new(o, "layers", layers_json(r)) == 0 &&
        json_object_set_new(o, "probe", probe_json(r)) == 0 &&
        json_dumpf(o, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF && fflush(stdout) == 0) {
        code = EXIT_OK;
    }
    return code;
}

static void print_row(const char *name, const double ms[MODEL_PARTS])
{
    double sum = 0;
    printf("%-10s", name);
    for (size_t part = 0; part < MODEL_PARTS; part++) {
        sum += ms[part];
        printf(" %9.2f", ms[part]);
    }
    printf(" %9.2f\n", sum);
}

static int print_text(const struct command *c, const struct bench_result *r)
{
    const struct bench_params *p = &c->params;
    double sums[MODEL_PARTS] = {0};
    printf("%s, batch %u, %u thread%s, %zu steps: %.1f samples/s, %.1f samples per CPU-second "
           "(%.1f to %.1f)\n",
           c->model, p->batch, p->threads, p->threads == 1 ? "" : "s", r->steps,
           bench_median(r->samples_per_s, r->steps), bench_median(r->samples_per_cpu_s, r->steps),
           r->samples_per_cpu_s[0], r->samples_per_cpu_s[r->steps - 1]);
    printf("kernels %s, OpenBLAS core %s, peak %.0f MB\n\n", r->isa, blas_core(),
           (double)r->max_rss_bytes / 1e6);
    printf("%-10s %9s %9s %9s %9s %9s %9s\n", "CPU ms", "forward", "bwd data", "bwd wght", "passes",
           "other", "sum");
    for (uint32_t i = 0; i < r->n_layers; i++) {
        print_row(r->layers[i].name, r->layers[i].cpu_ms);
        for (size_t part = 0; part < MODEL_PARTS; part++) {
            sums[part] += r->layers[i].cpu_ms[part];
        }
    }
    print_row("all", sums);
    printf("%-10s %59.2f\n", "Adam", r->update_cpu_ms);
    printf("\nprobe of the machine: %.0f million spins/s, copies %.1f GB/s; took %.0f ms (CPU %.0f "
           "ms)\n",
           (double)r->noise.spins_per_s / 1e6, (double)r->noise.copy_bytes_per_s / 1e9, r->probe_ms,
           r->probe_cpu_ms);
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_WORKER_RESOURCE;
}

/* Times of layers, as a definition takes them. */
static int print_trace(const struct command *c, const struct bench_result *r)
{
    const struct bench_params *p = &c->params;
    const double sum_ms = array_sum(r->layers, r->n_layers, l, l->forward_ms + l->backward_ms);
    printf("# %s, batch %u, %u thread%s: %.1f ms a step, without Adam's; mean of %zu steps\n"
           "# benchworker %s, source %s, kernels %s\n"
           "batchSize: %u\n"
           "trace:\n  layers:\n",
           c->model, p->batch, p->threads, p->threads == 1 ? "" : "s", sum_ms, r->steps,
           BENCHD_VERSION, build_source(), r->isa, p->batch);
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct bench_layer *l = &r->layers[i];
        if (l->forward_ms + l->backward_ms > 0) {
            printf("  - {name: %s, forwardMicroseconds: %.0f, backwardMicroseconds: %.0f}\n",
                   l->name, l->forward_ms * 1e3, l->backward_ms * 1e3);
        }
    }
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_WORKER_RESOURCE;
}

static int run(const struct args *a, struct err *err)
{
    struct command c = {0};
    struct bench_result result;
    if (take_options(a, &c, err) < 0) {
        return EXIT_USAGE;
    }
    if (bench_run(&c.params, &result, err) < 0) {
        return EXIT_WORKER_RESOURCE;
    }
    const int code = c.output == JSON    ? print_json(&c, &result)
                     : c.output == TRACE ? print_trace(&c, &result)
                                         : print_text(&c, &result);
    bench_done(&result);
    if (code != EXIT_OK) {
        (void)err_set(err, EIO, "cannot write the result to stdout");
    }
    return code;
}

int role_bench(int argc, char *const *argv)
{
    static const struct role_command command = {
        .name = "bench",
        .usage = "[OPTION...]",
        .text = "Measure training steps on synthetic data in memory, layer by layer.",
        .options = options,
        .n_options = COUNT_OF(options),
        .run = run,
    };
    return role_command_run(&command, argc, argv);
}
