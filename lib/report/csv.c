/* A result as CSV, see report.h and docs/contracts/result.md. */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "report/csv.h"
#include "report/report.h"
#include "result/number.h"
#include "result/resources.h"

static const char *const before_params[] = {"kind", "run", "benchmark", "point", "system", "phase"};
static const char *const after_params[] = {
    "throughput",
    "throughput_unit",
    "throughput_low",
    "throughput_high",
    "throughput_method",
    "throughput_min",
    "throughput_max",
    "speedup",
    "speedup_low",
    "speedup_high",
    "efficiency",
    "efficiency_low",
    "efficiency_high",
    "ratio_method",
    "baseline_kind",
    "baseline_point",
    "baseline_throughput",
    "trials_succeeded",
    "trials_total",
    "rehearsal",
    "simulated",
    "pods",
    "cpus",
    "efficiency_per_pod",
    "efficiency_per_pod_low",
    "efficiency_per_pod_high",
    "efficiency_per_cpu",
    "efficiency_per_cpu_low",
    "efficiency_per_cpu_high",
    "imported",
    "time_to_accuracy_s",
    "time_to_accuracy_s_low",
    "time_to_accuracy_s_high",
    "trials_reached",
    "accuracy_after_time",
    "accuracy_after_time_low",
    "accuracy_after_time_high",
};
#define N(array) (sizeof(array) / sizeof((array)[0]))
#define N_ACCURACY_COLUMNS 7 /* the last ones; only where the definition asks for them */

static bool is_in(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void csv_collect(struct csv_names *names, const struct result *r)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        vec_each (struct param, p, &r->points[i].point->params.list) {
            if (!is_in(names->list.items, names->list.len, p->name)) {
                *vec_push(&names->list) = p->name;
            }
        }
    }
    if (names->list.len > 1) {
        qsort(names->list.items, names->list.len, sizeof(*names->list.items), compare_names);
    }
}

static bool is_formula(const char *text)
{
    double number;
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && parse_f64(text, &number) < 0;
}

void csv_text(struct buf *out, const char *text)
{
    const char *mark = is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        buf_printf(out, "%s%s", mark, text);
        return;
    }
    buf_printf(out, "\"%s", mark);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            buf_putc(out, '"');
        }
        buf_putc(out, *text);
    }
    buf_putc(out, '"');
}

void csv_header(struct buf *out, const struct csv_columns *columns, const struct csv_names *names)
{
    for (size_t i = 0; i < columns->n_before; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ",", columns->before[i]);
    }
    vec_each (const char *, name, &names->list) {
        const bool taken = is_in(columns->before, columns->n_before, *name) ||
                           is_in(columns->after, columns->n_after, *name);
        buf_printf(out, ",%s%s", taken ? "param_" : "", *name);
    }
    for (size_t i = 0; i < columns->n_after; i++) {
        buf_printf(out, ",%s", columns->after[i]);
    }
    buf_puts(out, "\n");
}

void csv_params(struct buf *out, const struct csv_names *names, const struct params *params)
{
    vec_each (const char *, name, &names->list) {
        const struct value *v = params_get(params, *name);
        struct buf text = BUF_INIT;
        if (v != NULL) {
            value_format(v, &text);
        }
        buf_putc(out, ',');
        csv_text(out, buf_cstr(&text));
        buf_done(&text);
    }
}

void csv_number(struct buf *out, double value)
{
    buf_putc(out, ',');
    number_format_exact(value, out);
}

void csv_interval(struct buf *out, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    csv_number(out, e->known ? e->value : NAN);
    csv_number(out, has ? e->low : NAN);
    csv_number(out, has ? e->high : NAN);
}

void csv_method(struct buf *out, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    buf_printf(out, ",%s", has ? interval_method_to_string(e->method) : "");
}

static void put_figures(struct buf *out, const struct result *r, const struct point_result *p)
{
    const struct estimate *own = &p->throughput.estimate;
    csv_number(out, own->known ? own->value : NAN);
    buf_printf(out, ",%s", own->known ? p->throughput.unit : "");
    csv_number(out, own->known && own->has_interval ? own->low : NAN);
    csv_number(out, own->known && own->has_interval ? own->high : NAN);
    csv_method(out, &p->throughput.estimate);
    csv_number(out, p->throughput_min);
    csv_number(out, p->throughput_max);
    csv_interval(out, &p->speedup.estimate);
    csv_interval(out, &p->efficiency.estimate);
    csv_method(out, &p->efficiency.estimate);
    const struct point_result *base = &r->points[p->point->baseline_index];
    buf_printf(out, ",%s,%u", baseline_kind_to_string(r->def->spec->baseline.kind),
               base->point->index);
    const struct estimate *x = &base->throughput.estimate;
    csv_number(out, x->known ? x->value : NAN);
}

static bool has_accuracy(const struct spec *spec)
{
    return spec->target_accuracy > 0 || spec->accuracy_after_s > 0;
}

static void put_accuracy(struct buf *out, const struct point_result *p, const struct spec *spec)
{
    csv_interval(out, &p->time_to_accuracy.estimate);
    if (spec->target_accuracy > 0) {
        buf_printf(out, ",%zu", p->n_reached);
    } else {
        buf_putc(out, ',');
    }
    csv_interval(out, &p->accuracy_after_time.estimate);
}

static void put_row(struct buf *out, const struct result *r, const struct csv_names *names,
                    const struct point_result *p)
{
    const struct run_def *def = r->def;
    buf_printf(out, "%s,", p->point->is_baseline ? "baseline" : "point");
    csv_text(out, def->name);
    buf_putc(out, ',');
    csv_text(out, def->spec->name);
    buf_printf(out, ",%u,", p->point->index);
    csv_text(out, def->spec->systems.items[p->point->system].name);
    buf_printf(out, ",%s", trial_phase_to_string(p->phase));
    csv_params(out, names, &p->point->params);
    put_figures(out, r, p);
    buf_printf(out, ",%zu,%zu,%s,%s,%u", p->n_succeeded, p->n_trials,
               def->rehearsal ? "true" : "false", r->simulated ? "true" : "false",
               point_pods(p->point));
    csv_number(out, p->cpus);
    csv_interval(out, &p->efficiency_per_pod.estimate);
    csv_interval(out, &p->efficiency_per_cpu.estimate);
    buf_puts(out, spec_is_imported(def->spec) ? ",true" : ",false");
    if (has_accuracy(def->spec)) {
        put_accuracy(out, p, def->spec);
    }
    buf_putc(out, '\n');
}

void report_csv(const struct result *r, struct buf *out)
{
    struct csv_names names = {0};
    csv_collect(&names, r);
    const size_t n_after = N(after_params) - (has_accuracy(r->def->spec) ? 0 : N_ACCURACY_COLUMNS);
    const struct csv_columns columns = {before_params, N(before_params), after_params, n_after};
    csv_header(out, &columns, &names);
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        put_row(out, r, &names, &r->points[i]);
    }
    vec_done(&names.list);
}
