/* See try_common.h. */
#include "ctl/try/try_common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "ctl/definition/definition.h"
#include "ctl/cli/human.h"
#include "ctl/try/try_seen.h"
#include "logparse/miss.h"

enum exit_code try_options_take(const struct cli *cli, struct try_options *ret)
{
    const char *timeout = args_get(&cli->args, "timeout", TRY_TIMEOUT);
    if (human_parse_duration(timeout, &ret->timeout_ms) < 0) {
        return cli_error(EXIT_USAGE, "for example --timeout 90s or --timeout 10m",
                         "--timeout '%s': expected a duration", timeout);
    }
    const enum exit_code code = definition_number(cli, "steps", 1000000, &ret->steps);
    ret->steps = ret->steps == 0 ? TRY_STEPS : ret->steps;
    return code;
}

void try_put_who(const struct run_def *small, struct buf *out)
{
    const struct point *p = &small->matrix.points[0];
    buf_printf(out, "%s", small->spec->systems.items[0].name);
    const char *separator = " (";
    for (int role = ROLE_COUNT - 1; role >= 0; role--) {
        if (p->replicas[role] > 0) {
            buf_printf(out, "%s%u %s%s", separator, p->replicas[role],
                       role_to_string((enum role)role), p->replicas[role] == 1 ? "" : "s");
            separator = ", ";
        }
    }
    buf_puts(out, "): ");
}

/* The last lines of a program that failed. */
static void put_last_lines(const struct trial_result *trial, try_log_fn get_log, void *ctx,
                           struct buf *out)
{
    for (size_t i = 0; i < trial->n_replicas; i++) {
        const struct replica_row *rep = trial->replicas[i].row;
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        if (rep->failure != NULL && get_log(ctx, &rep->id, &text)) { /* else it printed nothing */
            buf_printf(out, "%s/%u, ", role_to_string(rep->id.role), rep->id.index);
            log_miss_put_tail(buf_cstr(&text), text.len, out);
            return;
        }
    }
}

bool try_put_result(const struct result *result, try_log_fn get_log, void *ctx, struct buf *out)
{
    const struct trial_result *trial = &result->points[0].trials[0];
    if (trial->phase != TRIAL_SUCCEEDED) {
        buf_printf(out, "%s\n", trial->error == NULL ? "it did not end" : trial->error);
        buf_puts(out, trial->details == NULL ? "" : trial->details);
        if (trial->details == NULL) {
            put_last_lines(trial, get_log, ctx, out);
        }
        return false;
    }
    const struct summary *s = NULL;
    for (size_t i = 0; i < trial->n_replicas; i++) {
        const struct replica_result *r = &trial->replicas[i];
        s = s == NULL && replica_is_rated(r) ? &r->summary : s;
    }
    const bool is_logged = s != NULL && s->source.rule != NULL;
    try_put_figure(out, s == NULL ? 0 : s->steps, trial->throughput.estimate.value,
                   trial->throughput.unit, is_logged ? s->source.rule : "",
                   is_logged ? s->source.method : "");
    return true;
}

enum exit_code try_exit_code(enum try_end end, bool has_figure)
{
    return end == TRY_INTERRUPTED ? EXIT_INTERRUPTED
           : has_figure           ? EXIT_OK
           : end == TRY_TIMED_OUT ? EXIT_TIMEOUT
                                  : EXIT_RUN_FAILED;
}

static uint32_t replicas_of(const struct point *p)
{
    return array_sum(p->replicas, ROLE_COUNT, n, *n);
}

static bool is_smaller(const struct point *a, const struct point *b)
{
    return replicas_of(a) != replicas_of(b) ? replicas_of(a) < replicas_of(b)
                                            : point_busy_threads(a) < point_busy_threads(b);
}

/* The swept point of the system with the fewest replicas, then the fewest busy threads, then the
 * lowest index; NULL: no swept point is of this system. */
static const struct point *smallest_point(const struct run_def *def, uint32_t system)
{
    const struct point *best = NULL;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (p->system == system && (best == NULL || is_smaller(p, best))) {
            best = p;
        }
    }
    return best;
}

/* The definition of a run of that point alone: one trial of so many measured steps, without a
 * warm-up, tried once. It still has all systems: load it with --systems of the point's. Owned. */
static json_t *make_definition(const struct try_params *p, const struct point *point)
{
    json_t *definition = json_deep_copy(p->def->spec->definition);
    json_t *spec = json_object_get(definition, "spec");
    json_t *params = params_to_json(&point->params);
    JSON_ADD(
        spec, {"sweep", json_pack("{s:[O]}", "points", params)},
        {"baseline", json_pack("{s:s, s:o}", "kind", "Point", "where", params)},
        {"repeats", json_pack("{s:i}", "min", 1)},
        {"measure", json_pack("{s:i, s:I}", "warmupSteps", 0, "steps", (json_int_t)p->steps)},
        {"failurePolicy", json_pack("{s:s, s:i}", "onTrialFailure", "Stop", "maxFailedTrials", 0)});
    json_object_del(spec, "thresholds");
    json_object_del(spec, "metrics");
    json_object_del(spec, "local");
    json_t *policy = json_object_get(spec, "runPolicy");
    if (policy == NULL) {
        policy = json_object();
        json_object_set_new(spec, "runPolicy", policy);
    }
    json_object_set_new(policy, "backoffLimit", json_integer(0));
    if (p->deadline_s > 0) {
        json_object_set_new(policy, "activeDeadlineSeconds", json_integer(p->deadline_s));
        json_object_set_new(policy, "ttlSecondsAfterFinished", json_integer(p->ttl_s));
    }
    return definition;
}

/* NULL: the diagnostics were printed, and the whole definition had none. */
static struct run_def *make_small(const struct try_params *p, const struct point *point)
{
    json_auto_t *document = make_definition(p, point);
    const struct spec_overrides overrides = {
        .profiles = p->profiles, .systems = p->def->spec->systems.items[point->system].name};
    const struct run_def_params params = {
        .name = "try", .created_unix_ms = clock_unix_ms(), .cpus = p->def->cpus};
    return definition_of_document(document, "(the smallest point)", &overrides, params);
}

enum exit_code try_each_system(const struct try_params *p)
{
    enum exit_code worst = EXIT_OK;
    for (uint32_t i = 0; i < p->def->spec->systems.len; i++) {
        const struct point *point = smallest_point(p->def, i);
        if (point == NULL) {
            continue; /* the sweep leaves it out */
        }
        _cleanup_(run_def_freep) struct run_def *small = make_small(p, point);
        const enum exit_code code =
            small == NULL ? EXIT_USAGE
                          : p->try_system(p->ctx, small, p->def->spec->systems.items[i].name);
        if (code == EXIT_INTERRUPTED) {
            return code;
        }
        worst = worst == EXIT_OK ? code : worst;
    }
    if (worst == EXIT_OK) {
        cli_note(p->cli, "this estimate includes warm-up steps; `benchctl run` skips "
                         "measure.warmupSteps and the rule's `skip`");
    }
    return worst;
}
