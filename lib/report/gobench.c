/* A result in Go's benchmark format (golang.org/design/14313-benchmark-format), for benchstat
 * and whatever else reads it; see export.h. One line a succeeded trial, so that a reader has
 * the repeats and makes its own statistics. What differs from run to run is a comment:
 * benchstat makes a table of its own for each combination of configuration lines, and two runs
 * would not meet in one. */
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "report/export.h"
#include "report/run_labels.h"
#include "result/number.h"

/* A value in a name; it is printable ASCII. A blank ends a name, "/" and "=" begin a part of it,
 * and "%" is the escape itself, so no two values look alike. */
static void put_value(struct buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (strchr(" /=%", *c) != NULL) {
            buf_printf(out, "%%%02X", (unsigned)*c);
        } else {
            buf_putc(out, *c);
        }
    }
}

/* The last part is Go's GOMAXPROCS. Here it is how many threads the trial keeps busy; without it a
 * reader would take a value such as "resnet-50" for it. */
static void put_name(struct buf *out, const struct run_def *def, const struct point *point)
{
    const char *name = def->spec->name;
    buf_printf(out, "Benchmark%c", ascii_upper(name[0]));
    put_value(out, name + 1);
    if (def->spec->systems.len > 1) {
        buf_puts(out, "/system=");
        put_value(out, def->spec->systems.items[point->system].name);
    }
    vec_each (struct param, p, &point->params.list) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        value_format(&p->value, &text);
        buf_printf(out, "/%s=", p->name);
        put_value(out, buf_cstr(&text));
    }
    buf_printf(out, "%s-%lld", point->is_baseline ? "/baseline" : "",
               (long long)point_busy_threads(point));
}

static void put_line(struct buf *out, const char *key, const char *text)
{
    _cleanup_(freep) char *clean = text_without_control(text, "", ' ');
    buf_printf(out, "%s: %s\n", key, clean);
}

/* Each text once, in the order of the replicas. */
static void put_hardware(struct buf *out, const struct result *r, const char *key,
                         enum hardware_text which)
{
    _cleanup_(buf_done) struct buf all = BUF_INIT;
    for (size_t i = 0; i < r->hardware.len; i++) {
        const char *text = r->hardware.items[i].texts[which];
        bool is_new = text != NULL;
        for (size_t k = 0; k < i && is_new; k++) {
            const char *before = r->hardware.items[k].texts[which];
            is_new = before == NULL || !str_eq(before, text);
        }
        if (is_new) {
            buf_printf(&all, "%s%s", all.len == 0 ? "" : " and ", text);
        }
    }
    if (all.len > 0) {
        put_line(out, key, buf_cstr(&all));
    }
}

static void put_head(struct buf *out, const struct result *r)
{
    _cleanup_(buf_done) struct buf mode = BUF_INIT;
    run_labels_put_mode(r, &mode);
    put_line(out, "benchmark", r->def->spec->name);
    put_line(out, "mode", buf_cstr(&mode));
    put_hardware(out, r, "cpu", HARDWARE_CPU_MODEL);
    put_line(out, "# run", r->def->name);
    put_line(out, "# phase", run_phase_to_string(r->phase));
    put_hardware(out, r, "# build", HARDWARE_BUILD);
    put_hardware(out, r, "# source", HARDWARE_SOURCE);
    put_hardware(out, r, "# kernel", HARDWARE_KERNEL);
}

/* More is better of each unit that occurs; benchstat reads this before the figures. */
static void put_units(struct buf *out, const struct result *r)
{
    VEC(const char *) seen = {0}; /* units are static */
    result_each_point (p, r) {
        const struct figure *f = &p->throughput;
        if (f->estimate.known && !vec_any(&seen, unit, *unit == f->unit)) {
            *vec_push(&seen) = f->unit;
            buf_printf(out, "Unit %s better=higher\n", f->unit);
        }
    }
    vec_done(&seen);
}

/* Of the replicas whose figures are the point's, the one that took longest; NULL: unknown. */
static const struct summary *longest_work(const struct point *point, const struct trial_result *t)
{
    const enum role role = point_leading_role(point);
    const struct summary *longest = NULL;
    trial_each_replica (r, t) {
        if (r->row->id.role == role && replica_is_rated(r) &&
            r->summary.duration_ns > (longest == NULL ? 0 : longest->duration_ns)) {
            longest = &r->summary;
        }
    }
    return longest;
}

static void put_trial(struct buf *out, const struct run_def *def, const struct point *point,
                      const struct trial_result *t)
{
    const struct summary *work = longest_work(point, t);
    put_name(out, def, point);
    if (work != NULL && work->steps > 0) {
        buf_printf(out, "\t%u\t", work->steps);
        number_format_exact((double)work->duration_ns / work->steps, out);
        buf_puts(out, " ns/op\t");
    } else {
        buf_puts(out, "\t1\t");
    }
    number_format_exact(t->throughput, out);
    buf_printf(out, " %s\n", t->unit);
}

void gobench_write(const struct result *r, struct buf *out)
{
    put_head(out, r);
    put_units(out, r);
    result_each_point (p, r) {
        point_open(p);
        point_each_trial (t, p) {
            if (t->phase == TRIAL_SUCCEEDED) {
                put_trial(out, r->def, p->point, t);
            }
        }
        if (p->n_succeeded < p->n_trials) {
            buf_printf(out, "# point %u: %zu of %zu trials succeeded\n", p->point->index,
                       p->n_succeeded, p->n_trials);
        }
        buf_spill(out);
    }
}
