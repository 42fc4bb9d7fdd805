/* The document of docs/contracts/result.md; see result.h. Keys have the contract's order. */
#include "result/result_json.h"

#include <math.h>
#include <string.h>

#include "core/environment.h"
#include "core/json_field.h"
#include "core/summary.h"
#include "result/figure_json.h"
#include "result/nodes.h"
#include "result/replica_speed.h"
#include "result/threshold.h"
#include "result/warmup.h"

/* A number over trials without an interval, as a figure of the same unit as `like`. */
static json_t *plain_figure(double value, const struct figure *like)
{
    struct figure f = *like;
    f.estimate = (struct estimate){.known = !isnan(value), .value = value};
    return figure_to_json(&f);
}

static json_t *counts_to_json(const uint32_t counts[ROLE_COUNT])
{
    json_t *o = json_object();
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (i != ROLE_LAUNCHER || counts[i] > 0) { /* most systems know of none */
            json_object_set_new(o, role_to_string((enum role)i), json_count(counts[i]));
        }
    }
    return o;
}

static json_t *source_to_json(const struct summary_source *s)
{
    return JSON_OBJECT_OF({"rule", json_string(s->rule)}, {"method", json_string(s->method)},
                          {"unit", json_string(summary_unit_names[s->unit])},
                          {"scope", json_string(s->is_job ? "job" : "replica")},
                          {"accuracyLast", json_number_or_null(s->accuracy_last)});
}

static json_t *probe_to_json(const struct noise_probe *p)
{
    return JSON_OBJECT_OR_NULL(p->spins_per_s != 0, {"spinsPerS", json_count(p->spins_per_s)},
                               {"copyBytesPerS", json_count(p->copy_bytes_per_s)});
}

static json_t *noise_to_json(const struct noise *n)
{
    const bool ran = n->cpu_run_ns > 0;
    return JSON_OBJECT_OF({"before", probe_to_json(&n->before)},
                          {"after", probe_to_json(&n->after)}, {"busyNs", json_integer(n->busy_ns)},
                          {"stealNs", json_integer(n->steal_ns)},
                          {"cpuRunNs", ran ? json_integer(n->cpu_run_ns) : NULL},
                          {"cpuWaitNs", ran ? json_integer(n->cpu_wait_ns) : NULL},
                          {"byLauncher", n->by_launcher ? json_true() : NULL});
}

/* Bytes, throttling and memory are not known of a log. */
static json_t *known_count(const struct summary *s, uint64_t n)
{
    return s->source.rule != NULL ? json_null() : json_count(n);
}

/* Of a point; NULL without any. */
static json_t *metrics_of(const struct point_result *p)
{
    json_t *o = p->metrics.len == 0 ? NULL : json_object();
    vec_each (const struct point_metric, m, &p->metrics) {
        json_object_set_new(o, m->name, figure_to_json(&m->figure));
    }
    return o;
}

static json_t *summary_to_json(const struct summary *s)
{
    json_t *phases = json_object();
    for (int i = 0; i < PHASE_COUNT; i++) {
        json_object_set_new(phases, phase_to_string((enum phase)i), json_integer(s->phase_ns[i]));
    }
    return JSON_OBJECT_OF(
        {"samples", json_count(s->samples)}, {"durationNs", json_integer(s->duration_ns)},
        {"steps", json_count(s->steps)}, {"phaseNs", phases},
        {"bytesTx", known_count(s, s->bytes_tx)}, {"bytesRx", known_count(s, s->bytes_rx)},
        {"lossFirst", json_number_or_null(s->loss_first)},
        {"lossLast", json_number_or_null(s->loss_last)},
        {"throttledNs", known_count(s, (uint64_t)s->throttled_ns)},
        {"throttledPeriods", known_count(s, s->throttled_periods)},
        {"maxRssBytes", known_count(s, s->max_rss_bytes)},
        {"environmentDigest", json_text_or_null(s->environment_digest)},
        {"log", s->source.rule == NULL ? NULL : source_to_json(&s->source)},
        {"noise", noise_is_known(&s->noise) ? noise_to_json(&s->noise) : NULL});
}

/* Where it ran, and on what. */
static json_t *placement_to_json(const struct replica_result *r)
{
    json_auto_t *e = r->environment != NULL ? json_incref(r->environment)
                                            : environment_parse(r->row->environment_json);
    json_t *o = JSON_OBJECT_OF({"node", json_text_or_null(environment_text(e, "node"))},
                               {"imageId", json_text_or_null(environment_text(e, "image_id"))},
                               {"cpuModel", json_text_or_null(environment_text(e, "cpu_model"))},
                               {"kernel", json_text_or_null(environment_text(e, "kernel"))},
                               {"cpuset", json_text_or_null(environment_text(e, "cpuset"))});
    return o;
}

static json_t *replica_to_json(const struct replica_result *r)
{
    const struct replica_row *row = r->row;
    const struct figure throughput = replica_throughput(r);
    return JSON_OBJECT_OF(
        {"role", json_string(role_to_string(row->id.role))}, {"index", json_count(row->id.index)},
        {"exitCode", row->exit_code < 0 ? json_null() : json_integer(row->exit_code)},
        {"signal", row->signal == 0 ? json_null() : json_integer(row->signal)},
        {"failure", json_text_or_null(row->failure)}, {"placement", placement_to_json(r)},
        {"throughput", figure_to_json(&throughput)},
        {"summary", r->has_summary ? summary_to_json(&r->summary) : json_null()},
        {"reading", row->reading_json == NULL ? NULL : json_loads(row->reading_json, 0, NULL)});
}

/* A list of the lines; empty without any. */
static json_t *lines_to_json(const char *text)
{
    json_t *list = json_array();
    while (text != NULL && *text != '\0') {
        const size_t len = strcspn(text, "\n");
        json_array_append_new(list, json_stringn(text, len));
        text += len + (text[len] == '\n');
    }
    return list;
}

/* Only what the definition asks for. */
static void put_trial_accuracy(json_t *trial, const struct trial_result *t, const struct spec *spec)
{
    if (spec->goal.kind != GOAL_NONE) {
        JSON_ADD(
            trial,
            {"timeToAccuracy",
             JSON_OBJECT_OF({"state", json_string(target_state_names[t->to_accuracy.state])},
                            {"seconds", json_number_or_null(t->to_accuracy.s)},
                            {spec->goal.kind == GOAL_LOSS ? "bestLoss" : "bestAccuracy",
                             json_number_or_null(t->to_accuracy.best)},
                            {"evaluationsEvery",
                             t->evaluations_k == 0 ? json_null() : json_count(t->evaluations_k)})});
    }
    if (spec->accuracy_after_s > 0) {
        JSON_ADD(trial,
                 {"accuracyAfterTime",
                  JSON_OBJECT_OF({"accuracy", json_number_or_null(t->after.accuracy)},
                                 {"reason", json_text_or_null(after_state_whys[t->after.state])})});
    }
}

static void put_point_accuracy(json_t *point, const struct point_result *p, const struct spec *spec)
{
    if (spec->goal.kind != GOAL_NONE) {
        JSON_ADD(point, {"timeToAccuracy", figure_to_json(&p->goal->time_to_accuracy)},
                 {"timeToAccuracySpeedup", figure_to_json(&p->goal->time_speedup)},
                 {"timeToAccuracyEfficiency", figure_to_json(&p->goal->time_efficiency)},
                 {"trialsReached", json_count(p->n_reached)});
    }
    if (spec->accuracy_after_s > 0) {
        JSON_ADD(point, {"accuracyAfterTime", figure_to_json(&p->goal->accuracy_after_time)},
                 {"trialsAfterTime", json_count(p->n_after)});
    }
}

static json_t *trial_to_json(const struct trial_result *t, const struct spec *spec)
{
    const struct figure throughput = trial_throughput(t);
    uint32_t counts[ROLE_COUNT] = {0};
    trial_each_replica (r, t) {
        counts[r->row->id.role]++;
    }
    json_t *o = JSON_OBJECT_OF({"trial", json_count(t->trial)}, {"attempt", json_count(t->attempt)},
                               {"phase", json_string(trial_phase_to_string(t->phase))},
                               {"throughput", figure_to_json(&throughput)},
                               {"error", json_text_or_null(t->error)});
    put_trial_accuracy(o, t, spec);
    JSON_ADD(o, {"othersShare", isnan(t->others_share) ? NULL : json_real(t->others_share)},
             {"metrics", metrics_to_json(&t->metrics)}, {"details", lines_to_json(t->details)},
             {"replicas", JSON_OBJECT_OF({"counts", counts_to_json(counts)},
                                         {"items", JSON_ARRAY_OF(trial_each_replica (r, t),
                                                                 replica_to_json(r))})});
    return o;
}

static json_t *baseline_to_json(const struct result *r, const struct point_result *p)
{
    const struct point_result *base = result_baseline(r, p);
    return base == NULL
               ? json_null()
               : JSON_OBJECT_OF(
                     {"kind", json_string(baseline_kind_names[r->def->spec->baseline.kind])},
                     {"point", json_count(base->point->index)},
                     {"throughput", figure_to_json(&base->throughput)});
}

static json_t *warmup_to_json(const struct result *r, const struct point_result *p)
{
    const int64_t found = warmup_found(r, p);
    return JSON_OBJECT_OF({"state", json_string(warmup_state_names[p->kept->warmup.state])},
                          {"found", found < 0 ? json_null() : json_integer((json_int_t)found)});
}

json_t *result_json_put_point(json_t *o, const struct result *r, const struct point *point)
{
    return json_object_add(
        o, JSON_MEMBERS(
               {"system", json_string(r->def->spec->systems.items[point->system].name)},
               {"parameters", params_to_json(&point->params)},
               {"replicas", counts_to_json(point->replicas)},
               {"batchSize", point->batch_size > 0 ? json_integer(point->batch_size) : json_null()},
               {"threads", json_integer(point->threads)},
               {"exchange", json_string(point_exchange_name(r->def->spec, point))}));
}

/* How it exchanges, where that is not as usual; and over what, where its replicas say it. */
static void put_exchange(json_t *o, const struct spec *spec, const struct point_result *p)
{
    const enum exchange_wire wire = point_wire(spec, p->point);
    const struct exchange_mode mode = point_mode(spec, p->point);
    char link[LINK_TEXT_MAX], mode_text[EXCHANGE_MODE_TEXT_MAX];
    _cleanup_(freep) char *transport = machines_join(p->machines, MACHINE_TRANSPORT);
    link_text(&p->point->link, link);
    exchange_mode_text(&mode, mode_text);
    JSON_ADD(o,
             {"wire", wire == EXCHANGE_WIRE_FP32 ? NULL : json_string(exchange_wire_names[wire])},
             {"serverThreads",
              p->point->server_threads > 0 ? json_integer(p->point->server_threads) : NULL},
             {"link", p->point->link.bits_per_s > 0 ? json_string(link) : NULL},
             {"mode", exchange_mode_eq(&mode, &EXCHANGE_MODE_SYNC) ? NULL : json_string(mode_text)},
             {"transport",
              p->machines->values[MACHINE_TRANSPORT].list.len > 0 ? json_string(transport) : NULL});
}

static json_t *point_to_json(const struct result *r, uint32_t i)
{
    const struct point_result *p = &r->points[i];
    const struct point *point = p->point;
    point_open(p);
    json_t *o =
        result_json_put_point(JSON_OBJECT_OF({"point", json_count(point->index)}), r, point);
    put_exchange(o, r->def->spec, p);
    JSON_ADD(o, {"phase", json_string(trial_phase_to_string(p->phase))},
             {"throughput", figure_to_json(&p->throughput)},
             {"throughputMin", plain_figure(p->throughput_min, &p->throughput)},
             {"throughputMax", plain_figure(p->throughput_max, &p->throughput)},
             {"speedup", figure_to_json(&p->speedup)},
             {"efficiency", figure_to_json(&p->efficiency)}, {"baseline", baseline_to_json(r, p)},
             {"warmup", warmup_to_json(r, p)}, {"trialsSucceeded", json_count(p->n_succeeded)},
             {"trials", JSON_ARRAY_OF(point_each_trial (t, p), trial_to_json(t, r->def->spec))},
             {"pods", json_count(point_pods(point))}, {"cpus", json_number_or_null(p->cpus)},
             {"efficiencyPerPod", figure_to_json(&p->kept->efficiency_per_pod)},
             {"efficiencyPerCpu", figure_to_json(&p->kept->efficiency_per_cpu)},
             {"devices", point->devices > 0 ? json_count(point->devices) : NULL},
             {"metrics", metrics_of(p)});
    put_point_accuracy(o, p, r->def->spec);
    return o;
}

static json_t *hardware_to_json(const struct result *r)
{
    return JSON_ARRAY_OF(vec_each (struct hardware, h, &r->hardware),
                         JSON_OBJECT_OF({"cpuModel", json_text_or_null(h->cpu_model)},
                                        {"blasCore", json_text_or_null(h->blas_core)},
                                        {"kernel", json_text_or_null(h->kernel)},
                                        {"build", json_text_or_null(h->build)},
                                        {"source", json_text_or_null(h->source)},
                                        {"replicas", json_count(h->n_replicas)}));
}

/* NULL: it cannot be compared by them. */
static json_t *pairs_to_json(const struct pair_effect *e)
{
    const struct figure ratio = {.estimate = e->ratio, .unit = "ratio", .scope = "job"};
    return e->ratio.known
               ? JSON_OBJECT_OF({"pairs", json_count(e->n_pairs)},
                                {"throughput", figure_to_json(&ratio)}, {"p", json_real(e->p)})
               : NULL;
}

static json_t *nodes_to_json(const struct result *r)
{
    return JSON_ARRAY_OF(
        vec_each (struct node_result, n, &r->nodes),
        JSON_OBJECT_OF(
            {"node", json_text_or_null(n->name)}, {"cpuModel", json_text_or_null(n->cpu_model)},
            {"replicas", json_count(n->n_replicas)}, {"points", json_count(n->n_points)},
            {"pointsCompared", json_count(n->n_compared)},
            {"pointsSlower", json_count(n->n_slower)}, {"excess", json_number_or_null(n->excess)},
            {"slow", json_boolean(node_result_is_slow(n))},
            {"throttled", json_number_or_null(node_result_throttled_ratio(n))},
            {"pairs", pairs_to_json(&n->pairs)}));
}

static json_t *slow_to_json(const struct slow_replica *s)
{
    const struct replica_id *id = &s->id;
    return JSON_OBJECT_OF(
        {"point", json_count(s->point)}, {"trial", json_count(id->attempt.trial)},
        {"role", json_string(role_to_string(id->role))}, {"index", json_count(id->index)},
        {"node", json_text_or_null(s->node)}, {"by", json_string(speed_kind_names[s->by])},
        {"excess", json_number_or_null(s->excess)}, {"spread", json_number_or_null(s->spread)},
        {"others", json_count(s->n_others)}, {"trialsSlow", json_count(s->n_slow)},
        {"trialsCompared", json_count(s->n_trials)});
}

static json_t *bounds_to_json(const struct threshold *t)
{
    return JSON_OBJECT_OF(
        {"metric", json_string(metric_names[t->metric])},
        {"min", json_number_or_null(t->has_min ? t->min : NAN)},
        {"max", json_number_or_null(t->has_max ? t->max : NAN)},
        {"confidence", t->judges_interval ? json_real(THRESHOLD_CONFIDENCE) : json_null()});
}

static json_t *threshold_to_json(const struct threshold_result *t)
{
    const struct estimate *e = &t->estimate;
    const bool has_interval = e->known && e->has_interval;
    return json_object_add(
        bounds_to_json(t->threshold),
        JSON_MEMBERS({"point", json_count(t->point)},
                     {"value", json_number_or_null(e->known ? e->value : NAN)},
                     {"low", json_number_or_null(has_interval ? e->low : NAN)},
                     {"high", json_number_or_null(has_interval ? e->high : NAN)},
                     {"verdict", json_string(threshold_verdict_to_string(t->verdict))}));
}

static json_t *skipped_to_json(const struct threshold *t)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    threshold_format_skip(t, &text);
    return json_object_add(bounds_to_json(t),
                           JSON_MEMBERS({"where", params_to_json(&t->where)},
                                        {"message", json_string(buf_cstr(&text))}));
}

static json_t *warning_to_json(const struct warning *w)
{
    return JSON_OBJECT_OF({"code", json_string(warning_code_names[w->code])},
                          {"message", json_text_or_null(w->message)});
}

json_t *result_json_put_run(json_t *o, const struct result *r)
{
    return json_object_add(
        o, JSON_MEMBERS({"run", json_string(r->def->name)}, {"uid", json_string(r->def->uid)},
                        {"benchmark", json_string(r->def->spec->name)},
                        {"phase", json_string(run_phase_to_string(r->phase))},
                        {"createdUnixMs", json_integer(r->def->created_unix_ms)}));
}

static json_t *frame_to_json(const struct result *r)
{
    const struct run_def *def = r->def;
    const struct spec *spec = def->spec;
    const bool stops = spec->stop.is_set;
    json_t *measure = JSON_OBJECT_OF(
        {"warmupSteps", json_integer(spec->warmup_steps)}, {"steps", json_integer(spec->steps)},
        {"targetAccuracy", spec->goal.kind == GOAL_ACCURACY ? json_real(spec->goal.value) : NULL},
        {"targetLoss", spec->goal.kind == GOAL_LOSS ? json_real(spec->goal.value) : NULL},
        {"accuracyAfterSeconds",
         spec->accuracy_after_s > 0 ? json_real(spec->accuracy_after_s) : NULL},
        {"repeats", json_integer(stops ? spec->min_repeats : spec->repeats)},
        {"maxRepeats", stops ? json_integer(spec->repeats) : NULL},
        {"relativeHalfWidth", stops ? json_real(spec->stop.half_width_ratio) : NULL});
    json_t *head = JSON_OBJECT_OF({"apiVersion", json_string("benchd.io/v1alpha1")},
                                  {"kind", json_string("BenchmarkResult")});
    return json_object_add(
        result_json_put_run(head, r),
        JSON_MEMBERS(
            {"cpus", def->cpus == 0 ? json_null() : json_integer(def->cpus)},
            {"rehearsal", json_boolean(def->rehearsal)}, {"simulated", json_boolean(r->simulated)},
            {"imported", json_boolean(spec_is_imported(def->spec))},
            {"parallelTrials",
             def->scheduling.trials > 1 ? json_integer(def->scheduling.trials) : NULL},
            {"measure", measure}, {"hardware", hardware_to_json(r)}, {"nodes", nodes_to_json(r)},
            {"slowReplicas",
             JSON_ARRAY_OF(vec_each (struct slow_replica, s, &r->slow), slow_to_json(s))},
            {"points", json_array()}, {"baselines", json_array()}, {"curves", json_array()},
            {"thresholds", JSON_ARRAY_OF(vec_each (struct threshold_result, t, &r->thresholds),
                                         threshold_to_json(t))},
            {"skippedThresholds", JSON_ARRAY_OF(vec_each (const struct threshold *, t, &r->skipped),
                                                skipped_to_json(*t))},
            {"warnings",
             JSON_ARRAY_OF(vec_each (struct warning, w, &r->warnings), warning_to_json(w))}));
}

/* ---- curves ---- */

/* An end at infinity is null if none exists. */
static json_t *range_to_json(const struct scaling_range *x)
{
    return JSON_OBJECT_OF({"value", json_number_or_null(x->value)},
                          {"low", json_number_or_null(x->low)},
                          {"high", json_number_or_null(x->high)});
}

static json_t *fit_to_json(const struct scaling_fit *f)
{
    const bool is_fitted = f->gap == SCALING_FITTED;
    json_t *parameters = json_object();
    for (size_t i = 0; i < f->n_coefficients && is_fitted; i++) {
        json_object_set_new(parameters, f->parameters[i].name,
                            range_to_json(&f->parameters[i].range));
    }
    return JSON_OBJECT_OF({"model", json_string("USL")},
                          {"state", json_string(scaling_gap_names[f->gap])},
                          {"holds", json_boolean(scaling_fit_holds(f))}, {"parameters", parameters},
                          {"deviation", is_fitted ? json_real(f->deviation) : json_null()},
                          {"misfitP", is_fitted ? json_number_or_null(f->misfit_p) : json_null()});
}

static json_t *peak_to_json(const struct curve *c)
{
    return json_object_add(range_to_json(&c->peak.at),
                           JSON_MEMBERS({"within", json_boolean(c->peak.is_within)},
                                        {"limit", json_number_or_null(c->peak.limit)}));
}

static json_t *loss_to_json(const struct curve_loss *loss)
{
    const struct figure kept = {.estimate = loss->kept, .unit = "ratio", .scope = "replica"};
    return JSON_OBJECT_OR_NULL(
        loss->from != NULL, {"fromPoint", json_count(loss->from->point->index)},
        {"toPoint", json_count(loss->to->point->index)}, {"kept", figure_to_json(&kept)},
        {"phase", json_text_or_null(loss->has_phases ? loss->phase : NULL)},
        {"phaseNs", loss->has_phases ? json_real(loss->phase_ns) : json_null()},
        {"stepNs", loss->has_phases ? json_real(loss->step_ns) : json_null()});
}

static json_t *curve_to_json(const struct result *r, const struct curve *c)
{
    const struct point *first = c->points.items[0]->point;
    const bool has_usl = scaling_fit_holds(&c->usl);
    json_t *parameters = json_object();
    vec_each (const char *const, name, &r->curves.names) {
        const struct value *v = params_get(&first->params, *name);
        json_object_set_new(parameters, *name, v == NULL ? json_null() : value_to_json(v));
    }
    return JSON_OBJECT_OF(
        {"system", json_string(r->def->spec->systems.items[first->system].name)},
        {"parameters", parameters},
        {"points", JSON_ARRAY_OF(vec_each (const struct point_result *const, p, &c->points),
                                 json_count((*p)->point->index))},
        {"single", c->single == NULL ? json_null() : json_count(c->single->point->index)},
        {"sizes", json_count(c->n_sizes)}, {"sizesFitted", json_count(c->n_trusted)},
        {"scaling", json_text_or_null(curve_scaling_names[c->scaling])},
        {"models", json_pack("[o]", fit_to_json(&c->usl))},
        {"peak", has_usl ? peak_to_json(c) : json_null()}, {"biggestLoss", loss_to_json(&c->loss)});
}

/* ---- the whole ---- */

void result_json_put(const struct result *r, struct buf *out)
{
    const struct matrix *m = &r->def->matrix;
    struct json_lists w;
    json_lists_begin(&w, frame_to_json(r), 2, out);
    json_lists_open(&w, "points");
    for (uint32_t i = 0; i < m->n_points; i++) {
        if (i == m->n_swept) {
            json_lists_open(&w, "baselines");
        }
        json_lists_add(&w, point_to_json(r, i));
    }
    json_lists_open(&w, "curves");
    vec_each (struct curve, c, &r->curves.list) {
        json_lists_add(&w, curve_to_json(r, c));
    }
    json_lists_end(&w);
}
