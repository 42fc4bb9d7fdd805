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

static json_t *phases(const struct gang_result *r)
{
    return JSON_OBJECT_OF(
        {"step", json_number_or_null(r->step_s)}, {"forward", json_number_or_null(r->forward_s)},
        {"backward", json_number_or_null(r->backward_s)},
        {"update", json_number_or_null(r->update_s)},
        {"exposed", json_number_or_null(r->exposed_s)}, {"late", json_number_or_null(r->late_s)});
}

static json_t *shares(const struct gang_result *r, bool is_ring)
{
    return JSON_OBJECT_OF({"serverCpu", json_number_or_null(r->server_share)},
                          {"serverLink", json_number_or_null(r->server_link_share)},
                          {"trainerLink", json_number_or_null(is_ring ? 0 : r->trainer_link_share)},
                          {"workerCpu", json_number_or_null(r->worker_share)},
                          {"workerLink", json_number_or_null(is_ring ? r->trainer_link_share : 0)},
                          {"cores", json_number_or_null(r->cores_share)});
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
             {"timesScaledToBatch", json_boolean(it->is_scaled)},
             {"simulatedSteps", json_integer(it->mean.n_steps)});
    return o;
}

static json_t *passes_json(const struct passes *passes)
{
    static const struct passes none = {0};
    return JSON_ARRAY_OF(vec_each (const struct pass, p, passes != NULL ? passes : &none),
                         JSON_OBJECT_OF({"batchSize", json_integer(p->batch_size)},
                                        {"forwardSeconds", json_number_or_null(p->forward_s)},
                                        {"backwardSeconds", json_number_or_null(p->backward_s)}));
}

static json_t *inputs_json(const struct prediction *p)
{
    const struct predict_params *in = &p->params;
    const struct gang_costs *c = &in->costs;
    const double first =
        in->first_bytes_per_s > 0 ? in->first_bytes_per_s : in->trainer_bytes_per_s;
    return JSON_OBJECT_OF(
        {"stepSeconds", json_real((double)trace_step_ns(in->trace) / 1e9)},
        {"batchSize", json_integer(in->batch_size)}, {"passes", passes_json(in->passes)},
        {"jitter", json_number_or_null(in->trace->jitter_ratio)},
        {"trainerLinkBytesPerSecond", json_number_or_null(in->trainer_bytes_per_s)},
        {"serverLinkBytesPerSecond", json_number_or_null(in->server_bytes_per_s)},
        {"firstLinkBytesPerSecond", json_number_or_null(first)},
        {"latencySeconds", json_number_or_null(in->latency_s)},
        {"cores", json_number_or_null(in->n_cores)},
        {"receiveNanosecondsPerByte", json_number_or_null(c->receive * 1e9)},
        {"sendNanosecondsPerByte", json_number_or_null(c->send * 1e9)},
        {"updateNanosecondsPerByte", json_number_or_null(c->update * 1e9)},
        {"trainerNanosecondsPerByte", json_number_or_null(c->trainer * 1e9)},
        {"workerNanosecondsPerByte", json_number_or_null(c->worker * 1e9)},
        {"workerUpdateNanosecondsPerByte", json_number_or_null(c->worker_update * 1e9)},
        {"localUpdateNanosecondsPerByte", json_number_or_null(c->local_update * 1e9)},
        {"seeds", json_integer(p->n_seeds)},
        {"warmupSteps", json_integer(p->def->spec->warmup_steps)},
        {"steps", json_integer(p->def->spec->steps)});
}

json_t *prediction_to_json(const struct prediction *p)
{
    json_t *points = JSON_ARRAY_OF(for (uint32_t i = 0; i < p->def->matrix.n_points; i++),
                                   point_json(p, &p->points[i]));
    json_t *servers = JSON_ARRAY_OF(
        vec_each (const struct predicted_servers, s, &p->servers),
        JSON_OBJECT_OF({"fastestPoint", json_integer(s->best->point->index)},
                       {"fewestServersPoint", json_integer(s->fewest->point->index)}));
    return JSON_OBJECT_OF({"apiVersion", json_string("benchd.io/v1alpha1")},
                          {"kind", json_string("BenchmarkPrediction")},
                          {"benchmark", json_string(p->def->spec->name)},
                          {"predicted", json_true()}, {"inputs", inputs_json(p)},
                          {"points", points}, {"servers", servers},
                          {"nearRatio", json_real(PREDICT_NEAR)});
}
