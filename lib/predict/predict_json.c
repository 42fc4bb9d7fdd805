/* docs/contracts/prediction.md. */

#include "predict/predict.h"
#include "core/json_field.h"
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
    json_t *o = JSON_OBJECT_OF(
        {"index", json_integer(point->index)},
        {"system", json_string(p->def->spec->systems.items[point->system].name)},
        {"baseline", json_boolean(point->is_baseline)},
        {"baselineIndex",
         point->baseline_excluded ? json_null() : json_integer(point->baseline_index)},
        {"trainers", json_integer(point->replicas[ROLE_TRAINER])},
        {"pservers", json_integer(point->replicas[ROLE_PSERVER])},
        {"workers", json_integer(point->replicas[ROLE_WORKER])},
        {"batchSize", json_integer(point->batch_size)});
    if (point->link.bits_per_s > 0) {
        char text[LINK_TEXT_MAX];
        link_text(&point->link, text);
        json_object_set_new(o, "link", json_string(text));
    }
    JSON_ADD(o, {"throughput", figure(&it->throughput, "samples/s")},
             {"speedup", figure(&it->speedup, "ratio")},
             {"efficiency", figure(&it->efficiency, "ratio")}, {"seconds", phases(&it->mean)},
             {"shares", shares(&it->mean, point->exchange == EXCHANGE_ALL_REDUCE)},
             {"limit", json_string(predict_limit_names[it->limit])},
             {"timesScaledToBatch", json_boolean(it->is_scaled)});
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
    json_t *o = JSON_OBJECT_OF({"stepSeconds", json_real((double)trace_step_ns(in->trace) / 1e9)},
                               {"batchSize", json_integer(in->batch_size)},
                               {"passes", passes_json(in->passes)});
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
    JSON_ADD(o, {"seeds", json_integer(p->n_seeds)},
             {"warmupSteps", json_integer(p->def->spec->warmup_steps)},
             {"steps", json_integer(p->def->spec->steps)});
    return o;
}

json_t *prediction_to_json(const struct prediction *p)
{
    json_t *o = json_object(), *points = json_array(), *servers = json_array();
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        json_array_append_new(points, point_json(p, &p->points[i]));
    }
    vec_each (const struct predicted_servers, s, &p->servers) {
        json_array_append_new(
            servers, JSON_OBJECT_OF({"fastestPoint", json_integer(s->best->point->index)},
                                    {"fewestServersPoint", json_integer(s->fewest->point->index)}));
    }
    JSON_ADD(o, {"apiVersion", json_string("benchd.io/v1alpha1")},
             {"kind", json_string("BenchmarkPrediction")},
             {"benchmark", json_string(p->def->spec->name)}, {"predicted", json_true()},
             {"inputs", inputs_json(p)}, {"points", points}, {"servers", servers},
             {"nearRatio", json_real(PREDICT_NEAR)});
    return o;
}
