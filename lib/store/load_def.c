/* From a stored run to its run_def, see store.h. */
#include "store/store.h"

#include <string.h>

#include "spec/spec_load.h"

/* The definition was valid when it was frozen, so one problem is enough. */
static int cannot_read(const struct run_row *row, const struct diags *diags, struct err *err)
{
    const struct diag *d = diags->list.len > 0 ? &diags->list.items[0] : NULL;
    return err_set(err, EBADMSG, "run '%s': its stored definition cannot be read: %s%s%s",
                   row->name, d == NULL ? "" : d->path, d == NULL || d->path[0] == '\0' ? "" : ": ",
                   d == NULL ? "no reason given" : d->message);
}

int store_load_run_def(const struct run_row *row, struct run_def **ret, struct err *err)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    int r = spec_load(row->definition_json, strlen(row->definition_json), NULL, &spec, &diags);
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
        r = cannot_read(row, &diags, err);
    }
    return r;
}
