/* From a stored run to its run_def, and the ends of rows, see store.h. */
#include "store/store.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "spec/spec_load.h"

/* The definition was valid when it was frozen, so one problem is enough. */
static int cannot_read(const struct run_row *row, const struct diags *diags, struct err *err)
{
    const struct diag *d = diags->list.len > 0 ? &diags->list.items[0] : NULL;
    return err_set(err, EBADMSG, "run '%s': its stored definition cannot be read: %s%s%s",
                   row->name, d == NULL ? "" : d->path, d == NULL || d->path[0] == '\0' ? "" : ": ",
                   d == NULL ? "no reason given" : d->message);
}

/* What was stored with the definition, apart from it: {"scheduling": ...}. Both owned. */
static char *take_apart(const char *json, char **ret_scheduling)
{
    json_auto_t *document =
        strstr(json, "\"scheduling\"") == NULL ? NULL : json_loads(json, JSON_ALLOW_NUL, NULL);
    *ret_scheduling = json_dumps(json_object_get(document, "scheduling"), JSON_COMPACT);
    (void)json_object_del(document, "scheduling"); /* it may have none */
    return document == NULL ? xstrdup(json) : json_dumps(document, JSON_COMPACT);
}

char *store_definition_text(const struct run_def *def)
{
    json_auto_t *document = json_copy(def->spec->definition);
    json_t *scheduling = scheduling_to_json(&def->scheduling);
    if (scheduling != NULL) {
        (void)json_object_set_new(document, "scheduling", scheduling); /* grows in memory only */
    }
    return json_dumps(document, JSON_COMPACT);
}

int store_load_run_def(const struct run_row *row, struct run_def **ret, struct err *err)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct scheduling scheduling;
    _cleanup_(freep) char *scheduling_json = NULL;
    _cleanup_(freep) char *definition = take_apart(row->definition_json, &scheduling_json);
    int r = scheduling_read(scheduling_json, NULL, &scheduling, err);
    if (r < 0) {
        return err_wrap(err, r, "run '%s'", row->name);
    }
    r = spec_load(definition, strlen(definition), NULL, &spec, &diags);
    if (r >= 0) {
        struct run_def_params params = {
            .name = row->name,
            .uid = row->uid,
            .created_unix_ms = row->created_unix_ms,
            .cpus = row->cpus,
        };
        r = run_def_new(spec, &params, ret, &diags); /* takes the spec */
    }
    if (r < 0) {
        scheduling_done(&scheduling);
        return cannot_read(row, &diags, err);
    }
    (*ret)->scheduling = scheduling;
    return r;
}

void run_row_done(struct run_row *row)
{
    free(row->uid);
    free(row->name);
    free(row->benchmark);
    free(row->definition_json);
    free(row->object_ns);
    *row = (struct run_row){0};
}

void event_row_done(struct event_row *row)
{
    free(row->reason);
    free(row->note);
    *row = (struct event_row){0};
}

void finished_runs_done(struct finished_runs *runs)
{
    vec_each (struct finished_run, run, &runs->oldest) {
        free(run->uid);
        free(run->name);
    }
    vec_done(&runs->oldest);
    *runs = (struct finished_runs){0};
}
