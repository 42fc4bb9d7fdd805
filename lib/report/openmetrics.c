/* A result as OpenMetrics text, see export.h. Where benchd's /metrics has a family, name, help and
 * labels are the same (docs/metrics.md). Each sample has the time at which what it says had been
 * measured, so that Prometheus can take in an old run with the dates of then. */
#include <math.h>

#include "base/str.h"
#include "report/export.h"
#include "report/run_labels.h"
#include "result/number.h"

/* A family by the unit that throughputs have; its samples are in base units. */
struct rate {
    const char *unit; /* of figures */
    const char *name; /* of metrics */
    double factor;
};
static const struct rate rates[] = {
    {"samples/s", "samples_per_second", 1}, {"steps/s", "steps_per_second", 1},
    {"words/s", "words_per_second", 1},     {"tokens/s", "tokens_per_second", 1},
    {"GB/s", "bytes_per_second", 1e9},      {"runs/s", "runs_per_second", 1},
    {"images/s", "images_per_second", 1},   {"sequences/s", "sequences_per_second", 1},
};
static const struct rate ratio = {"ratio", "ratio", 1};

struct writer {
    const struct result *r;
    struct buf *out;
};

/* Names and values of a definition are printable ASCII. */
static void put_label(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=\"", name);
    for (const char *c = value; *c != '\0'; c++) {
        buf_printf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    }
    buf_putc(out, '"');
}

static void put_run_labels(const struct writer *w)
{
    put_label(w->out, "{run", w->r->def->name);
    put_label(w->out, ",benchmark", w->r->def->spec->name);
}

static bool has_label(const char *name)
{
    static const char *const labels[] = {"pservers",   "trainers", "workers",
                                         "batch_size", "threads",  NULL};
    return str_is_one_of(name, labels);
}

char *openmetrics_other_values(const struct params *params)
{
    struct buf text = BUF_INIT;
    vec_each (struct param, p, &params->list) {
        if (!has_label(p->name)) {
            buf_printf(&text, "%s%s=", text.len == 0 ? "" : " ", p->name);
            value_format(&p->value, &text);
        }
    }
    return buf_take(&text);
}

static void put_point_labels(const struct writer *w, const struct point *p)
{
    _cleanup_(freep) char *other = openmetrics_other_values(&p->params);
    put_run_labels(w);
    put_label(w->out, ",system", w->r->def->spec->systems.items[p->system].name);
    buf_printf(w->out, ",point=\"%u\",pservers=\"%u\",trainers=\"%u\"", p->index,
               p->replicas[ROLE_PSERVER], point_training_replicas(p));
    if (p->batch_size > 0) {
        buf_printf(w->out, ",batch_size=\"%lld\"", (long long)p->batch_size);
    }
    buf_printf(w->out, ",threads=\"%lld\"", (long long)p->threads);
    put_label(w->out, ",other", other);
}

/* Ends the labels. A time of 0 is not known. */
static void put_value(struct buf *out, double value, int64_t unix_ms)
{
    buf_puts(out, "} ");
    number_format_exact(value, out);
    if (unix_ms > 0) {
        buf_printf(out, " %lld.%03lld", (long long)(unix_ms / 1000), (long long)(unix_ms % 1000));
    }
    buf_putc(out, '\n');
    buf_spill(out);
}

static void begin(struct buf *out, const char *name, const char *unit, const char *help)
{
    buf_printf(out, "# TYPE %s gauge\n", name);
    if (unit != NULL) {
        buf_printf(out, "# UNIT %s %s\n", name, unit);
    }
    buf_printf(out, "# HELP %s %s\n", name, help);
}

/* ---- when ---- */

static int64_t ended_of_point(const struct point_result *p)
{
    int64_t last = 0;
    point_each_trial (t, p) {
        if (t->row != NULL && t->row->ended_unix_ms > last) {
            last = t->row->ended_unix_ms;
        }
    }
    return last;
}

static int64_t ended_of_run(const struct result *r)
{
    int64_t last = 0;
    result_each_point (p, r) {
        const int64_t ended = ended_of_point(p);
        last = ended > last ? ended : last;
    }
    return last;
}

/* ---- the run ---- */

static void put_run(const struct writer *w)
{
    const struct result *r = w->r;
    const int64_t ended = ended_of_run(r);
    _cleanup_(buf_done) struct buf mode = BUF_INIT;
    run_labels_put_mode(r, &mode);
    begin(w->out, "benchd_run_info", NULL, "Always 1; the labels describe the run.");
    buf_puts(w->out, "benchd_run_info");
    put_run_labels(w);
    put_label(w->out, ",baseline", baseline_kind_names[r->def->spec->baseline.kind]);
    put_label(w->out, ",rehearsal", r->def->rehearsal ? "true" : "false");
    put_label(w->out, ",simulated", r->simulated ? "true" : "false");
    put_label(w->out, ",mode", buf_cstr(&mode));
    put_value(w->out, 1, ended);
    begin(w->out, "benchd_run_created_timestamp_seconds", "seconds", "When the run was frozen.");
    buf_puts(w->out, "benchd_run_created_timestamp_seconds");
    put_label(w->out, "{run", r->def->name);
    put_value(w->out, (double)r->def->created_unix_ms / 1000, ended);
    begin(w->out, "benchd_run_points", NULL, "Swept points of a run.");
    buf_puts(w->out, "benchd_run_points");
    put_label(w->out, "{run", r->def->name);
    put_value(w->out, r->def->matrix.n_swept, ended);
}

/* ---- points ---- */

#define LOW "Lower limit of its 95% interval."
#define HIGH "Upper limit of its 95% interval."

/* A figure of a point with its interval: "benchd_point_speedup", "_low" or "_high", "_ratio". */
static const struct family {
    const char *name, *help;
    size_t offset;    /* of the figure in a struct point_result */
    bool is_rate;     /* each unit has a family, in which the others have no sample */
    bool is_baseline; /* it is the baseline's, and has no limits */
} families[] = {
    {"benchd_point_throughput",
     "Throughput of a point, all trainers together: the median over its trials.",
     POINT_FIGURE(throughput), true, false},
    {"benchd_point_speedup", "Throughput divided by the baseline's.", POINT_FIGURE(speedup), false,
     false},
    {"benchd_point_efficiency", "Speedup divided by the number of trainers; the baseline's is 1.",
     POINT_FIGURE(efficiency), false, false},
    {"benchd_point_baseline_throughput", "Throughput of the baseline that the point divides by.",
     POINT_FIGURE(throughput), true, true},
};

/* 0: the value, 1: the lower limit, 2: the upper one. NaN: it has none. */
static double number_of(const struct figure *f, const struct rate *rate, int which)
{
    const struct estimate *e = &f->estimate;
    if (!e->known || !str_eq(f->unit, rate->unit) || (which > 0 && !e->has_interval)) {
        return NAN;
    }
    return rate->factor * (which == 0 ? e->value : which == 1 ? e->low : e->high);
}

static void put_point_family(const struct writer *w, const struct family *what,
                             const struct rate *rate, int which)
{
    static const char *const limits[] = {"", "_low", "_high"};
    _cleanup_(freep) char *name = xasprintf("%s%s_%s", what->name, limits[which], rate->name);
    bool has_begun = false;
    result_each_swept (p, w->r) {
        const struct point_result *of = what->is_baseline ? result_baseline(w->r, p) : p;
        const double value =
            of == NULL ? NAN : number_of(point_figure(of, what->offset), rate, which);
        if (isnan(value)) {
            continue;
        }
        if (!has_begun) {
            begin(w->out, name, rate->name, which == 0 ? what->help : which == 1 ? LOW : HIGH);
            has_begun = true;
        }
        buf_puts(w->out, name);
        put_point_labels(w, p->point);
        put_value(w->out, value, ended_of_point(p));
    }
}

static void put_figure(const struct writer *w, const struct family *what)
{
    for (size_t i = 0; i < (what->is_rate ? COUNT_OF(rates) : 1); i++) {
        for (int which = 0; which < (what->is_baseline ? 1 : 3); which++) {
            put_point_family(w, what, what->is_rate ? &rates[i] : &ratio, which);
        }
    }
}

static void put_points(const struct writer *w)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        put_figure(w, &families[i]);
    }
    begin(w->out, "benchd_point_trials_succeeded", NULL,
          "Trials from which the figures of a point are computed.");
    result_each_swept (p, w->r) {
        buf_puts(w->out, "benchd_point_trials_succeeded");
        put_point_labels(w, p->point);
        put_value(w->out, (double)p->n_succeeded, ended_of_point(p));
    }
}

/* ---- trials: those of the baseline, too ---- */

static void put_trial_family(const struct writer *w, const struct rate *rate)
{
    _cleanup_(freep) char *name = xasprintf("benchd_trial_throughput_%s", rate->name);
    bool has_begun = false;
    result_each_point (p, w->r) {
        point_each_trial (t, p) {
            if (t->phase != TRIAL_SUCCEEDED || !str_eq(t->unit, rate->unit)) {
                continue;
            }
            if (!has_begun) {
                begin(w->out, name, rate->name, "Throughput of one trial, all trainers together.");
                has_begun = true;
            }
            buf_puts(w->out, name);
            put_point_labels(w, p->point);
            buf_printf(w->out, ",kind=\"%s\",trial=\"%u\"",
                       p->point->is_baseline ? "baseline" : "point", t->trial);
            put_value(w->out, rate->factor * t->throughput, t->row->ended_unix_ms);
        }
    }
}

void openmetrics_write(const struct result *r, struct buf *out)
{
    const struct writer w = {r, out};
    put_run(&w);
    put_points(&w);
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        put_trial_family(&w, &rates[i]);
    }
    buf_puts(out, "# EOF\n");
}
