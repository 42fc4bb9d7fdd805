/* See export.h. */
#include "report/export.h"

#include "base/buf.h"
#include "base/str.h"
#include "report/run_labels.h"

void trial_put_mode(const struct result *r, struct buf *out)
{
    const size_t before = out->len;
    run_labels_put(r, out);
    if (r->def->spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out, "%semulated", out->len == before ? "" : ", ");
    }
    if (out->len == before) {
        buf_puts(out, "measured");
    }
}

static bool has_field(const char *name)
{
    return str_eq(name, "pservers") || str_eq(name, "trainers") || str_eq(name, "workers") ||
           str_eq(name, "batch_size") || str_eq(name, "threads");
}

char *trial_other_values(const struct params *params)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    vec_each (struct param, p, &params->list) {
        if (!has_field(p->name)) {
            buf_printf(&text, "%s%s=", text.len == 0 ? "" : " ", p->name);
            value_format(&p->value, &text);
        }
    }
    char *owned = xstrdup(buf_cstr(&text));
    return owned;
}
