/* From a stored run to its run_def, and the ends of rows, see store.h. */
#include "store/store.h"

int store_load_run_def(const struct run_row *row, struct run_def **ret, struct err *err)
{
    _cleanup_(diags_done) struct diags diags = {0};
    const struct run_def_params params = {
        .name = row->name,
        .uid = row->uid,
        .created_unix_ms = row->created_unix_ms,
        .cpus = row->cpus,
    };
    static const struct diag none = {.path = "", .message = "no reason given"};
    const int r = run_def_load(row->definition_json, NULL, &params, ret, &diags);
    /* It was valid when it was frozen, so one problem is enough. */
    const struct diag *d = diags.list.len > 0 ? &diags.list.items[0] : &none;
    return r >= 0 ? r
                  : err_set(err, EBADMSG, "run '%s': its stored definition cannot be read: %s%s%s",
                            row->name, d->path, d->path[0] == '\0' ? "" : ": ", d->message);
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
