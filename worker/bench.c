#include "worker/bench.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "host/host.h"
#include "host/probe.h"
#include "worker/data/dataset.h"
#include "worker/learner.h"
#include "worker/model/adam.h"

struct bench {
    const struct bench_params *params;
    struct bench_result result;
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
    return b->params->threads == 1 ? clock_process_cpu_ns() : clock_monotonic_ns();
}

static void after_part(void *ctx, uint32_t layer, enum model_part part)
{
    struct bench *b = ctx;
    struct bench_layer *l = &b->result.layers[layer];
    const int64_t now_ns = pass_clock_ns(b);
    *(b->is_backward ? &l->backward_ms : &l->forward_ms) +=
        (double)(now_ns - b->marked_pass_ns) / 1e6;
    b->marked_pass_ns = now_ns;
    l->cpu_ms[part] += lap_ms(b);
}

/* Loads the next batch outside of the measured time: a step finds its batch in memory. */
static void load(struct bench *b, uint64_t number)
{
    const uint32_t n = b->params->batch;
    struct data_batch batch = {.first = number * n, .stride = 1, .n = n};
    dataset_read(b->data, &batch, b->learner.x, b->learner.labels);
}

static void step(struct bench *b, uint64_t number)
{
    const struct bench_params *p = b->params;
    struct learner *l = &b->learner;
    b->marked_ns = clock_process_cpu_ns();
    b->marked_pass_ns = pass_clock_ns(b);
    b->is_backward = false;
    b->result.loss_nats =
        model_forward(l->model, l->x, l->labels, p->batch, (struct model_key){.step = number});
    b->is_backward = true;
    model_backward(l->model);
    (void)lap_ms(b); /* discards the time since the last part */
    adam_apply(&b->adam, number + 1, 0, model_n_params(l->model), model_param_data(l->model),
               model_grad_data(l->model), 1.0f);
    b->result.update_cpu_ms += lap_ms(b);
}

double bench_median(const double *sorted, size_t n)
{
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void timed_step(struct bench *b, size_t i)
{
    struct bench_result *r = &b->result;
    const double samples = b->params->batch;
    load(b, BENCH_WARMUP_STEPS + i);
    const int64_t wall_begin_ns = clock_monotonic_ns(), cpu_begin_ns = clock_process_cpu_ns();
    step(b, BENCH_WARMUP_STEPS + i);
    const int64_t wall_ns = clock_monotonic_ns() - wall_begin_ns;
    const int64_t cpu_ns = clock_process_cpu_ns() - cpu_begin_ns;
    r->samples_per_s[i] = samples * 1e9 / (double)wall_ns;
    r->samples_per_cpu_s[i] = samples * 1e9 / (double)cpu_ns;
    r->duration_ns += wall_ns;
    r->cpu_ns += cpu_ns;
}

static void measure(struct bench *b)
{
    struct bench_result *r = &b->result;
    struct model_probe probe = {after_part, b};
    for (size_t i = 0; i < BENCH_WARMUP_STEPS; i++) {
        load(b, i);
        step(b, i);
    }
    r->update_cpu_ms = 0;
    model_set_probe(b->learner.model, &probe);
    for (size_t i = 0; i < r->steps; i++) {
        timed_step(b, i);
    }
    model_set_probe(b->learner.model, NULL);
    qsort(r->samples_per_s, r->steps, sizeof(double), by_double);
    qsort(r->samples_per_cpu_s, r->steps, sizeof(double), by_double);
    r->update_cpu_ms /= (double)r->steps;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        for (size_t part = 0; part < MODEL_PARTS; part++) {
            r->layers[i].cpu_ms[part] /= (double)r->steps;
        }
        r->layers[i].forward_ms /= (double)r->steps;
        r->layers[i].backward_ms /= (double)r->steps;
    }
}

static int prepare(struct bench *b, struct err *err)
{
    const struct bench_params *p = b->params;
    struct model_params model = {
        .def = p->def, .batch = p->batch, .threads = p->threads, .seed = p->seed, .dropout = true};
    int r = learner_init(&b->learner, &model, err);
    if (r < 0) {
        return r;
    }
    b->adam = ADAM_DEFAULT;
    adam_init(&b->adam, model_n_params(b->learner.model));
    b->adam.threads = model_threads(b->learner.model);
    b->result = (struct bench_result){
        .samples_per_s = xnew_array(double, p->steps),
        .samples_per_cpu_s = xnew_array(double, p->steps),
        .steps = p->steps,
        .layers = xnew_array(struct bench_layer, model_def_n_layers(p->def)),
        .n_layers = model_def_n_layers(p->def),
        .model_bytes = model_bytes(b->learner.model),
        .isa = model_isa(b->learner.model),
    };
    for (uint32_t i = 0; i < b->result.n_layers; i++) {
        model_def_layer_name(p->def, i, b->result.layers[i].name);
    }
    return dataset_open("synthetic", DATA_TRAIN, 0, p->seed, &b->data, err);
}

static void probe_machine(struct bench_result *r)
{
    const struct probe_limits limits = probe_limits_of("");
    const int64_t begin_ns = clock_monotonic_ns(), begin_cpu_ns = clock_process_cpu_ns();
    probe_run(&limits, &r->noise);
    r->probe_ms = (double)(clock_monotonic_ns() - begin_ns) / 1e6;
    r->probe_cpu_ms = (double)(clock_process_cpu_ns() - begin_cpu_ns) / 1e6;
}

int bench_run(const struct bench_params *params, struct bench_result *ret, struct err *err)
{
    struct bench b = {.params = params};
    int r = prepare(&b, err);
    if (r == 0) {
        measure(&b);
        b.result.max_rss_bytes = host_max_rss_bytes();
        probe_machine(&b.result);
        *ret = b.result;
    } else {
        bench_done(&b.result);
    }
    dataset_free(b.data);
    learner_done(&b.learner);
    adam_done(&b.adam);
    return r;
}

void bench_done(struct bench_result *r)
{
    free(r->samples_per_s);
    free(r->samples_per_cpu_s);
    free(r->layers);
    *r = (struct bench_result){0};
}
