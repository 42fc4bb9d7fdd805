/* See try_common.h. */
#include "ctl/try/try_common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/definition/definition.h"
#include "ctl/cli/human.h"
#include "ctl/try/try_seen.h"
#include "logparse/miss.h"
#include "spec/spec_load.h"

#define PLACEHOLDER_UID "00000000-0000-4000-8000-000000000000"

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

struct run_def *try_def_new(json_t *document_take, const struct run_def *def,
                            const struct point *point, const struct profiles *profiles)
{
    _cleanup_(freep) char *text = json_dumps(document_take, JSON_COMPACT);
    json_decref(document_take);
    const struct spec_overrides overrides = {
        .profiles = profiles, .systems = def->spec->systems.items[point->system].name};
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *small = NULL;
    const struct run_def_params params = {.name = "try",
                                          .uid = PLACEHOLDER_UID,
                                          .created_unix_ms = clock_unix_ms(),
                                          .cpus = def->cpus};
    int r = text == NULL ? -EINVAL : spec_load(text, strlen(text), &overrides, &spec, &diags);
    if (r >= 0) {
        r = run_def_new(spec, &params, &small, &diags);
    }
    if (r < 0) {
        (void)cli_print_diags(&diags, "(the smallest point)", text); /* NULL says so too */
    }
    return small;
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

enum exit_code try_each_system(const struct cli *cli, const struct run_def *def,
                               enum exit_code (*try_system)(void *ctx, uint32_t system), void *ctx)
{
    enum exit_code worst = EXIT_OK;
    for (uint32_t i = 0; i < def->spec->systems.len; i++) {
        const enum exit_code code = try_system(ctx, i);
        if (code == EXIT_INTERRUPTED) {
            return code;
        }
        worst = worst == EXIT_OK ? code : worst;
    }
    if (worst == EXIT_OK) {
        cli_note(cli, "this estimate includes warm-up steps; `benchctl run` skips "
                      "measure.warmupSteps and the rule's `skip`");
    }
    return worst;
}
