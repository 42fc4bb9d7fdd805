/* From a definition to predicted points, see predict.h. */
#include "predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "exchange/flow.h"
#include "exchange/slices.h"
#include "network/layer_def.h"
#include "spec/profile.h"

#define HIDDEN 0.1   /* as in result/phases.c */
#define USED_UP 0.95 /* of shared cores */

const char *const predict_limit_names[] = {
    [PREDICT_COMPUTE] = "Compute",          [PREDICT_STRAGGLER] = "Straggler",
    [PREDICT_SERVER_CPU] = "ServerCpu",     [PREDICT_SERVER_LINK] = "ServerLink",
    [PREDICT_TRAINER_LINK] = "TrainerLink", [PREDICT_CORES] = "Cores",
    [PREDICT_WORKER_CPU] = "WorkerCpu",     [PREDICT_WORKER_LINK] = "WorkerLink",
    [PREDICT_LATENCY] = "Latency",
};

/* ---- what cannot be simulated ---- */

static int check_point(const struct run_def *def, const struct predict_params *params,
                       const struct point *p, struct err *err)
{
    const struct system *system = &def->spec->systems.items[p->system];
    if (!str_eq(system->profile, PROFILE_NATIVE)) {
        return err_set(err, EINVAL,
                       "system '%s' has profile '%s': only systems with profile '%s' are "
                       "simulated%s",
                       system->name, system->profile, PROFILE_NATIVE,
                       spec_has_profile(def->spec, PROFILE_NATIVE)
                           ? "; choose them with --systems"
                           : "; take a definition that trains with it, such as "
                             "vgg16-allreduce-sweep");
    }
    if (p->exchange == EXCHANGE_OTHER) {
        return err_set(err, EINVAL,
                       "point %" PRIu32
                       " exchanges by %s: only PServer and AllReduce are simulated",
                       p->index, point_exchange_name(def->spec, p));
    }
    const enum exchange_transport transport = point_transport(def->spec, p);
    if (p->exchange == EXCHANGE_ALL_REDUCE && transport != EXCHANGE_TRANSPORT_AUTO &&
        transport != EXCHANGE_TRANSPORT_TCP) {
        return err_set(err, EINVAL,
                       "point %" PRIu32 " has transport %s: a ring is simulated over Tcp alone",
                       p->index, exchange_transport_names[transport]);
    }
    const struct exchange_mode mode = point_mode(def->spec, p);
    if (!exchange_mode_eq(&mode, &EXCHANGE_MODE_SYNC)) {
        char text[EXCHANGE_MODE_TEXT_MAX];
        exchange_mode_text(&mode, text);
        return err_set(err, EINVAL,
                       "point %" PRIu32
                       " exchanges by '%s': only Sync after each step is simulated",
                       p->index, text);
    }
    if (point_wire(def->spec, p) != EXCHANGE_WIRE_FP32) {
        return err_set(err, EINVAL, "point %" PRIu32 " has wire %s: only Fp32 is simulated",
                       p->index, exchange_wire_names[point_wire(def->spec, p)]);
    }
    if (p->server_threads > 0) {
        return err_set(err, EINVAL,
                       "point %" PRIu32 " has %" PRIu32 " serverThreads: only 1 is simulated",
                       p->index, p->server_threads);
    }
    if (p->threads != params->threads) {
        return err_set(err, EINVAL,
                       "point %" PRIu32 " has %" PRId64 " threads, but the times of the layers are "
                       "those of %" PRId64 "; record a trace for each",
                       p->index, p->threads, params->threads);
    }
    return 0;
}

/* ---- layers ---- */

static int check_names(const struct model_def *model, const struct trace *trace, struct err *err)
{
    vec_each (const struct trace_layer, l, &trace->layers) {
        bool is_known = false;
        for (uint32_t i = 0; i < model->n_layers; i++) {
            char name[16];
            model_def_layer_name(model, i, name);
            is_known |= str_eq(name, l->name);
        }
        if (!is_known) {
            return err_set(err, EINVAL,
                           "trace: %s has no layer '%s'; benchworker bench prints their names",
                           model->name, l->name);
        }
    }
    return 0;
}

/* As worker/layer_times.c reads them. *ret: (model->n_layers) owned. */
static int read_layers(const struct model_def *model, const struct trace *trace,
                       struct gang_layer **ret, struct err *err)
{
    _cleanup_(freep) struct gang_layer *layers = xnew_array(struct gang_layer, model->n_layers);
    struct layer_shape shape = {0};
    size_t offset = 0;
    if (check_names(model, trace, err) < 0) {
        return -EINVAL;
    }
    for (uint32_t i = 0; i < model->n_layers; i++) {
        char name[16];
        model_def_layer_name(model, i, name);
        shape = layer_shape_next(model, i, i == 0 ? NULL : &shape);
        const struct layer_params sizes = layer_params(&model->layers[i], &shape);
        const struct trace_layer *times = vec_find(&trace->layers, l, str_eq(l->name, name));
        layers[i] = (struct gang_layer){.offset = offset, .n = layer_params_total(&sizes)};
        offset += layers[i].n;
        if (times != NULL) {
            layers[i].forward_s = (double)times->forward_ns / 1e9;
            layers[i].backward_s = (double)times->backward_ns / 1e9;
        } else if (layers[i].n > 0) {
            return err_set(err, EINVAL, "trace: layer '%s' has parameters and no times", name);
        }
    }
    *ret = take_ptr(layers);
    return 0;
}

/* ---- the batch of a point ---- */

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* The times at a batch that was measured, else in proportion to it. False: the latter. */
static bool scale_layers(const struct predict_params *params, int64_t batch_size,
                         struct gang_layer *layers, uint32_t n)
{
    const struct pass *measured =
        params->passes == NULL ? NULL : vec_find(params->passes, it, it->batch_size == batch_size);
    double forward = (double)batch_size / (double)params->batch_size, backward = forward;
    if (measured != NULL) {
        double forward_s = 0, backward_s = 0;
        for (uint32_t i = 0; i < n; i++) {
            forward_s += layers[i].forward_s;
            backward_s += layers[i].backward_s;
        }
        forward = over(measured->forward_s, forward_s);
        backward = over(measured->backward_s, backward_s);
    }
    for (uint32_t i = 0; i < n; i++) {
        layers[i].forward_s *= forward;
        layers[i].backward_s *= backward;
    }
    return measured != NULL || batch_size == params->batch_size;
}

/* ---- one point ---- */

static void add(struct gang_result *sum, const struct gang_result *r, double n)
{
    sum->steps_per_s += r->steps_per_s / n;
    sum->step_s += r->step_s / n;
    sum->forward_s += r->forward_s / n;
    sum->backward_s += r->backward_s / n;
    sum->update_s += r->update_s / n;
    sum->exposed_s += r->exposed_s / n;
    sum->late_s += r->late_s / n;
    sum->server_share += r->server_share / n;
    sum->server_link_share += r->server_link_share / n;
    sum->trainer_link_share += r->trainer_link_share / n;
    sum->worker_share += r->worker_share / n;
    sum->cores_share += r->cores_share / n;
    sum->n_transfers += r->n_transfers;
    sum->n_steps = r->n_steps; /* the same of each seed */
}

/* `r` is the mean over the seeds, `first` is of p. */
static enum predict_limit find_limit(const struct gang_params *p, const struct gang_result *r,
                                     const struct gang_result *first)
{
    if (r->cores_share >= USED_UP) {
        return PREDICT_CORES;
    }
    if (r->exposed_s < HIDDEN * r->step_s) {
        return PREDICT_COMPUTE;
    }
    if (r->late_s >= r->exposed_s / 2) {
        return PREDICT_STRAGGLER;
    }
    if (gang_waits_for_latency(p, first)) {
        return PREDICT_LATENCY;
    }
    if (p->is_ring) {
        return r->worker_share > r->trainer_link_share ? PREDICT_WORKER_CPU : PREDICT_WORKER_LINK;
    }
    const double link = fmax(r->server_link_share, r->trainer_link_share);
    if (r->server_share > link) {
        return PREDICT_SERVER_CPU;
    }
    return r->server_link_share >= r->trainer_link_share ? PREDICT_SERVER_LINK
                                                         : PREDICT_TRAINER_LINK;
}

/* The links of a point that the definition shapes are those that it will have. */
static void take_link(const struct point *point, struct gang_params *g)
{
    if (point->link.bits_per_s > 0) {
        g->trainer_bytes_per_s = g->server_bytes_per_s =
            (double)point->link.bits_per_s / 8 * PREDICT_SHAPED_PAYLOAD;
        g->first_bytes_per_s = 0;
        g->latency_s = (double)point->link.delay_ns / 1e9;
    }
}

/* The simulation of a point's first seed; `layers` is (model->n_layers), scaled
 * to the point's batch. */
static struct gang_params params_of(const struct prediction *p, const struct point *point,
                                    const struct gang_layer *layers, const struct model_def *model)
{
    const struct spec *spec = p->def->spec;
    struct gang_params g = {
        .layers = layers,
        .n_layers = model->n_layers,
        .n_params = model_def_n_params(model),
        .n_trainers = point_training_replicas(point),
        .n_servers = point->exchange == EXCHANGE_PSERVER ? point->replicas[ROLE_PSERVER] : 0,
        .is_ring = point->exchange == EXCHANGE_ALL_REDUCE,
        .n_warmup_steps = (uint32_t)spec->warmup_steps,
        .n_steps = (uint32_t)spec->steps,
        .jitter_ratio = p->params.trace->jitter_ratio,
        .seed = spec->workload.seed,
        .costs = p->params.costs,
        .trainer_bytes_per_s = p->params.trainer_bytes_per_s,
        .server_bytes_per_s = p->params.server_bytes_per_s,
        .first_bytes_per_s = p->params.first_bytes_per_s,
        .latency_s = p->params.latency_s,
        .n_cores = p->params.n_cores,
        .compute_sleeps = spec->workload.compute == COMPUTE_EMULATED,
    };
    take_link(point, &g);
    if (g.compute_sleeps) {
        g.costs.local_update = 0; /* it has no parameters of its own */
    }
    return g;
}

struct simulation {
    struct gang_params params;
    struct gang_result result;
};

static void simulate(void *ctx, uint32_t i)
{
    struct simulation *it = &((struct simulation *)ctx)[i];
    it->result = gang_run(&it->params);
}

static bool has_losses(const struct gang_params *g, const struct link *link)
{
    if (link->bits_per_s == 0 || g->n_servers == 0) {
        return false;
    }
    const struct slices s = slices_of_gang(g->n_params, g->n_servers, g->n_trainers);
    const double of_all = (double)(slices_longest(&s) * sizeof(float)) * g->n_trainers;
    return fmin(of_all, (double)FLOW_BYTES) > link_queue_bytes(link);
}

/* The simulations of a point's seeds; `layers` holds the trace's times. */
static int prepare(const struct prediction *p, struct predicted_point *ret,
                   const struct model_def *model, struct gang_layer *layers,
                   struct simulation *items, struct err *err)
{
    ret->is_scaled = !scale_layers(&p->params, ret->point->batch_size, layers, model->n_layers);
    for (uint32_t i = 0; i < p->n_seeds; i++) {
        items[i].params = params_of(p, ret->point, layers, model);
        items[i].params.seed += i;
    }
    ret->has_losses = has_losses(&items[0].params, &ret->point->link);
    const int r = gang_check(&items[0].params, err);
    return r < 0 ? err_wrap(err, r, "point %" PRIu32, ret->point->index) : 0;
}

static void conclude(struct predicted_point *ret, const struct simulation *items, uint32_t n)
{
    _cleanup_(freep) double *throughputs = xnew_array(double, n);
    for (uint32_t i = 0; i < n; i++) {
        throughputs[i] = items[i].result.steps_per_s * (double)ret->point->batch_size;
        add(&ret->mean, &items[i].result, n);
    }
    ret->throughput = stats_median(throughputs, n);
    ret->limit = find_limit(&items[0].params, &ret->mean, &items[0].result);
}

/* ---- all of them ---- */

static void compare_with_baselines(struct prediction *p)
{
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        struct predicted_point *it = &p->points[i];
        const struct predicted_point *base = &p->points[it->point->baseline_index];
        if (it->point->baseline_excluded) {
            continue;
        }
        it->speedup = stats_ratio(&it->throughput, &base->throughput, 1);
        it->efficiency = stats_ratio(&it->throughput, &base->throughput,
                                     (double)point_training_replicas(base->point) /
                                         (double)point_training_replicas(it->point));
    }
}

/* Do they differ in nothing but the number of servers? */
static bool differ_in_servers(const struct point *a, const struct point *b)
{
    return a->system == b->system && a->batch_size == b->batch_size && a->exchange == b->exchange &&
           link_eq(&a->link, &b->link) && a->replicas[ROLE_TRAINER] == b->replicas[ROLE_TRAINER] &&
           a->replicas[ROLE_PSERVER] != b->replicas[ROLE_PSERVER];
}

static void choose_servers(struct prediction *p)
{
    const uint32_t n = p->def->matrix.n_swept;
    for (uint32_t i = 0; i < n; i++) {
        struct predicted_servers s = {&p->points[i], NULL, 1};
        bool is_first = true;
        for (uint32_t k = 0; k < n; k++) {
            const bool is_one = differ_in_servers(p->points[i].point, p->points[k].point);
            is_first &= !(is_one && k < i);
            s.n += is_one;
            if (is_one && p->points[k].throughput.value > s.best->throughput.value) {
                s.best = &p->points[k];
            }
        }
        for (uint32_t k = 0; k < n; k++) {
            const struct predicted_point *it = &p->points[k];
            if ((k == i || differ_in_servers(p->points[i].point, it->point)) &&
                it->throughput.value >= (1 - PREDICT_NEAR) * s.best->throughput.value &&
                (s.fewest == NULL ||
                 it->point->replicas[ROLE_PSERVER] < s.fewest->point->replicas[ROLE_PSERVER])) {
                s.fewest = it;
            }
        }
        if (is_first && s.n > 1 && p->points[i].point->exchange == EXCHANGE_PSERVER) {
            *vec_push(&p->servers) = s;
        }
    }
}

static int simulate_all(struct prediction *p, const struct gang_layer *times,
                        const struct model_def *model, struct err *err)
{
    const size_t n = p->def->matrix.n_points, n_layers = model->n_layers, n_seeds = p->n_seeds;
    _cleanup_(freep) struct gang_layer *layers = xnew_array(struct gang_layer, n * n_layers);
    _cleanup_(freep) struct simulation *items = xnew_array(struct simulation, n * n_seeds);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        memcpy(&layers[i * n_layers], times, n_layers * sizeof(*layers));
        r = prepare(p, &p->points[i], model, &layers[i * n_layers], &items[i * n_seeds], err);
    }
    if (r >= 0) {
        p->params.each(simulate, items, (uint32_t)(n * n_seeds));
    }
    for (size_t i = 0; r >= 0 && i < n; i++) {
        conclude(&p->points[i], &items[i * n_seeds], p->n_seeds);
    }
    return r;
}

static int fill(struct prediction *p, struct err *err)
{
    const struct run_def *def = p->def;
    const struct model_def *model = model_def_find(def->spec->workload.model);
    _cleanup_(freep) struct gang_layer *layers = NULL;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < def->matrix.n_points; i++) {
        p->points[i].point = &def->matrix.points[i];
        r = check_point(def, &p->params, p->points[i].point, err);
    }
    if (r >= 0 && model == NULL) {
        r = err_set(err, EINVAL, "model '%s' has no table of layers; known models: %s",
                    def->spec->workload.model, model_def_names());
    }
    r = r < 0 ? r : read_layers(model, p->params.trace, &layers, err);
    return r < 0 ? r : simulate_all(p, layers, model, err);
}

int prediction_new(const struct run_def *def, const struct predict_params *params,
                   struct prediction **ret, struct err *err)
{
    struct prediction *p = xnew(struct prediction);
    p->def = def;
    p->params = *params;
    p->n_seeds = params->trace->jitter_ratio == 0 ? 1 : (uint32_t)def->spec->repeats;
    p->points = xnew_array(struct predicted_point, def->matrix.n_points);
    const int r = fill(p, err);
    if (r < 0) {
        prediction_free(p);
        return r;
    }
    compare_with_baselines(p);
    choose_servers(p);
    *ret = p;
    return 0;
}

void prediction_free(struct prediction *p)
{
    if (p != NULL) {
        free(p->points);
        vec_done(&p->servers);
        free(p);
    }
}
