/* docs/contracts/prediction.md. */
#include <math.h>

#include "predict/predict.h"
#include "result/figure_json.h"

/* Every figure says that it was not measured. */
static json_t *figure(const struct estimate *e, const char *unit)
{
    const struct figure f = {.estimate = *e, .unit = unit, .scope = "job"};
    json_t *o = figure_to_json(&f);
    json_object_set_new(o, "predicted", json_true());
    return o;
}

static void put(json_t *o, const char *key, double value)
{
    json_object_set_new(o, key, json_number_or_null(value));
}

static json_t *phases(const struct gang_result *r)
{
    json_t *o = json_object();
    put(o, "step", r->step_s);
    put(o, "forward", r->forward_s);
    put(o, "backward", r->backward_s);
    put(o, "update", r->update_s);
    put(o, "exposed", r->exposed_s);
    put(o, "late", r->late_s);
    return o;
}

static json_t *shares(const struct gang_result *r, bool is_ring)
{
    json_t *o = json_object();
    put(o, "serverCpu", r->server_share);
    put(o, "serverLink", r->server_link_share);
    put(o, "trainerLink", is_ring ? 0 : r->trainer_link_share);
    put(o, "workerCpu", r->worker_share);
    put(o, "workerLink", is_ring ? r->trainer_link_share : 0);
    put(o, "cores", r->cores_share);
    return o;
}

static json_t *point_json(const struct prediction *p, const struct predicted_point *it)
{
    const struct point *point = it->point;
    json_t *o = json_object();
    json_object_set_new(o, "index", json_integer(point->index));
    json_object_set_new(o, "system", json_string(p->def->spec->systems.items[point->system].name));
    json_object_set_new(o, "baseline", json_boolean(point->is_baseline));
    json_object_set_new(o, "baselineIndex", json_integer(point->baseline_index));
    json_object_set_new(o, "trainers", json_integer(point->replicas[ROLE_TRAINER]));
    json_object_set_new(o, "pservers", json_integer(point->replicas[ROLE_PSERVER]));
    json_object_set_new(o, "workers", json_integer(point->replicas[ROLE_WORKER]));
    json_object_set_new(o, "batchSize", json_integer(point->batch_size));
    if (point->link.bits_per_s > 0) {
        char text[LINK_TEXT_MAX];
        link_text(&point->link, text);
        json_object_set_new(o, "link", json_string(text));
    }
    json_object_set_new(o, "throughput", figure(&it->throughput, "samples/s"));
    json_object_set_new(o, "speedup", figure(&it->speedup, "ratio"));
    json_object_set_new(o, "efficiency", figure(&it->efficiency, "ratio"));
    json_object_set_new(o, "seconds", phases(&it->mean));
    json_object_set_new(o, "shares", shares(&it->mean, point->exchange == EXCHANGE_ALL_REDUCE));
    json_object_set_new(o, "limit", json_string(predict_limit_to_string(it->limit)));
    json_object_set_new(o, "timesScaledToBatch", json_boolean(it->is_scaled));
    return o;
}

static json_t *passes_json(const struct passes *passes)
{
    json_t *a = json_array();
    for (size_t i = 0; passes != NULL && i < passes->len; i++) {
        json_t *o = json_object();
        json_object_set_new(o, "batchSize", json_integer(passes->items[i].batch_size));
        put(o, "forwardSeconds", passes->items[i].forward_s);
        put(o, "backwardSeconds", passes->items[i].backward_s);
        json_array_append_new(a, o);
    }
    return a;
}

static json_t *inputs_json(const struct prediction *p)
{
    const struct predict_params *in = &p->params;
    const struct gang_costs *c = &in->costs;
    json_t *o = json_object();
    json_object_set_new(o, "stepSeconds", json_real((double)trace_step_ns(in->trace) / 1e9));
    json_object_set_new(o, "batchSize", json_integer(in->batch_size));
    json_object_set_new(o, "passes", passes_json(in->passes));
    put(o, "jitter", in->trace->jitter_ratio);
    put(o, "trainerLinkBytesPerSecond", in->trainer_bytes_per_s);
    put(o, "serverLinkBytesPerSecond", in->server_bytes_per_s);
    put(o, "firstLinkBytesPerSecond",
        in->first_bytes_per_s > 0 ? in->first_bytes_per_s : in->trainer_bytes_per_s);
    put(o, "latencySeconds", in->latency_s);
    put(o, "cores", in->n_cores);
    put(o, "receiveNanosecondsPerByte", c->receive * 1e9);
    put(o, "sendNanosecondsPerByte", c->send * 1e9);
    put(o, "updateNanosecondsPerByte", c->update * 1e9);
    put(o, "trainerNanosecondsPerByte", c->trainer * 1e9);
    put(o, "workerNanosecondsPerByte", c->worker * 1e9);
    put(o, "workerUpdateNanosecondsPerByte", c->worker_update * 1e9);
    put(o, "localUpdateNanosecondsPerByte", c->local_update * 1e9);
    json_object_set_new(o, "seeds", json_integer(p->n_seeds));
    json_object_set_new(o, "warmupSteps", json_integer(p->def->spec->warmup_steps));
    json_object_set_new(o, "steps", json_integer(p->def->spec->steps));
    return o;
}

json_t *prediction_to_json(const struct prediction *p)
{
    json_t *o = json_object(), *points = json_array(), *servers = json_array();
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        json_array_append_new(points, point_json(p, &p->points[i]));
    }
    vec_each (const struct predicted_servers, s, &p->servers) {
        json_t *it = json_object();
        json_object_set_new(it, "fastestPoint", json_integer(s->best->point->index));
        json_object_set_new(it, "fewestServersPoint", json_integer(s->fewest->point->index));
        json_array_append_new(servers, it);
    }
    json_object_set_new(o, "apiVersion", json_string("benchd.io/v1alpha1"));
    json_object_set_new(o, "kind", json_string("BenchmarkPrediction"));
    json_object_set_new(o, "benchmark", json_string(p->def->spec->name));
    json_object_set_new(o, "predicted", json_true());
    json_object_set_new(o, "inputs", inputs_json(p));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "servers", servers);
    json_object_set_new(o, "nearRatio", json_real(PREDICT_NEAR));
    return o;
}
