/* The definition of a run whose figures come from old logs, and which trial is of which point. */
#include <inttypes.h>

#include "base/str.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import.h"
#include "spec/spec.h"

/* ---- points ---- */

static bool is_of(const struct import_trial *trial, const struct params *params)
{
    return trial->params.list.len == params->list.len && params_contain(&trial->params, params);
}

static const struct import_trial *find_trial(const struct import *im, const struct params *params)
{
    return vec_find(&im->trials, it, is_of(it, params));
}

static size_t count_trials(const struct import *im, const struct params *params)
{
    return vec_sum(&im->trials, it, (size_t)is_of(it, params));
}

/* Each point is listed once, in the order of the command line; a single node is the baseline. */
static json_t *points_to_json(const struct import *im)
{
    json_t *list = json_array();
    vec_each (const struct import_trial, it, &im->trials) {
        if (find_trial(im, &it->params) == it && !import_is_single(it)) {
            (void)json_array_append_new(list, params_to_json(&it->params)); /* grows in memory */
        }
    }
    return list;
}

/* ---- the baseline ---- */

static int64_t count_servers(const struct import_trial *trial)
{
    const struct value *v = params_get(&trial->params, "pservers");
    return v == NULL ? 0 : v->i;
}

/* Fewer who train, then fewer servers. */
static const struct import_trial *smallest(const struct import *im)
{
    const struct import_trial *best = im->trials.items;
    vec_each (const struct import_trial, it, &im->trials) {
        const int64_t more = import_count(im, it) - import_count(im, best);
        best = more < 0 || (more == 0 && count_servers(it) < count_servers(best)) ? it : best;
    }
    return best;
}

/* Is there a log of the point with these values instead? */
static bool has_with(const struct import *im, const struct import_trial *trial,
                     const struct params *where)
{
    _cleanup_(params_done) struct params params = {0};
    params_copy(&trial->params, &params);
    vec_each (const struct param, p, &where->list) {
        params_set(&params, p->name, &p->value);
    }
    return find_trial(im, &params) != NULL;
}

/* The fewest who train with the fewest servers, all else as in each point; where some point has no
 * such log, one point is the baseline of all. */
static json_t *baseline_to_json(const struct import *im)
{
    if (vec_any(&im->trials, it, import_is_single(it))) {
        return json_pack("{s:s}", "kind", "SingleNode");
    }
    const struct import_trial *base = smallest(im);
    _cleanup_(params_done) struct params counts = {0};
    vec_each (const struct param, p, &base->params.list) {
        if (str_eq(p->name, im->count) || str_eq(p->name, "pservers")) {
            params_set(&counts, p->name, &p->value);
        }
    }
    const bool is_everywhere = vec_all(&im->trials, it, has_with(im, it, &counts));
    return json_pack("{s:s, s:o}", "kind", "Point", "where",
                     params_to_json(is_everywhere ? &counts : &base->params));
}

/* ---- the definition ---- */

/* Names of the user's own must be declared; a variable is where a run would have had the value. */
static json_t *parameters_to_json(const struct import *im, const char *role)
{
    json_t *list = json_array();
    vec_each (const struct param, p, &im->trials.items[0].params.list) {
        if (builtin_find(p->name) == NULL) {
            (void)json_array_append_new(list, /* grows in memory */
                                        json_pack("{s:s, s:[{s:[s], s:[s]}]}", "name", p->name,
                                                  "targets", "roles", role, "env", p->name));
        }
    }
    return json_array_size(list) > 0 ? list : (json_decref(list), NULL);
}

static json_t *roles_to_json(const struct import *im, const char *role)
{
    const bool has_pservers = params_get(&im->trials.items[0].params, "pservers") != NULL;
    return json_pack("{s:{s:{s:s}, s:o*}, s:o*}", role, "replicas", "from", im->count, "devices",
                     im->has_devices ? json_pack("{s:i}", "value", 1) : NULL, "pserver",
                     has_pservers ? json_pack("{s:{s:s}}", "replicas", "from", "pservers") : NULL);
}

static json_t *workload_to_json(const struct import *im)
{
    const struct flops *f = &im->flops;
    return json_pack("{s:s, s:{s:s}, s:{s:s}, s:o*, s:o*}", "model", im->model, "dataset", "kind",
                     NAME_UNKNOWN, "exchange", "kind", im->exchange, "batchSize",
                     im->batch_size > 0 ? json_integer(im->batch_size) : NULL, "flops",
                     f->parameters > 0
                         ? json_pack("{s:I, s:I}", "parameters", (json_int_t)f->parameters,
                                     "sequence", (json_int_t)f->sequence)
                         : NULL);
}

static json_t *measure_to_json(const struct import *im)
{
    const char *goal = im->goal.kind == GOAL_LOSS ? "loss" : "accuracy";
    _cleanup_(freep) char *decimal = xasprintf("%.15g", im->goal.value);
    return json_pack("{s:I, s:o*, s:o*}", "steps", (json_int_t)im->steps, "warmupSteps",
                     im->warmup_steps >= 0 ? json_integer(im->warmup_steps) : NULL,
                     "timeToAccuracy",
                     im->goal.kind != GOAL_NONE ? json_pack("{s:s}", goal, decimal) : NULL);
}

static json_t *definition_to_json(const struct import *im)
{
    const char *role = str_eq(im->count, "workers") ? "worker" : "trainer";
    size_t repeats = 1;
    vec_each (const struct import_trial, it, &im->trials) {
        const size_t n = count_trials(im, &it->params);
        repeats = n > repeats ? n : repeats;
    }
    json_t *spec = json_pack(
        "{s:s, s:[{s:s, s:s, s:O}], s:o, s:{s:o}, s:o, s:o, s:o, s:{s:I, s:s}, s:o*}",
        "description", "read from old logs, not measured by benchd", "systems", "name", im->system,
        "profile", PROFILE_IMPORTED, "log", im->rule_json, "workload", workload_to_json(im),
        "sweep", "points", points_to_json(im), "baseline", baseline_to_json(im), "roles",
        roles_to_json(im, role), "measure", measure_to_json(im), "repeats", "min",
        (json_int_t)repeats, "order", "Sequential", "parameters", parameters_to_json(im, role));
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "Benchmark", "metadata", "name", im->name, "spec", spec);
}

/* ---- trials to points ---- */

static enum exit_code check_point(const struct import *im, const struct point *point)
{
    const size_t n = count_trials(im, &point->params);
    if (n == (size_t)im->def->spec->repeats) {
        return EXIT_OK;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    params_format(&point->params, ",", &text);
    const char *what = point->is_baseline ? "the baseline " : "";
    _cleanup_(freep) char *fix = xasprintf("add %s:FILE", buf_cstr(&text));
    return n == 0 ? cli_error(EXIT_USAGE, fix, "%s%s has no log", what, buf_cstr(&text))
                  : cli_error(EXIT_USAGE, "give each point the same number of logs",
                              "%s%s has %zu trial%s, but another point has %" PRId64, what,
                              buf_cstr(&text), n, n == 1 ? "" : "s", im->def->spec->repeats);
}

static void assign(struct import_trial *trial, uint32_t point, uint32_t number)
{
    trial->row.id = (struct attempt_id){point, number, 0};
    vec_each (struct import_log *const, l, &trial->logs) {
        (*l)->id.attempt = trial->row.id;
    }
}

enum exit_code import_define(struct import *im)
{
    json_auto_t *document = definition_to_json(im);
    const struct run_def_params params = {.name = "import"};
    im->def = definition_of_document(document, "(the definition of these logs)", NULL, params);
    enum exit_code code = im->def == NULL ? EXIT_USAGE : EXIT_OK;
    for (uint32_t i = 0; code == EXIT_OK && i < im->def->matrix.n_points; i++) {
        const struct point *point = &im->def->matrix.points[i];
        uint32_t n = 0;
        code = check_point(im, point);
        vec_each (struct import_trial, it, &im->trials) {
            if (is_of(it, &point->params)) {
                assign(it, i, n++);
            }
        }
    }
    return code;
}
