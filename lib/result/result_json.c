/* The document of docs/contracts/result.md; see result.h. Keys have the contract's order. */
#include "result/catalogue.h"
#include "result/curves.h"
#include "result/result_json.h"

#include <math.h>
#include <string.h>

#include "core/environment.h"
#include "core/json_field.h"
#include "core/summary.h"
#include "result/nodes.h"
#include "result/threshold.h"
#include "result/warmup.h"

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

/* A number over trials without an interval, as a figure of the same unit as `like`. */
static struct figure plain(double value, const struct figure *like)
{
    struct figure f = *like;
    f.estimate = (struct estimate){.known = !isnan(value), .value = value};
    return f;
}

#define OUT_PROBE(p)                                                                               \
    out_known((p)->spins_per_s > 0,                                                                \
              OUT_OBJECT({"spinsPerS", out_whole((int64_t)(p)->spins_per_s)},                      \
                         {"copyBytesPerS", out_whole((int64_t)(p)->copy_bytes_per_s)}))

static void put_noise(struct json_out *w, const struct noise *n)
{
    const bool ran = n->cpu_run_ns > 0;
    json_out_open(w, "noise", '{');
    JSON_PUT(w, {"before", OUT_PROBE(&n->before)}, {"after", OUT_PROBE(&n->after)},
             {"busyNs", out_whole(n->busy_ns)}, {"stealNs", out_whole(n->steal_ns)},
             {"cpuRunNs", out_if(ran, out_whole(n->cpu_run_ns))},
             {"cpuWaitNs", out_if(ran, out_whole(n->cpu_wait_ns))});
    json_out_tree(w, "byLauncher", n->by_launcher ? json_true() : NULL);
    json_out_close(w, '}');
}

static void put_summary(struct json_out *w, const struct summary *s)
{
    const struct summary_source *log = &s->source;
    const bool is_own = log->rule == NULL; /* a log says no bytes, throttling or memory */
    struct json_out_member phases[PHASE_COUNT + 1] = {0};
    for (int i = 0; i < PHASE_COUNT; i++) {
        phases[i] =
            (struct json_out_member){phase_to_string((enum phase)i), out_whole(s->phase_ns[i])};
    }
    json_out_open(w, "summary", '{');
    JSON_PUT(
        w, {"samples", out_whole((int64_t)s->samples)}, {"durationNs", out_whole(s->duration_ns)},
        {"steps", out_whole(s->steps)}, {"phaseNs", out_object(phases)},
        {"bytesTx", out_known(is_own, out_whole((int64_t)s->bytes_tx))},
        {"bytesRx", out_known(is_own, out_whole((int64_t)s->bytes_rx))},
        {"lossFirst", out_number(s->loss_first)}, {"lossLast", out_number(s->loss_last)},
        {"throttledNs", out_known(is_own, out_whole(s->throttled_ns))},
        {"throttledPeriods", out_known(is_own, out_whole((int64_t)s->throttled_periods))},
        {"maxRssBytes", out_known(is_own, out_whole((int64_t)s->max_rss_bytes))},
        {"environmentDigest", out_text(s->environment_digest)},
        {"log", out_if(!is_own,
                       OUT_OBJECT({"rule", out_text(log->rule)}, {"method", out_text(log->method)},
                                  {"unit", out_text(summary_unit_names[log->unit])},
                                  {"scope", out_text(log->is_job ? "job" : "replica")},
                                  {"accuracyLast", out_number(log->accuracy_last)}))});
    if (noise_is_known(&s->noise)) {
        put_noise(w, &s->noise);
    }
    json_out_close(w, '}');
}

static void put_replica(struct json_out *w, const struct replica_row *r)
{
    const struct figure throughput = replica_throughput(r);
    const json_t *e = r->environment.facts;
    json_out_open(w, NULL, '{');
    JSON_PUT(w, {"role", out_text(role_to_string(r->id.role))}, {"index", out_whole(r->id.index)},
             {"exitCode", out_known(r->exit_code >= 0, out_whole(r->exit_code))},
             {"signal", out_known(r->signal != 0, out_whole(r->signal))},
             {"failure", out_text(r->failure)},
             {"placement", /* where it ran, and on what */
              OUT_OBJECT({"node", out_text(r->environment.node)},
                         {"imageId", out_text(environment_text(e, "image_id"))},
                         {"cpuModel", out_text(environment_text(e, "cpu_model"))},
                         {"kernel", out_text(environment_text(e, "kernel"))},
                         {"cpuset", out_text(environment_text(e, "cpuset"))})},
             {"throughput", OUT_FIGURE(&throughput)});
    if (r->summary != NULL) {
        put_summary(w, r->summary);
    } else {
        JSON_PUT(w, {"summary", out_text(NULL)});
    }
    json_out_tree(w, "reading", json_incref(r->reading));
    json_out_close(w, '}');
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
static void put_trial_accuracy(struct json_out *w, const struct trial_result *t,
                               const struct spec *spec)
{
    const struct time_to_accuracy *to = &t->to_accuracy;
    JSON_PUT(w,
             {"timeToAccuracy",
              out_if(spec->goal.kind != GOAL_NONE,
                     OUT_OBJECT({"state", out_text(target_state_names[to->state])},
                                {"seconds", out_number(to->s)},
                                {spec->goal.kind == GOAL_LOSS ? "bestLoss" : "bestAccuracy",
                                 out_number(to->best)},
                                {"evaluationsEvery",
                                 out_known(t->evaluations_k > 0, out_whole(t->evaluations_k))}))},
             {"accuracyAfterTime",
              out_if(spec->accuracy_after_s > 0,
                     OUT_OBJECT({"accuracy", out_number(t->after.accuracy)},
                                {"reason", out_text(after_state_whys[t->after.state])}))});
}

/* But for the throughput, those that the definition asks for. */
static void put_figures(struct json_out *w, const struct spec *spec, const struct point_result *p)
{
    figure_each_kind (k) {
        if (k->json != NULL && k != &figure_kinds[FIGURE_THROUGHPUT] && figure_is_asked(k, spec)) {
            const struct figure f = figure_of(p, k);
            JSON_PUT(w, {k->json, OUT_FIGURE(&f)});
        }
    }
    JSON_PUT(
        w,
        {"trialsReached", out_if(spec->goal.kind != GOAL_NONE, out_whole((int64_t)p->n_reached))},
        {"trialsAfterTime", out_if(spec->accuracy_after_s > 0, out_whole((int64_t)p->n_after))});
}

static void put_trial(struct json_out *w, const struct trial_result *t, const struct spec *spec)
{
    const struct figure throughput = trial_throughput(t);
    uint32_t counts[ROLE_COUNT] = {0};
    trial_each_replica (r, t) {
        counts[r->id.role]++;
    }
    json_out_open(w, NULL, '{');
    JSON_PUT(w, {"trial", out_whole(t->trial)}, {"attempt", out_whole(t->attempt)},
             {"phase", out_text(trial_phase_to_string(t->phase))},
             {"throughput", OUT_FIGURE(&throughput)}, {"error", out_text(t->error)});
    put_trial_accuracy(w, t, spec);
    JSON_PUT(w, {"othersShare", out_if(!isnan(t->others_share), out_number(t->others_share))});
    json_out_tree(w, "metrics", metrics_to_json(&t->metrics));
    json_out_tree(w, "details", lines_to_json(t->details));
    json_out_open(w, "replicas", '{');
    json_out_tree(w, "counts", counts_to_json(counts));
    json_out_open(w, "items", '[');
    trial_each_replica (r, t) {
        put_replica(w, r);
    }
    json_out_close(w, ']');
    json_out_close(w, '}');
    json_out_close(w, '}');
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
static void put_exchange(struct json_out *w, const struct spec *spec, const struct point_result *p)
{
    const struct exchange exchange = point_exchange(spec, p->point);
    const size_t n_transports = p->machines->values[MACHINE_TRANSPORT].list.len;
    char link[LINK_TEXT_MAX], mode_text[EXCHANGE_MODE_TEXT_MAX];
    _cleanup_(freep) char *transport = machines_join(p->machines, MACHINE_TRANSPORT);
    link_text(&p->point->link, link);
    exchange_mode_text(&exchange.mode, mode_text);
    JSON_PUT(w,
             {"wire", out_if(exchange.wire != EXCHANGE_WIRE_FP32,
                             out_text(exchange_wire_names[exchange.wire]))},
             {"serverThreads",
              out_if(p->point->server_threads > 0, out_whole(p->point->server_threads))},
             {"link", out_if(p->point->link.bits_per_s > 0, out_text(link))},
             {"mode",
              out_if(!exchange_mode_eq(&exchange.mode, &EXCHANGE_MODE_SYNC), out_text(mode_text))},
             {"transport", out_if(n_transports > 0, out_text(transport))});
}

static void put_point(struct json_out *w, const struct point_result *p)
{
    const struct point *point = p->point;
    const struct spec *spec = p->of->def->spec;
    const int64_t found = warmup_found(p->of, p);
    const struct point_result *base = result_baseline(p->of, p);
    const struct figure of_base = base == NULL ? p->throughput : base->throughput;
    const struct figure least = plain(p->throughput_min, &p->throughput);
    const struct figure most = plain(p->throughput_max, &p->throughput);
    json_out_open(w, NULL, '{');
    JSON_PUT(w, {"point", out_whole(point->index)});
    json_out_all(w, result_json_put_point(json_object(), p->of, point));
    put_exchange(w, spec, p);
    JSON_PUT(w, {"phase", out_text(trial_phase_to_string(p->phase))},
             {"throughput", OUT_FIGURE(&p->throughput)}, {"throughputMin", OUT_FIGURE(&least)},
             {"throughputMax", OUT_FIGURE(&most)});
    put_figures(w, spec, p);
    JSON_PUT(w,
             {"baseline",
              out_known(base != NULL,
                        OUT_OBJECT({"kind", out_text(baseline_kind_names[spec->baseline.kind])},
                                   {"point", out_whole(point->baseline_index)},
                                   {"throughput", OUT_FIGURE(&of_base)}))},
             {"warmup", OUT_OBJECT({"state", out_text(warmup_state_names[p->kept->warmup.state])},
                                   {"found", out_known(found >= 0, out_whole(found))})},
             {"trialsSucceeded", out_whole((int64_t)p->n_succeeded)});
    json_out_open(w, "trials", '[');
    point_each_trial (t, p) {
        put_trial(w, t, spec);
    }
    json_out_close(w, ']');
    JSON_PUT(w, {"pods", out_whole(point_pods(point))}, {"cpus", out_number(p->cpus)},
             {"devices", out_if(point->devices > 0, out_whole(point->devices))});
    if (p->metrics.len > 0) {
        json_out_open(w, "metrics", '{');
        vec_each (const struct point_metric, m, &p->metrics) {
            JSON_PUT(w, {m->name, OUT_FIGURE(&m->figure)});
        }
        json_out_close(w, '}');
    }
    json_out_close(w, '}');
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
            {"throttled", json_number_or_null(node_result_throttled_ratio(n))}));
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
            {"parallelTrials", def->options.trials > 1 ? json_integer(def->options.trials) : NULL},
            {"measure", measure}, {"hardware", hardware_to_json(r)}, {"nodes", nodes_to_json(r)}));
}

/* ---- curves ---- */

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
        {"sizes", json_count(c->n_sizes)}, {"sizesFitted", json_count(c->sizes.len)},
        {"scaling", json_text_or_null(curve_scaling(c))}, {"law", curve_law_to_json(c)},
        {"biggestLoss", loss_to_json(&c->loss)});
}

/* ---- the whole ---- */

void result_json_begin(struct json_out *w, const struct result *r)
{
    json_out_open(w, NULL, '{');
    json_out_all(w, frame_to_json(r));
    json_out_open(w, "points", '[');
}

void result_json_add(struct json_out *w, const struct point_result *p)
{
    if (p->point->index == p->of->def->matrix.n_swept) {
        json_out_close(w, ']');
        json_out_open(w, "baselines", '[');
    }
    put_point(w, p);
    buf_spill(w->out);
}

void result_json_end(struct json_out *w, const struct result *r)
{
    json_out_close(w, ']');
    if (r->def->matrix.n_points == r->def->matrix.n_swept) {
        json_out_tree(w, "baselines", json_array());
    }
    json_out_open(w, "curves", '[');
    vec_each (struct curve, c, &r->curves.list) {
        json_out_tree(w, NULL, curve_to_json(r, c));
        buf_spill(w->out);
    }
    json_out_close(w, ']');
    json_out_tree(
        w, "thresholds",
        JSON_ARRAY_OF(vec_each (struct threshold_result, t, &r->thresholds), threshold_to_json(t)));
    json_out_tree(
        w, "skippedThresholds",
        JSON_ARRAY_OF(vec_each (const struct threshold *, t, &r->skipped), skipped_to_json(*t)));
    json_out_tree(w, "warnings",
                  JSON_ARRAY_OF(vec_each (struct warning, it, &r->warnings),
                                JSON_OBJECT_OF({"code", json_string(warning_code_names[it->code])},
                                               {"message", json_text_or_null(it->message)})));
    json_out_close(w, '}');
    buf_putc(w->out, '\n');
}
