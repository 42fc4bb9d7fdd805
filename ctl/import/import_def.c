/* See import_def.h. */
#include "ctl/import/import_def.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "ctl/cli/cli.h"
#include "spec/spec.h"

/* ---- points ---- */

static bool same_params(const struct params *a, const struct params *b)
{
    return a->list.len == b->list.len && params_contain(a, b);
}

static const struct import_trial *find_trial(const struct import_trials *trials,
                                             const struct params *params)
{
    return vec_find(&trials->list, it, same_params(&it->params, params));
}

static size_t count_trials(const struct import_trials *trials, const struct params *params)
{
    return vec_sum(&trials->list, it, (size_t)same_params(&it->params, params));
}

static int64_t number_of(const struct import_trial *trial, const char *name)
{
    const struct value *v = params_get(&trial->params, name);
    return v == NULL ? 0 : v->i;
}

/* Fewer who train, then fewer servers. */
static const struct import_trial *smallest(const struct import_trials *trials)
{
    const struct import_trial *best = trials->list.items;
    vec_each (const struct import_trial, it, &trials->list) {
        const int64_t n = number_of(it, trials->count), n_best = number_of(best, trials->count);
        if (n < n_best ||
            (n == n_best && number_of(it, "pservers") < number_of(best, "pservers"))) {
            best = it;
        }
    }
    return best;
}

/* ---- the definition ---- */

/* Each once, in the order of the command line; that of a single node is the baseline. */
static json_t *points_to_json(const struct import_trials *trials)
{
    json_t *list = json_array();
    vec_each (const struct import_trial, it, &trials->list) {
        if (find_trial(trials, &it->params) == it && !import_trial_is_single(trials, it)) {
            json_array_append_new(list, params_to_json(&it->params));
        }
    }
    return list;
}

/* Does every point have its baseline among the logs, if these values of
 * `base` are those of each? */
static bool is_everywhere(const struct import_trials *trials, const struct params *where)
{
    bool is_known = true;
    vec_each (const struct import_trial, it, &trials->list) {
        _cleanup_(params_done) struct params params = {0};
        params_copy(&it->params, &params);
        vec_each (const struct param, p, &where->list) {
            params_set(&params, p->name, &p->value);
        }
        is_known = is_known && find_trial(trials, &params) != NULL;
    }
    return is_known;
}

/* The fewest who train with the fewest servers, all else as in each point; where some point has no
 * such log, one point is the baseline of all. */
static json_t *baseline_to_json(const struct import_trials *trials)
{
    if (vec_any(&trials->list, it, import_trial_is_single(trials, it))) {
        return json_pack("{s:s}", "kind", "SingleNode");
    }
    const struct import_trial *base = smallest(trials);
    _cleanup_(params_done) struct params counts = {0};
    params_set(&counts, trials->count, params_get(&base->params, trials->count));
    const struct value *pservers = params_get(&base->params, "pservers");
    if (pservers != NULL) {
        params_set(&counts, "pservers", pservers);
    }
    const struct params *where = is_everywhere(trials, &counts) ? &counts : &base->params;
    return json_pack("{s:s, s:o}", "kind", "Point", "where", params_to_json(where));
}

/* Names of the user's own must be declared; a variable is where a run would have had the value. */
static json_t *parameters_to_json(const struct import_trials *trials, const char *role)
{
    json_t *list = json_array();
    vec_each (const struct param, p, &trials->list.items[0].params.list) {
        if (builtin_find(p->name) == NULL) {
            json_array_append_new(list, json_pack("{s:s, s:[{s:[s], s:[s]}]}", "name", p->name,
                                                  "targets", "roles", role, "env", p->name));
        }
    }
    return list;
}

static json_t *roles_to_json(const struct import_trials *trials, const char *role, bool has_devices)
{
    json_t *roles = json_pack("{s:{s:{s:s}}}", role, "replicas", "from", trials->count);
    const bool has_pservers = params_get(&trials->list.items[0].params, "pservers") != NULL;
    JSON_ADD(json_object_get(roles, role),
             {"devices", has_devices ? json_pack("{s:i}", "value", 1) : NULL});
    JSON_ADD(roles, {"pserver",
                     has_pservers ? json_pack("{s:{s:s}}", "replicas", "from", "pservers") : NULL});
    return roles;
}

static json_t *workload_to_json(const struct import_options *options)
{
    json_t *workload = json_pack("{s:s, s:{s:s}, s:{s:s}}", "model", options->model, "dataset",
                                 "kind", options->dataset, "exchange", "kind", options->exchange);
    const struct flops *f = &options->flops;
    JSON_ADD(workload,
             {"batchSize", options->batch_size > 0 ? json_integer(options->batch_size) : NULL},
             {"flops", f->parameters > 0 ? json_pack("{s:f, s:I}", "parameters", f->parameters,
                                                     "sequence", (json_int_t)f->sequence)
                                         : NULL});
    return workload;
}

static size_t most_trials(const struct import_trials *trials)
{
    size_t most = 0;
    vec_each (const struct import_trial, it, &trials->list) {
        const size_t n = count_trials(trials, &it->params);
        most = n > most ? n : most;
    }
    return most;
}

json_t *import_definition(const struct import_options *options, const struct import_trials *trials)
{
    const char *role = str_eq(trials->count, "workers") ? "worker" : "trainer";
    json_t *spec = json_pack(
        "{s:s, s:[{s:s, s:s, s:O}], s:o, s:{s:o}, s:o, s:o, s:{s:I}, s:{s:I, s:s}}", "description",
        "read from old logs, not measured by benchd", "systems", "name", options->system, "profile",
        PROFILE_IMPORTED, "log", options->rule, "workload", workload_to_json(options), "sweep",
        "points", points_to_json(trials), "baseline", baseline_to_json(trials), "roles",
        roles_to_json(trials, role, options->has_devices), "measure", "steps",
        (json_int_t)options->steps, "repeats", "min", (json_int_t)most_trials(trials), "order",
        "Sequential");
    const char *goal = options->goal.kind == GOAL_LOSS ? "loss" : "accuracy";
    JSON_ADD(
        json_object_get(spec, "measure"),
        {"warmupSteps", options->warmup_steps >= 0 ? json_integer(options->warmup_steps) : NULL},
        {"timeToAccuracy",
         options->goal.kind != GOAL_NONE ? json_pack("{s:f}", goal, options->goal.value) : NULL});
    json_auto_t *parameters = parameters_to_json(trials, role);
    JSON_ADD(spec,
             {"parameters", json_array_size(parameters) > 0 ? json_incref(parameters) : NULL});
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "Benchmark", "metadata", "name", options->name, "spec", spec);
}

/* ---- trials to points ---- */

static enum exit_code check_point(const struct run_def *def, const struct import_trials *trials,
                                  const struct point *point)
{
    const size_t n = count_trials(trials, &point->params);
    if (n == (size_t)def->spec->repeats) {
        return EXIT_OK;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    params_format(&point->params, ",", &text);
    const char *what = point->is_baseline ? "the baseline " : "";
    _cleanup_(freep) char *fix = xasprintf("add %s:FILE", buf_cstr(&text));
    return n == 0 ? cli_error(EXIT_USAGE, fix, "%s%s has no log", what, buf_cstr(&text))
                  : cli_error(EXIT_USAGE, "give each point the same number of logs",
                              "%s%s has %zu trial%s, but another point has %" PRId64, what,
                              buf_cstr(&text), n, n == 1 ? "" : "s", def->spec->repeats);
}

enum exit_code import_assign(const struct run_def *def, const struct import_trials *trials,
                             struct import_slot **ret)
{
    struct import_slot *slots = *ret = xnew_array(struct import_slot, trials->list.len);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const enum exit_code code = check_point(def, trials, &def->matrix.points[i]);
        if (code != EXIT_OK) {
            return code;
        }
        uint32_t n = 0;
        for (size_t k = 0; k < trials->list.len; k++) {
            if (same_params(&trials->list.items[k].params, &def->matrix.points[i].params)) {
                slots[k] = (struct import_slot){i, n++};
            }
        }
    }
    return EXIT_OK;
}
