/* The document of docs/contracts/result.md; see result.h. Keys have the contract's order. */
#include "result/result_json.h"

#include <math.h>
#include <string.h>

#include "core/json_field.h"
#include "core/placement.h"
#include "core/summary.h"
#include "result/lint.h"
#include "result/resources.h"
#include "result/threshold.h"
#include "result/transport.h"
#include "result/warmup.h"

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n); /* summaries hold no count beyond INT64_MAX */
}

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
            json_object_set_new(o, role_to_string((enum role)i), count(counts[i]));
        }
    }
    return o;
}

static json_t *source_to_json(const struct summary_source *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "rule", json_string(s->rule));
    json_object_set_new(o, "method", json_string(s->method));
    json_object_set_new(o, "unit", json_string(summary_unit_names[s->unit]));
    json_object_set_new(o, "scope", json_string(s->is_job ? "job" : "replica"));
    json_object_set_new(o, "accuracyLast", json_number_or_null(s->accuracy_last));
    return o;
}

static json_t *probe_to_json(const struct noise_probe *p)
{
    if (p->spins_per_s == 0) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "spinsPerS", count(p->spins_per_s));
    json_object_set_new(o, "copyBytesPerS", count(p->copy_bytes_per_s));
    return o;
}

static json_t *noise_to_json(const struct noise *n)
{
    json_t *o = json_object();
    json_object_set_new(o, "before", probe_to_json(&n->before));
    json_object_set_new(o, "after", probe_to_json(&n->after));
    json_object_set_new(o, "busyNs", json_integer(n->busy_ns));
    json_object_set_new(o, "stealNs", json_integer(n->steal_ns));
    if (n->cpu_run_ns > 0) {
        json_object_set_new(o, "cpuRunNs", json_integer(n->cpu_run_ns));
        json_object_set_new(o, "cpuWaitNs", json_integer(n->cpu_wait_ns));
    }
    if (n->by_launcher) {
        json_object_set_new(o, "byLauncher", json_true());
    }
    return o;
}

static json_t *summary_to_json(const struct summary *s)
{
    json_t *phases = json_object();
    for (int i = 0; i < PHASE_COUNT; i++) {
        json_object_set_new(phases, phase_to_string((enum phase)i), json_integer(s->phase_ns[i]));
    }
    json_t *o = json_object();
    json_object_set_new(o, "samples", count(s->samples));
    json_object_set_new(o, "durationNs", json_integer(s->duration_ns));
    json_object_set_new(o, "steps", count(s->steps));
    json_object_set_new(o, "phaseNs", phases);
    json_object_set_new(o, "bytesTx", count(s->bytes_tx));
    json_object_set_new(o, "bytesRx", count(s->bytes_rx));
    json_object_set_new(o, "lossFirst", json_number_or_null(s->loss_first));
    json_object_set_new(o, "lossLast", json_number_or_null(s->loss_last));
    json_object_set_new(o, "throttledNs", json_integer(s->throttled_ns));
    json_object_set_new(o, "throttledPeriods", count(s->throttled_periods));
    json_object_set_new(o, "maxRssBytes", count(s->max_rss_bytes));
    json_object_set_new(o, "environmentDigest", json_text_or_null(s->environment_digest));
    if (s->source.rule != NULL) {
        json_object_set_new(o, "log", source_to_json(&s->source));
    }
    if (noise_is_known(&s->noise)) {
        json_object_set_new(o, "noise", noise_to_json(&s->noise));
    }
    return o;
}

static json_t *placement_to_json(const struct replica_row *row)
{
    struct placement p;
    placement_read(row->environment_json, &p);
    json_t *o = json_object();
    json_object_set_new(o, "node", json_text_or_null(p.node));
    json_object_set_new(o, "imageId", json_text_or_null(p.image_id));
    json_object_set_new(o, "cpuModel", json_text_or_null(p.cpu_model));
    json_object_set_new(o, "kernel", json_text_or_null(p.kernel));
    json_object_set_new(o, "cpuset", json_text_or_null(p.cpuset));
    placement_done(&p);
    return o;
}

static json_t *replica_to_json(const struct replica_result *r)
{
    const struct replica_row *row = r->row;
    json_t *o = json_object();
    json_object_set_new(o, "role", json_string(role_to_string(row->id.role)));
    json_object_set_new(o, "index", count(row->id.index));
    json_object_set_new(o, "exitCode",
                        row->exit_code < 0 ? json_null() : json_integer(row->exit_code));
    json_object_set_new(o, "signal", row->signal == 0 ? json_null() : json_integer(row->signal));
    json_object_set_new(o, "failure", json_text_or_null(row->failure));
    json_object_set_new(o, "placement", placement_to_json(row));
    const struct figure throughput = replica_throughput(r);
    json_object_set_new(o, "throughput", figure_to_json(&throughput));
    json_object_set_new(o, "summary", r->has_summary ? summary_to_json(&r->summary) : json_null());
    return o;
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
    if (spec->target_accuracy > 0) {
        json_t *o = json_object();
        json_object_set_new(o, "state", json_string(target_state_to_string(t->to_accuracy.state)));
        json_object_set_new(o, "seconds", json_number_or_null(t->to_accuracy.s));
        json_object_set_new(o, "bestAccuracy", json_number_or_null(t->to_accuracy.best));
        json_object_set_new(o, "evaluationsEvery",
                            t->evaluations_k == 0 ? json_null() : count(t->evaluations_k));
        json_object_set_new(trial, "timeToAccuracy", o);
    }
    if (spec->accuracy_after_s > 0) {
        json_t *o = json_object();
        json_object_set_new(o, "accuracy", json_number_or_null(t->after.accuracy));
        json_object_set_new(o, "reason", json_text_or_null(after_state_why(t->after.state)));
        json_object_set_new(trial, "accuracyAfterTime", o);
    }
}

static void put_point_accuracy(json_t *point, const struct point_result *p, const struct spec *spec)
{
    if (spec->target_accuracy > 0) {
        json_object_set_new(point, "timeToAccuracy", figure_to_json(&p->time_to_accuracy));
        json_object_set_new(point, "trialsReached", count(p->n_reached));
    }
    if (spec->accuracy_after_s > 0) {
        json_object_set_new(point, "accuracyAfterTime", figure_to_json(&p->accuracy_after_time));
        json_object_set_new(point, "trialsAfterTime", count(p->n_after));
    }
}

static json_t *trial_to_json(const struct trial_result *t, const struct spec *spec)
{
    uint32_t counts[ROLE_COUNT] = {0};
    json_t *items = json_array();
    for (size_t i = 0; i < t->n_replicas; i++) {
        counts[t->replicas[i].row->id.role]++;
        json_array_append_new(items, replica_to_json(&t->replicas[i]));
    }
    json_t *replicas = json_object();
    json_object_set_new(replicas, "counts", counts_to_json(counts));
    json_object_set_new(replicas, "items", items);

    json_t *o = json_object();
    json_object_set_new(o, "trial", count(t->trial));
    json_object_set_new(o, "attempt", count(t->attempt));
    json_object_set_new(o, "phase", json_string(trial_phase_to_string(t->phase)));
    json_object_set_new(o, "throughput", figure_to_json(&t->throughput));
    json_object_set_new(o, "error", json_text_or_null(t->error));
    put_trial_accuracy(o, t, spec);
    if (!isnan(t->others_share)) {
        json_object_set_new(o, "othersShare", json_real(t->others_share));
    }
    json_object_set_new(o, "details", lines_to_json(t->details));
    json_object_set_new(o, "replicas", replicas);
    return o;
}

static json_t *baseline_to_json(const struct result *r, const struct point_result *p)
{
    const struct point_result *base = &r->points[p->point->baseline_index];
    json_t *o = json_object();
    json_object_set_new(o, "kind",
                        json_string(baseline_kind_to_string(r->def->spec->baseline.kind)));
    json_object_set_new(o, "point", count(base->point->index));
    json_object_set_new(o, "throughput", figure_to_json(&base->throughput));
    return o;
}

static json_t *warmup_to_json(const struct result *r, const struct point_result *p)
{
    const int64_t found = warmup_found(r, p);
    json_t *o = json_object();
    json_object_set_new(o, "state", json_string(warmup_state_names[p->warmup.state]));
    json_object_set_new(o, "found", found < 0 ? json_null() : json_integer((json_int_t)found));
    return o;
}

void result_json_put_point(json_t *o, const struct result *r, const struct point *point)
{
    json_object_set_new(o, "system", json_string(r->def->spec->systems.items[point->system].name));
    json_object_set_new(o, "parameters", params_to_json(&point->params));
    json_object_set_new(o, "replicas", counts_to_json(point->replicas));
    json_object_set_new(o, "batchSize", json_integer(point->batch_size));
    json_object_set_new(o, "threads", json_integer(point->threads));
    json_object_set_new(o, "exchange", json_string(point_exchange_name(r->def->spec, point)));
}

static json_t *point_to_json(const struct result *r, const struct point_result *p)
{
    const struct point *point = p->point;
    json_t *trials = json_array();
    for (size_t i = 0; i < p->n_trials; i++) {
        json_array_append_new(trials, trial_to_json(&p->trials[i], r->def->spec));
    }
    json_t *o = json_object();
    json_object_set_new(o, "point", count(point->index));
    result_json_put_point(o, r, point);
    const enum exchange_wire wire = point_wire(r->def->spec, point);
    if (wire != EXCHANGE_WIRE_FP32) {
        json_object_set_new(o, "wire", json_string(exchange_wire_names[wire]));
    }
    if (point->link.bits_per_s > 0) {
        char text[LINK_TEXT_MAX];
        link_text(&point->link, text);
        json_object_set_new(o, "link", json_string(text));
    }
    const struct exchange_mode mode = point_mode(r->def->spec, point);
    if (!exchange_mode_eq(&mode, &EXCHANGE_MODE_SYNC)) {
        char text[EXCHANGE_MODE_TEXT_MAX];
        exchange_mode_text(&mode, text);
        json_object_set_new(o, "mode", json_string(text));
    }
    struct transports transports = {0};
    transports_add(&transports, p);
    if (transports_are_known(&transports)) {
        struct buf name = BUF_INIT;
        transports_name(&transports, &name);
        json_object_set_new(o, "transport", json_string(buf_cstr(&name)));
        buf_done(&name);
    }
    json_object_set_new(o, "phase", json_string(trial_phase_to_string(p->phase)));
    json_object_set_new(o, "throughput", figure_to_json(&p->throughput));
    json_object_set_new(o, "throughputMin", plain_figure(p->throughput_min, &p->throughput));
    json_object_set_new(o, "throughputMax", plain_figure(p->throughput_max, &p->throughput));
    json_object_set_new(o, "speedup", figure_to_json(&p->speedup));
    json_object_set_new(o, "efficiency", figure_to_json(&p->efficiency));
    json_object_set_new(o, "baseline", baseline_to_json(r, p));
    json_object_set_new(o, "warmup", warmup_to_json(r, p));
    json_object_set_new(o, "trialsSucceeded", count(p->n_succeeded));
    json_object_set_new(o, "trials", trials);
    json_object_set_new(o, "pods", count(point_pods(point)));
    json_object_set_new(o, "cpus", json_number_or_null(p->cpus));
    json_object_set_new(o, "efficiencyPerPod", figure_to_json(&p->efficiency_per_pod));
    json_object_set_new(o, "efficiencyPerCpu", figure_to_json(&p->efficiency_per_cpu));
    put_point_accuracy(o, p, r->def->spec);
    return o;
}

json_t *result_point_to_json(const struct result *r, uint32_t i)
{
    return point_to_json(r, &r->points[i]);
}

static json_t *hardware_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (struct hardware, h, &r->hardware) {
        json_t *o = json_object();
        json_object_set_new(o, "cpuModel", json_text_or_null(h->cpu_model));
        json_object_set_new(o, "blasCore", json_text_or_null(h->blas_core));
        json_object_set_new(o, "kernel", json_text_or_null(h->kernel));
        json_object_set_new(o, "build", json_text_or_null(h->build));
        json_object_set_new(o, "source", json_text_or_null(h->source));
        json_object_set_new(o, "replicas", count(h->n_replicas));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *nodes_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (struct node_result, n, &r->nodes) {
        json_t *o = json_object();
        json_object_set_new(o, "node", json_text_or_null(n->name));
        json_object_set_new(o, "cpuModel", json_text_or_null(n->cpu_model));
        json_object_set_new(o, "replicas", count(n->n_replicas));
        json_object_set_new(o, "points", count(n->n_points));
        json_object_set_new(o, "pointsCompared", count(n->n_compared));
        json_object_set_new(o, "pointsSlower", count(n->n_slower));
        json_object_set_new(o, "excess", json_number_or_null(n->excess));
        json_object_set_new(o, "slow", json_boolean(node_result_is_slow(n)));
        json_object_set_new(o, "throttled", json_number_or_null(node_result_throttled_ratio(n)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *slow_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (struct slow_replica, s, &r->slow) {
        const struct replica_id *id = &s->replica->row->id;
        json_t *o = json_object();
        json_object_set_new(o, "point", count(s->point));
        json_object_set_new(o, "trial", count(id->attempt.trial));
        json_object_set_new(o, "role", json_string(role_to_string(id->role)));
        json_object_set_new(o, "index", count(id->index));
        json_object_set_new(o, "node", json_text_or_null(s->replica->node));
        json_object_set_new(o, "by", json_string(speed_kind_to_string(s->replica->speed.kind)));
        json_object_set_new(o, "excess", json_number_or_null(s->excess));
        json_object_set_new(o, "spread", json_number_or_null(s->spread));
        json_object_set_new(o, "others", count(s->n_others));
        json_object_set_new(o, "trialsSlow", count(s->n_slow));
        json_object_set_new(o, "trialsCompared", count(s->n_trials));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *bounds_to_json(const struct threshold *t)
{
    json_t *o = json_object();
    json_object_set_new(o, "metric", json_string(metric_to_string(t->metric)));
    json_object_set_new(o, "min", json_number_or_null(t->has_min ? t->min : NAN));
    json_object_set_new(o, "max", json_number_or_null(t->has_max ? t->max : NAN));
    json_object_set_new(o, "confidence",
                        t->judges_interval ? json_real(THRESHOLD_CONFIDENCE) : json_null());
    return o;
}

static json_t *thresholds_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (struct threshold_result, t, &r->thresholds) {
        const struct estimate *e = &t->estimate;
        const bool has_interval = e->known && e->has_interval;
        json_t *o = bounds_to_json(t->threshold);
        json_object_set_new(o, "point", count(t->point));
        json_object_set_new(o, "value", json_number_or_null(e->known ? e->value : NAN));
        json_object_set_new(o, "low", json_number_or_null(has_interval ? e->low : NAN));
        json_object_set_new(o, "high", json_number_or_null(has_interval ? e->high : NAN));
        json_object_set_new(o, "verdict", json_string(threshold_verdict_to_string(t->verdict)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *skipped_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (const struct threshold *, t, &r->skipped) {
        struct buf text = BUF_INIT;
        json_t *o = bounds_to_json(*t);
        threshold_format_skip(*t, &text);
        json_object_set_new(o, "where", params_to_json(&(*t)->where));
        json_object_set_new(o, "message", json_string(buf_cstr(&text)));
        json_array_append_new(list, o);
        buf_done(&text);
    }
    return list;
}

static json_t *warnings_to_json(const struct result *r)
{
    json_t *list = json_array();
    vec_each (struct warning, w, &r->warnings) {
        json_t *o = json_object();
        json_object_set_new(o, "code", json_string(warning_code_names[w->code]));
        json_object_set_new(o, "message", json_text_or_null(w->message));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *result_to_json(const struct result *r)
{
    json_t *o = result_frame_to_json(r);
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        json_t *list = json_object_get(o, i < r->def->matrix.n_swept ? "points" : "baselines");
        json_array_append_new(list, result_point_to_json(r, i));
    }
    vec_each (const struct curve, c, &r->curves.list) {
        json_array_append_new(json_object_get(o, "curves"), curve_to_json(r, c));
    }
    return o;
}

void result_json_put_run(json_t *o, const struct result *r)
{
    json_object_set_new(o, "run", json_string(r->def->name));
    json_object_set_new(o, "uid", json_string(r->def->uid));
    json_object_set_new(o, "benchmark", json_string(r->def->spec->name));
    json_object_set_new(o, "phase", json_string(run_phase_to_string(r->phase)));
    json_object_set_new(o, "createdUnixMs", json_integer(r->def->created_unix_ms));
}

json_t *result_frame_to_json(const struct result *r)
{
    const struct run_def *def = r->def;
    json_t *measure = json_object();
    json_object_set_new(measure, "warmupSteps", json_integer(def->spec->warmup_steps));
    json_object_set_new(measure, "steps", json_integer(def->spec->steps));
    const struct spec *spec = def->spec;
    if (spec->target_accuracy > 0) {
        json_object_set_new(measure, "targetAccuracy", json_real(spec->target_accuracy));
    }
    if (spec->accuracy_after_s > 0) {
        json_object_set_new(measure, "accuracyAfterSeconds", json_real(spec->accuracy_after_s));
    }
    json_object_set_new(measure, "repeats",
                        json_integer(spec->stop.is_set ? spec->min_repeats : spec->repeats));
    if (spec->stop.is_set) {
        json_object_set_new(measure, "maxRepeats", json_integer(spec->repeats));
        json_object_set_new(measure, "relativeHalfWidth", json_real(spec->stop.half_width_ratio));
    }

    json_t *o = json_object();
    json_object_set_new(o, "apiVersion", json_string("benchd.io/v1alpha1"));
    json_object_set_new(o, "kind", json_string("BenchmarkResult"));
    result_json_put_run(o, r);
    json_object_set_new(o, "cpus", def->cpus == 0 ? json_null() : json_integer(def->cpus));
    json_object_set_new(o, "rehearsal", json_boolean(def->rehearsal));
    json_object_set_new(o, "simulated", json_boolean(r->simulated));
    json_object_set_new(o, "imported", json_boolean(spec_is_imported(def->spec)));
    json_object_set_new(o, "measure", measure);
    json_object_set_new(o, "hardware", hardware_to_json(r));
    json_object_set_new(o, "nodes", nodes_to_json(r));
    json_object_set_new(o, "slowReplicas", slow_to_json(r));
    json_object_set_new(o, "points", json_array());
    json_object_set_new(o, "baselines", json_array());
    json_object_set_new(o, "curves", json_array());
    json_object_set_new(o, "thresholds", thresholds_to_json(r));
    json_object_set_new(o, "skippedThresholds", skipped_to_json(r));
    json_object_set_new(o, "warnings", warnings_to_json(r));
    return o;
}
