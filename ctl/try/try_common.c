/* See try_common.h. */
#include "ctl/try/try_common.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "base/whole_file.h"
#include "core/json_field.h"
#include "ctl/cli/human.h"
#include "ctl/definition/definition.h"
#include "ctl/try/try_learn.h"
#include "logparse/miss.h"
#include "logparse/suggest.h"
#include "spec/log_rule.h"

#define WRITE_STEPS 10 /* after the warm-up */

enum exit_code try_options_take(const struct cli *cli, struct try_options *ret)
{
    const char *timeout = args_get(&cli->args, "timeout", TRY_TIMEOUT);
    if (human_parse_duration(timeout, &ret->timeout_ms) < 0) {
        return cli_error(EXIT_USAGE, "for example --timeout 90s or --timeout 10m",
                         "--timeout '%s': expected a duration", timeout);
    }
    ret->writes = args_has(&cli->args, "write");
    return EXIT_OK;
}

/* "ours (1 worker): " */
static void put_who(const struct run_def *small, struct buf *out)
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

void try_take_result(struct try_trial *t, const struct result *result, try_log_fn get_log,
                     void *ctx)
{
    const struct trial_result *trial = &result->points[0].trials[0];
    const struct summary *s = NULL;
    point_open(&result->points[0]);
    for (size_t i = 0; i < trial->n_replicas; i++) {
        const struct replica_result *r = &trial->replicas[i];
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        s = s == NULL && replica_is_rated(r) ? &r->summary : s;
        if (get_log(ctx, &r->row->id, &text)) {
            try_seen_stored(&t->seen, &r->row->id, buf_cstr(&text), text.len);
        }
    }
    const bool is_of_log = t->small->spec->systems.items[0].log != NULL;
    t->has_failed = trial->phase != TRIAL_SUCCEEDED && trial->phase != TRIAL_METRICS_UNAVAILABLE;
    if (t->has_failed) {
        buf_printf(&t->out, "%s\n", trial->error == NULL ? "it did not end" : trial->error);
        buf_puts(&t->out, trial->details == NULL ? "" : trial->details);
        if (trial->details == NULL) {
            put_last_lines(trial, get_log, ctx, &t->out);
        }
    } else if (is_of_log || trial->phase != TRIAL_SUCCEEDED) {
        t->has_figure = try_seen_format(&t->seen, &t->out);
    } else {
        t->has_figure = true;
        try_put_figure(&t->out, s == NULL ? 0 : s->steps, trial->throughput, trial->unit, "", "");
    }
}

static enum exit_code exit_code_of(const struct try_trial *t)
{
    return t->end == TRY_INTERRUPTED ? EXIT_INTERRUPTED
           : t->has_figure           ? EXIT_OK
           : t->end == TRY_TIMED_OUT ? EXIT_TIMEOUT
                                     : EXIT_RUN_FAILED;
}

/* ---- the points ---- */

static uint32_t replicas_of(const struct point *p)
{
    return array_sum(p->replicas, ROLE_COUNT, n, *n);
}

static bool is_smaller(const struct point *a, const struct point *b)
{
    return replicas_of(a) != replicas_of(b) ? replicas_of(a) < replicas_of(b)
                                            : point_busy_threads(a) < point_busy_threads(b);
}

/* The swept point of the system with the fewest replicas, of at least so many that lead, then with
 * the fewest busy threads, then the lowest index; NULL: no swept point is of this system. */
static const struct point *smallest_point(const struct run_def *def, uint32_t system,
                                          uint32_t least)
{
    const struct point *best = NULL;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (p->system == system && p->replicas[point_leading_role(p)] >= least &&
            (best == NULL || is_smaller(p, best))) {
            best = p;
        }
    }
    return best;
}

/* The definition of a run of that point alone: one trial of so many measured steps, without a
 * warm-up, tried once. It still has all systems: load it with --systems of the point's. Owned. */
static json_t *make_definition(const struct try_params *p, const struct point *point, json_t *log)
{
    json_t *definition = json_deep_copy(p->def->spec->definition);
    json_t *spec = json_object_get(definition, "spec");
    json_t *params = params_to_json(&point->params);
    JSON_ADD(
        spec, {"sweep", json_pack("{s:[O]}", "points", params)},
        {"baseline", json_pack("{s:s, s:o}", "kind", "Point", "where", params)},
        {"repeats", json_pack("{s:i}", "min", 1)},
        {"measure", json_pack("{s:i, s:I}", "warmupSteps", 0, "steps", (json_int_t)TRY_STEPS)},
        {"failurePolicy", json_pack("{s:s, s:i}", "onTrialFailure", "Stop", "maxFailedTrials", 0)});
    if (log != NULL) {
        json_t *system = json_array_get(json_object_get(spec, "systems"), point->system);
        json_object_set(system, "log", log);
    }
    json_object_del(spec, "thresholds");
    json_object_del(spec, "metrics");
    json_object_del(spec, "local");
    json_t *policy = json_object_get(spec, "runPolicy");
    if (policy == NULL) {
        policy = json_object();
        JSON_ADD(spec, {"runPolicy", policy});
    }
    JSON_ADD(policy, {"backoffLimit", json_integer(0)});
    return definition;
}

/* NULL: the diagnostics were printed, and the whole definition had none. */
static struct run_def *make_small(const struct try_params *p, const struct point *point,
                                  json_t *log)
{
    json_auto_t *document = make_definition(p, point, log);
    const struct spec_overrides overrides = {
        .profiles = p->profiles, .systems = p->def->spec->systems.items[point->system].name};
    const struct run_def_params params = {
        .name = "try", .created_unix_ms = clock_unix_ms(), .cpus = p->def->cpus};
    return definition_of_document(document, "(the smallest point)", &overrides, params);
}

static void trial_free(struct try_trial *t)
{
    try_seen_done(&t->seen);
    run_def_free(t->small);
    buf_done(&t->out);
    *t = (struct try_trial){0};
}

static enum exit_code run_trial(const struct try_params *p, const struct point *point, json_t *log,
                                struct try_trial *ret)
{
    const int64_t warmup_steps = p->options->writes ? p->def->spec->warmup_steps : 0;
    trial_free(ret);
    ret->system = p->def->spec->systems.items[point->system].name;
    ret->small = make_small(p, point, log);
    if (ret->small == NULL) {
        return EXIT_USAGE;
    }
    try_seen_init(&ret->seen, ret->small,
                  p->options->writes ? warmup_steps + WRITE_STEPS : TRY_STEPS);
    ret->seen.unpaced_steps = warmup_steps;
    ret->seen.learns = p->options->writes;
    put_who(ret->small, &ret->out);
    char limit[HUMAN_SIZE];
    human_duration(p->options->timeout_ms, limit);
    cli_note(p->cli, "trying %.*s for %s at most; nothing is stored", (int)ret->out.len - 2,
             buf_cstr(&ret->out), limit);
    return p->run(p->ctx, ret);
}

/* ---- one system ---- */

struct lesson {
    const struct point *small, *large; /* `large` NULL: no point has several */
    struct try_trial one, several;
    struct buf rule; /* that was learned; empty: the file's is left */
    bool is_own;     /* the file has a rule that reads figures, and that somebody wrote */
    struct try_ending ending;
    json_t *log;     /* what was learned, for trials; owned; NULL: nothing */
    struct buf said; /* about scope and warm-up */
};

static void lesson_done(struct lesson *l)
{
    trial_free(&l->one);
    trial_free(&l->several);
    json_decref(l->log);
    buf_done(&l->rule);
    buf_done(&l->said);
}

/* Makes `log` of the rule and its ending. */
static void set_log(struct lesson *l, struct buf *text)
{
    buf_clear(text);
    try_put_rule(buf_cstr(&l->rule), &l->ending, text);
    json_decref(l->log);
    l->log = text->len == 0 ? NULL : try_json_of(buf_cstr(text), text->len);
}

static bool learn(struct lesson *l)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    if (l->one.has_failed || !try_learn_rule(&l->one.seen, &l->rule)) {
        return false;
    }
    set_log(l, &text);
    return true;
}

/* A rule that may have a scope: a shipped one becomes a rule in the definition. */
static void open_rule(struct lesson *l)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT, text = BUF_INIT;
    if (!str_has_prefix(buf_cstr(&l->rule), LOG_SUGGESTED) && try_open_rule(&l->one.seen, &rule)) {
        buf_clear(&l->rule);
        buf_append(&l->rule, rule.data, rule.len);
    }
    set_log(l, &text);
}

/* What the trial printed, by the rule that was learned. */
static void read_again(const struct try_params *p, const struct lesson *l,
                       const struct point *point, struct try_trial *t)
{
    struct run_def *small = make_small(p, point, l->log);
    if (small == NULL || t->has_failed) {
        run_def_free(small);
        return;
    }
    run_def_free(t->small);
    t->seen.def = t->small = small;
    buf_clear(&t->out);
    put_who(small, &t->out);
    t->has_figure = try_seen_format(&t->seen, &t->out);
}

/* With --write a figure is printed when the rule is complete. */
static enum exit_code conclude(const struct try_params *p, const struct try_trial *t)
{
    const enum exit_code code = exit_code_of(t);
    const bool is_last = code != EXIT_OK || !p->options->writes;
    return is_last && cli_print(&t->out) != EXIT_OK ? EXIT_LOCAL_RESOURCE : code;
}

static enum exit_code try_one(const struct try_params *p, struct lesson *l)
{
    const enum exit_code code = run_trial(p, l->small, NULL, &l->one);
    if (code != EXIT_OK) {
        return code;
    }
    const struct log_rule *rule = l->one.small->spec->systems.items[0].log;
    l->is_own = l->one.has_figure && (rule == NULL || log_rule_is_unnamed(rule));
    if (p->options->writes && !l->one.has_figure && learn(l)) {
        read_again(p, l, l->small, &l->one);
    }
    return conclude(p, &l->one);
}

/* The scope is unknown: nothing is written, and the answers are rules to write. */
static enum exit_code ask(const struct try_params *p, struct lesson *l)
{
    const bool is_rate = l->ending.is_rate;
    const char *const scopes[] = {"Each", "Job"};
    const char *const means[] = {is_rate ? "each worker has such a rate" : "each has its own batch",
                                 is_rate ? "it is the rate of all together"
                                         : "all together have one batch, whatever their number"};
    _cleanup_(buf_done) struct buf warmup = BUF_INIT;
    open_rule(l);
    try_learn_warmup(&l->one, p->def->spec->warmup_steps, true, &l->ending, &warmup);
    buf_puts(&l->said, "nothing was written; write one of these into the system:\n");
    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        l->ending.scope = scopes[i];
        l->ending.counts_steps = i == 1 && !is_rate;
        buf_puts(&l->said, "  log: ");
        try_put_rule(buf_cstr(&l->rule), &l->ending, &l->said);
        buf_printf(&l->said, "  # scope: %s, if %s\n", scopes[i], means[i]);
    }
    return cli_print(&l->said) == EXIT_OK ? EXIT_USAGE : EXIT_LOCAL_RESOURCE;
}

static enum exit_code try_several(const struct try_params *p, struct lesson *l)
{
    const enum exit_code code = run_trial(p, l->large, l->log, &l->several);
    if (code != EXIT_OK) {
        return code;
    }
    if (p->options->writes && !l->is_own && !l->several.has_failed) {
        if (!try_learn_scope(&l->one.seen, &l->several.seen, &l->ending, &l->said)) {
            return ask(p, l);
        }
        if (l->ending.scope != NULL) {
            open_rule(l);
            read_again(p, l, l->large, &l->several);
        }
    }
    return conclude(p, &l->several);
}

/* ---- the file ---- */

/* Reads what the trials printed by exactly the rule that `run` would use. */
static enum exit_code check_rule(const struct try_params *p, struct lesson *l)
{
    struct try_trial *const trials[] = {&l->one, &l->several};
    const struct point *const points[] = {l->small, l->large};
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < COUNT_OF(trials) && points[i] != NULL; i++) {
        struct try_trial *t = trials[i];
        if (t->small->spec->systems.items[0].log != NULL || l->log != NULL) {
            t->seen.warmup_steps = p->def->spec->warmup_steps;
            read_again(p, l, points[i], t);
        }
        if (!t->has_figure) {
            buf_puts(&t->out, "nothing was written\n");
        }
        code = code != EXIT_OK ? code : cli_print(&t->out);
        code = code != EXIT_OK ? code : exit_code_of(t);
    }
    return code;
}

static enum exit_code write_rule(const struct try_params *p, struct lesson *l)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(buf_done) struct buf text = BUF_INIT, rule = BUF_INIT;
    unsigned line = 0;
    const bool is_made = str_has_prefix(buf_cstr(&l->rule), LOG_SUGGESTED);
    try_learn_warmup(&l->one, p->def->spec->warmup_steps, is_made, &l->ending, &l->said);
    set_log(l, &rule);
    enum exit_code code = check_rule(p, l);
    code = code == EXIT_OK ? definition_open(p->cli, &file) : code;
    if (code != EXIT_OK) {
        return code;
    }
    if (rule.len == 0) {
        buf_printf(&l->said, "nothing to write: the figures are known without a change of %s\n",
                   file.path);
    } else if (!try_put_log(file.text, file.len, l->one.system, buf_cstr(&rule), &text, &line)) {
        return cli_error(EXIT_USAGE, "write it into the system yourself",
                         "%s: the place of the rule was not found: log: %s", file.path,
                         buf_cstr(&rule));
    } else {
        const int r = file_replace(file.path, &text);
        if (r < 0) {
            return cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write %s: %s", file.path,
                             strerror(-r));
        }
        buf_printf(&l->said, "wrote %s:%u: log: %s\n", file.path, line, buf_cstr(&rule));
    }
    buf_printf(&l->said, "next: benchctl run %s --local\n", file.path);
    return cli_print(&l->said);
}

static enum exit_code try_system(const struct try_params *p, uint32_t system)
{
    _cleanup_(lesson_done) struct lesson l = {.small = smallest_point(p->def, system, 1)};
    if (l.small == NULL) {
        return EXIT_OK; /* the sweep leaves it out */
    }
    const struct point *large = smallest_point(p->def, system, 2);
    const bool has_rule = p->def->spec->systems.items[system].log != NULL || p->options->writes;
    l.large = has_rule && large != l.small ? large : NULL;
    enum exit_code code = try_one(p, &l);
    code = code == EXIT_OK && l.large != NULL ? try_several(p, &l) : code;
    return code == EXIT_OK && p->options->writes ? write_rule(p, &l) : code;
}

enum exit_code try_each_system(const struct try_params *p)
{
    enum exit_code worst = EXIT_OK;
    for (uint32_t i = 0; i < p->def->spec->systems.len; i++) {
        const enum exit_code code = try_system(p, i);
        if (code == EXIT_INTERRUPTED) {
            return code;
        }
        worst = worst == EXIT_OK ? code : worst;
    }
    if (worst == EXIT_OK && !p->options->writes) {
        cli_note(p->cli, "this estimate includes warm-up steps; `benchctl run` skips "
                         "measure.warmupSteps and the rule's `skip`");
    }
    return worst;
}
