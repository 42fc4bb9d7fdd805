/* See trial_export.h. */
#include "report/trial_export.h"

#include <math.h>

#include "base/buf.h"
#include "base/str.h"
#include "report/marks.h"

static bool is_number(double value)
{
    return !isnan(value);
}

struct trial_work trial_work_of(const struct point *point, const struct trial_result *trial)
{
    struct trial_work work = {.loss_last = NAN, .accuracy_last = NAN};
    const enum role role = point_leading_role(point);
    bool is_counted = false; /* by one process for all of them */
    for (size_t i = 0; i < trial->n_replicas; i++) {
        const struct replica_result *r = &trial->replicas[i];
        if (r->row->id.role != role || !replica_is_rated(r)) {
            continue;
        }
        const struct summary *s = &r->summary;
        if (s->duration_ns > work.duration_ns) {
            work.duration_ns = s->duration_ns;
            work.steps = s->steps;
        }
        work.samples = is_counted ? work.samples : work.samples + s->samples;
        is_counted = is_counted || s->source.is_job;
        work.loss_last = is_number(work.loss_last) ? work.loss_last : s->loss_last;
        if (!is_number(work.accuracy_last) && s->source.rule != NULL) {
            work.accuracy_last = s->source.accuracy_last;
        }
    }
    return work;
}

void trial_put_mode(const struct result *r, struct buf *out)
{
    const size_t before = out->len;
    marks_put(r, out);
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
    struct buf text = BUF_INIT;
    vec_each (struct param, p, &params->list) {
        if (!has_field(p->name)) {
            buf_printf(&text, "%s%s=", text.len == 0 ? "" : " ", p->name);
            value_format(&p->value, &text);
        }
    }
    char *owned = xstrdup(buf_cstr(&text));
    buf_done(&text);
    return owned;
}
