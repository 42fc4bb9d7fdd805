/* See spec.h. */
#include "spec/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "logparse/rule.h"
#include "spec/profile.h"

const char *const sweep_kind_names[] = {"grid", "points"};
const char *const dataset_kind_names[] = {"Synthetic", "CIFAR10", "IDX"};
const char *const batch_scope_names[] = {"Worker", "Job"};
const char *const compute_names[] = {"Real", "Emulated"};
const char *const baseline_kind_names[] = {"SingleNode", "Point"};
const char *const order_kind_names[] = {"Interleaved", "Sequential"};
const char *const on_trial_failure_names[] = {"Retry", "Skip", "Stop"};
const char *const precision_names[] = {"FP32", "TF32", "FP16", "BF16", "FP8"};
const char *const unit_names[] = {"Samples", "Batches"};
const char *const until_names[] = {"Exit", "Steps"};
const char *const evaluate_names[] = {"Value", "Interval"};
#define JSON_KEY(id, form, name, title, heading, column, json, ...) json,
const char *const metric_names[] = {FIGURES_KEYED(JSON_KEY)};
const char *const clean_pod_policy_names[] = {"All", "Running", "None", "OnSuccess"};
const char *const addressing_names[] = {"Auto", "DNS", "IP"};

bool spec_has_profile(const struct spec *spec, const char *profile)
{
    return vec_any(&spec->systems, system, str_eq(system->profile, profile));
}

bool spec_is_imported(const struct spec *spec)
{
    return spec_has_profile(spec, PROFILE_IMPORTED);
}

const json_t *system_launch(const struct system *system, enum role role)
{
    return json_object_get(json_object_get(system->launch, "roles"), role_to_string(role));
}

bool is_for_role(const json_t *item, enum role role)
{
    const json_t *roles = json_object_get(item, "roles"), *name;
    size_t i;
    json_array_foreach (roles, i, name) {
        if (str_eq(json_string_value(name), role_to_string(role))) {
            return true;
        }
    }
    return roles == NULL;
}

static bool launch_names(const json_t *launch, const char *text)
{
    static const char *const keys[] = {"command", "args", "env"};
    bool is_found = false;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        _cleanup_(freep) char *shown = json_dumps(json_object_get(launch, keys[i]), JSON_COMPACT);
        is_found |= shown != NULL && strstr(shown, text) != NULL;
    }
    return is_found;
}

bool system_names(const struct system *system, const char *text)
{
    bool is_found = launch_names(system->launch, text);
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        is_found |= launch_names(system_launch(system, role), text);
    }
    return is_found;
}

bool system_is_copies(const struct system *system)
{
    const bool has_peers = system->has_launcher || system->job != NULL ||
                           system->rendezvous.vars.len > 0 || system_names(system, "_ADDRS)");
    return str_eq(system->profile, PROFILE_NONE) && !has_peers &&
           (system->exchange.kind == EXCHANGE_ALL_REDUCE || system->exchange.kind == EXCHANGE_NONE);
}

static bool shapes_link(const struct params *params)
{
    const struct value *v = params_get(params, "link");
    return v != NULL && !str_eq(v->s, "none");
}

bool spec_shapes_links(const struct spec *spec)
{
    bool any = spec->workload.link.bits_per_s > 0;
    vec_each (const struct axis, axis, &spec->sweep.axes) {
        vec_each (const struct value, v, &axis->values) {
            any = any || (str_eq(axis->name, "link") && !str_eq(v->s, "none"));
        }
    }
    return any || vec_any(&spec->sweep.points, it, shapes_link(it));
}

bool spec_knows_data(const struct spec *spec)
{
    return spec->workload.dataset != DATASET_SYNTHETIC || spec_has_profile(spec, PROFILE_NATIVE);
}

bool spec_system_has_role(const struct spec *spec, const struct system *system, enum role role)
{
    const bool is_used = role == ROLE_LAUNCHER
                             ? system->has_launcher
                             : exchange_need(system->exchange.kind, role) != EXCHANGE_NEEDS_NONE;
    return spec->roles[role].present && is_used;
}

const struct parameter *spec_find_parameter(const struct spec *spec, const char *name)
{
    return vec_find(&spec->parameters, it, str_eq(it->name, name));
}

const struct builtin builtins[BUILTIN_COUNT] = {
    {"batch_size", 1, BATCH_SIZE_MAX, -1},
    {"link", 0, 0, -1},
    {"pservers", 1, SPEC_MAX_IMPORTED, ROLE_PSERVER},
    {"threads", 1, THREADS_MAX, -1},
    {"trainers", 1, SPEC_MAX_IMPORTED, ROLE_TRAINER},
    {"workers", 1, SPEC_MAX_IMPORTED, ROLE_WORKER},
};

const struct builtin *builtin_find(const char *name)
{
    return array_find(builtins, BUILTIN_COUNT, it, str_eq(it->name, name));
}

static void sweep_done(struct sweep *sweep)
{
    vec_each (struct axis, axis, &sweep->axes) {
        free(axis->name);
        vec_each (struct value, v, &axis->values) {
            free(v->s);
        }
        vec_done(&axis->values);
    }
    vec_done(&sweep->axes);
    vec_done_each(&sweep->points, params_done);
    vec_done_each(&sweep->exclude, params_done);
    vec_free(&sweep->require);
}

static void parameter_done(struct parameter *parameter)
{
    free(parameter->name);
    json_decref(parameter->targets);
}

static void system_done(struct system *system)
{
    free(system->name);
    free(system->label);
    free(system->profile);
    free(system->exchange.other);
    log_rule_free(system->log);
    json_decref(system->job);
    json_decref(system->launch);
    for (int role = 0; role < ROLE_COUNT; role++) {
        texts_done(&system->commands[role]);
    }
    rendezvous_done(&system->rendezvous);
}

void trace_done(struct trace *trace)
{
    vec_each (struct trace_layer, layer, &trace->layers) {
        free(layer->name);
    }
    vec_done(&trace->layers);
}

static void metric_query_done(struct metric_query *metric)
{
    free(metric->name);
    free(metric->query);
}

void spec_free(struct spec *spec)
{
    if (spec == NULL) {
        return;
    }
    free(spec->name);
    free(spec->description);
    vec_done_each(&spec->systems, system_done);
    free(spec->workload.model);
    free(spec->workload.dataset_other);
    free(spec->workload.dataset_path);
    free(spec->workload.exchange.other);
    trace_done(&spec->workload.trace);
    sweep_done(&spec->sweep);
    vec_done_each(&spec->parameters, parameter_done);
    params_done(&spec->baseline.where);
    for (int i = 0; i < ROLE_COUNT; i++) {
        free(spec->roles[i].replicas.from);
        free(spec->roles[i].devices.from);
        json_decref(spec->roles[i].template);
    }
    vec_each (struct threshold, threshold, &spec->thresholds) {
        params_done(&threshold->where);
    }
    vec_done(&spec->thresholds);
    vec_done_each(&spec->metrics, metric_query_done);
    json_decref(spec->definition);
    free(spec);
}

const char *workload_dataset_name(const struct workload *workload)
{
    return workload->dataset == DATASET_OTHER ? workload->dataset_other
                                              : dataset_kind_names[workload->dataset];
}

const char *exchange_name(const struct exchange *exchange, enum exchange_kind kind)
{
    return kind == EXCHANGE_OTHER ? exchange->other : exchange_kind_names[kind];
}

bool spec_mixes_modes(const struct spec *spec)
{
    return vec_any(&spec->systems, s, !str_eq(s->label, s->name));
}

void spec_put_modes(const struct spec *spec, struct buf *out)
{
    const size_t before = out->len;
    vec_each (const struct system, s, &spec->systems) {
        if (!exchange_mode_eq(&s->exchange.mode, &EXCHANGE_MODE_SYNC)) {
            char mode[EXCHANGE_MODE_TEXT_MAX];
            exchange_mode_text(&s->exchange.mode, mode);
            buf_printf(out, out->len == before ? "%s exchanges by %s" : ", %s by %s", s->name,
                       mode);
        }
    }
}

void exchange_suffix(const struct exchange *exchange, char ret[static EXCHANGE_SUFFIX_MAX])
{
    static const char *const transports[EXCHANGE_TRANSPORT_COUNT] = {"", " TCP", " NCCL"};
    char mode[EXCHANGE_MODE_TEXT_MAX];
    exchange_mode_text(&exchange->mode, mode);
    const bool is_plain = exchange_mode_eq(&exchange->mode, &EXCHANGE_MODE_SYNC);
    (void)snprintf(ret, EXCHANGE_SUFFIX_MAX, "%s%s%s%s%s%.0u", /* %.0u of 0 is "" */
                   exchange->wire == EXCHANGE_WIRE_BF16 ? " BF16" : "", is_plain ? "" : " ",
                   is_plain ? "" : mode, transports[exchange->transport],
                   exchange->server_threads > 0 ? " serverThreads=" : "", exchange->server_threads);
}
