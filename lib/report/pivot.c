/* A table of one figure over any axes, see report.h. A terminal gets several tables, as many as its
 * width needs, each with the heads of the rows; no number is broken. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/csv.h"
#include "report/json_text.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/number.h"
#include "result/pivot.h"
#include "result/result_json.h"

static size_t n_columns(const struct pivot *p)
{
    return p->column_heads.len;
}

static const struct estimate *cell_at(const struct pivot *p, size_t row, size_t column)
{
    return &p->cells[row * n_columns(p) + column];
}

/* A ratio of percentages is not a percentage. */
static bool is_percent(const struct pivot *p)
{
    return p->ratio_axis == NULL && pivot_figure_is_percent(p->figure);
}

/* ---- words ---- */

static void put_axes(const char *const *axes, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ", ", axes[i]);
    }
}

static void put_figure_name(const struct pivot *p, struct buf *out)
{
    static const char *const names[PIVOT_FIGURE_COUNT] = {
        [PIVOT_THROUGHPUT] = "Throughput",
        [PIVOT_SPEEDUP] = "Speedup",
        [PIVOT_EFFICIENCY] = "Efficiency",
        [PIVOT_EFFICIENCY_PER_POD] = "Efficiency per pod",
        [PIVOT_EFFICIENCY_PER_CPU] = "Efficiency per CPU",
        [PIVOT_PRICE_INDEX] = "Price index N / S^2",
        [PIVOT_COST] = "Cost",
        [PIVOT_EXCHANGE] = "Share of the exchange in a trainer's step",
    };
    buf_puts(out, names[p->figure]);
}

/* "Efficiency, by trainers (rows) and system (columns)" */
static void put_caption(const struct pivot *p, struct buf *out)
{
    put_figure_name(p, out);
    if (p->ratio_axis != NULL) {
        buf_printf(out, ", %s %s / %s", p->ratio_axis, p->ratio_a, p->ratio_b);
    } else if (p->figure == PIVOT_THROUGHPUT) {
        buf_printf(out, " in %s", p->unit);
    }
    if (p->figure == PIVOT_COST) {
        bool is_mixed;
        const char *unit = result_unit(p->result, &is_mixed); /* "samples/s" */
        buf_printf(out, " of a million %.*s, at ", (int)strcspn(unit, "/"), unit);
        number_format(p->price.amount, out);
        buf_printf(out, " a %s hour", p->price.unit == PIVOT_PRICE_CPU_HOUR ? "CPU" : "pod");
    }
    if (p->rows.len > 0) {
        buf_puts(out, ", by ");
        put_axes(p->rows.items, p->rows.len, out);
        buf_puts(out, " (rows)");
    }
    if (p->columns.len > 0) {
        buf_puts(out, p->rows.len > 0 ? " and " : ", by ");
        put_axes(p->columns.items, p->columns.len, out);
        buf_puts(out, p->columns.len > 1 ? " (columns, from the top)" : " (columns)");
    }
    struct buf marks = BUF_INIT;
    marks_put(p->result, &marks);
    buf_printf(out, "%s%s", marks.len > 0 ? ", " : "", buf_cstr(&marks));
    buf_done(&marks);
}

static void put_value(const struct pivot *p, double value, struct buf *out)
{
    if (is_percent(p) && isfinite(value)) {
        buf_printf(out, "%.2f%%", 100 * value);
    } else {
        number_format(value, out);
    }
}

static void put_summary(const struct pivot *p, struct buf *out)
{
    const struct pivot_summary *s = &p->whole;
    if (!p->has_summaries || s->n < 2) {
        return;
    }
    buf_puts(out, "Median ");
    put_value(p, s->median, out);
    buf_puts(out, ", geometric mean ");
    put_value(p, s->geomean, out);
    buf_printf(out, " of %zu cells (", s->n);
    put_value(p, s->least, out);
    buf_puts(out, " to ");
    put_value(p, s->most, out);
    buf_puts(out, ").");
}

/* Why cells have no number although their points were measured; nothing where
 * CPUs are not asked for. */
static void put_unknown_cpus(const struct pivot *p, struct buf *out)
{
    const bool is_cost = p->figure == PIVOT_COST && p->price.unit == PIVOT_PRICE_CPU_HOUR;
    if (!is_cost && p->figure != PIVOT_EFFICIENCY_PER_CPU) {
        return;
    }
    uint32_t n = 0, unknown = 0;
    for (uint32_t i = 0; i < p->result->def->matrix.n_swept; i++) {
        const struct point_result *point = &p->result->points[i];
        n += point->throughput.estimate.known;
        unknown += point->throughput.estimate.known && isnan(point->cpus);
    }
    if (unknown == 0) {
        return;
    }
    buf_printf(out, "The CPUs of %u of %u point%s are not known: %s. Pods are known: %s.", unknown,
               n, n == 1 ? "" : "s",
               p->result->def->rehearsal ? "the threads of a rehearsal share them"
                                         : "a replica has no CPU limit, or did not say it",
               is_cost ? "--price AMOUNT/pod-hour" : "--cells efficiency-per-pod");
}

static const char note[] =
    "A cell is a point: the median of its trials. A cell without a number was not measured, or is "
    "not known.";

/* ---- tables ---- */

static void put_cell(struct table *t, const struct pivot *p, const struct estimate *e,
                     bool with_interval)
{
    struct buf text = BUF_INIT;
    put_value(p, e->known ? e->value : NAN, &text);
    if (with_interval && e->known && e->has_interval) {
        buf_puts(&text, " (");
        put_value(p, e->low, &text);
        buf_puts(&text, "..");
        put_value(p, e->high, &text);
        buf_putc(&text, ')');
    }
    table_cell(t, "%s", buf_cstr(&text));
    buf_done(&text);
}

static void put_summary_cell(struct table *t, const struct pivot *p, double value)
{
    struct buf text = BUF_INIT;
    put_value(p, value, &text);
    table_cell(t, "%s", buf_cstr(&text));
    buf_done(&text);
}

/* Which columns, and the form of their heads: the values of all axes in one title, or the first
 * alone and the others in rows of their own. */
struct shape {
    size_t from, to;
    bool with_summaries, with_intervals, is_stacked;
};

/* Owned. */
static char *head_text(const struct pivot *p, size_t column, size_t from, size_t to)
{
    struct buf text = BUF_INIT;
    for (size_t k = from; k < to && k < p->columns.len; k++) {
        buf_puts(&text, k == from ? "" : ", ");
        pivot_put_value(p, p->columns.items[k], p->column_heads.items[column], &text);
    }
    if (p->columns.len == 0) {
        buf_puts(&text, p->ratio_axis != NULL ? "RATIO" : "VALUE");
    }
    return buf_take(&text);
}

static void add_heads(struct table *t, const struct pivot *p, const struct shape *shape)
{
    vec_each (const char *const, axis, &p->rows) {
        _cleanup_(freep) char *title = xstrdup(*axis);
        for (char *c = title; *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        table_column(t, title, TABLE_RIGHT);
    }
    for (size_t j = shape->from; j < shape->to; j++) {
        _cleanup_(freep) char *title = head_text(p, j, 0, shape->is_stacked ? 1 : p->columns.len);
        table_column(t, title, TABLE_RIGHT);
    }
    if (shape->with_summaries) {
        table_column(t, "MEDIAN", TABLE_RIGHT);
        table_column(t, "GEOMEAN", TABLE_RIGHT);
    }
    for (size_t k = 1; k < p->columns.len && shape->is_stacked; k++) {
        for (size_t i = 0; i < p->rows.len; i++) {
            table_cell(t, "%s", "");
        }
        for (size_t j = shape->from; j < shape->to; j++) {
            _cleanup_(freep) char *value = head_text(p, j, k, k + 1);
            table_cell(t, "%s", value);
        }
        for (size_t i = 0; i < (shape->with_summaries ? 2 : 0); i++) {
            table_cell(t, "%s", "");
        }
    }
}

static struct table *table_of(const struct pivot *p, const struct shape *shape)
{
    struct table *t = table_new();
    add_heads(t, p, shape);
    for (size_t i = 0; i < p->row_heads.len; i++) {
        vec_each (const char *const, axis, &p->rows) {
            struct buf value = BUF_INIT;
            pivot_put_value(p, *axis, p->row_heads.items[i], &value);
            table_cell(t, "%s", buf_cstr(&value));
            buf_done(&value);
        }
        for (size_t j = shape->from; j < shape->to; j++) {
            put_cell(t, p, cell_at(p, i, j), shape->with_intervals);
        }
        if (shape->with_summaries) {
            put_summary_cell(t, p, p->row_summaries[i].median);
            put_summary_cell(t, p, p->row_summaries[i].geomean);
        }
    }
    return t;
}

static bool summarises_rows(const struct pivot *p)
{
    return p->has_summaries && n_columns(p) > 1;
}

/* As many columns from `from` on as fit, at least one. */
static struct shape widest_from(const struct pivot *p, const struct terminal *term, size_t from)
{
    struct shape best = {.from = from, .is_stacked = true, .with_intervals = term->wide};
    for (size_t to = from + 1; to <= n_columns(p); to++) {
        struct shape shape = best;
        shape.to = to;
        shape.with_summaries = to == n_columns(p) && summarises_rows(p);
        struct table *t = table_of(p, &shape);
        table_set_gap(t, TERMINAL_TIGHT_GAP);
        const bool fits = term->wide || table_width(t) <= term->columns;
        table_free(t);
        if (!fits && to > from + 1) {
            break;
        }
        best = shape;
    }
    return best;
}

void report_pivot_text(const struct pivot *p, const struct report_opts *opts, struct buf *out)
{
    const struct terminal term = terminal_of(opts);
    const struct run_def *def = p->result->def;
    terminal_colored(out, &term, TERMINAL_BOLD, def->name);
    buf_printf(out, "   %s", run_phase_to_string(p->result->phase));
    marks_put_text(p->result, &term, out);
    buf_puts(out, "\n\n");
    struct buf text = BUF_INIT;
    put_caption(p, &text);
    terminal_wrapped(out, &term, buf_cstr(&text), 0, 2);
    for (size_t from = 0; from < n_columns(p);) {
        const struct shape shape = widest_from(p, &term, from);
        struct table *t = table_of(p, &shape);
        buf_puts(out, from == 0 ? "" : "\n");
        table_set_gap(t, TERMINAL_TIGHT_GAP);
        table_format(t, true, out);
        table_free(t);
        from = shape.to;
    }
    buf_putc(out, '\n');
    buf_clear(&text);
    put_summary(p, &text);
    if (text.len > 0) {
        terminal_wrapped(out, &term, buf_cstr(&text), 0, 2);
    }
    buf_clear(&text);
    put_unknown_cpus(p, &text);
    if (text.len > 0) {
        terminal_wrapped(out, &term, buf_cstr(&text), 0, 2);
    }
    terminal_wrapped(out, &term, note, 0, 2);
    buf_done(&text);
}

void report_pivot_markdown(const struct pivot *p, struct buf *out)
{
    const struct shape shape = {.to = n_columns(p), .with_summaries = summarises_rows(p)};
    const struct run_def *def = p->result->def;
    struct buf text = BUF_INIT;
    buf_puts(out, "## ");
    markdown_escape(def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(p->result->phase));
    marks_put_markdown(p->result, out);
    buf_puts(out, "\n\n");
    put_caption(p, &text);
    markdown_escape(buf_cstr(&text), out);
    buf_puts(out, ":\n\n");
    struct table *t = table_of(p, &shape);
    table_format_markdown(t, out);
    table_free(t);
    buf_clear(&text);
    put_summary(p, &text);
    buf_printf(out, text.len > 0 ? "\n- %s\n" : "%s\n", buf_cstr(&text));
    buf_clear(&text);
    put_unknown_cpus(p, &text);
    if (text.len > 0) {
        buf_printf(out, "- %s\n", buf_cstr(&text));
    }
    buf_printf(out, "- %s\n", note);
    buf_done(&text);
}

/* ---- for programs ---- */

static void put_ratio(const struct pivot *p, struct buf *out)
{
    if (p->ratio_axis != NULL) {
        buf_printf(out, "%s=%s/%s", p->ratio_axis, p->ratio_a, p->ratio_b);
    }
}

static void put_csv_axes(const struct pivot *p, const struct point *point, const char *const *axes,
                         size_t n, struct buf *out)
{
    for (size_t k = 0; k < n; k++) {
        struct buf value = BUF_INIT;
        pivot_put_value(p, axes[k], point, &value);
        buf_putc(out, ',');
        csv_text(out, buf_cstr(&value));
        buf_done(&value);
    }
}

void report_pivot_csv(const struct pivot *p, struct buf *out)
{
    struct buf ratio = BUF_INIT;
    put_ratio(p, &ratio);
    buf_puts(out, "run,figure,ratio,unit,value,low,high");
    for (size_t k = 0; k < p->rows.len + p->columns.len; k++) {
        const char *axis = k < p->rows.len ? p->rows.items[k] : p->columns.items[k - p->rows.len];
        buf_printf(out, ",axis_%s", axis); /* so that none is called as a column of its own */
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < p->row_heads.len; i++) {
        for (size_t j = 0; j < n_columns(p); j++) {
            csv_text(out, p->result->def->name);
            buf_printf(out, ",%s,", pivot_figure_names[p->figure]);
            csv_text(out, buf_cstr(&ratio));
            buf_printf(out, ",%s", p->unit);
            csv_interval(out, cell_at(p, i, j));
            put_csv_axes(p, p->row_heads.items[i], p->rows.items, p->rows.len, out);
            put_csv_axes(p, p->column_heads.items[j], p->columns.items, p->columns.len, out);
            buf_putc(out, '\n');
        }
    }
    buf_done(&ratio);
}

static json_t *names_to_json(const char *const *names, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(names[i]));
    }
    return list;
}

static void values_to_json(const struct pivot *p, const struct point *point,
                           const char *const *axes, size_t n, json_t *o)
{
    for (size_t k = 0; k < n; k++) {
        struct buf value = BUF_INIT;
        pivot_put_value(p, axes[k], point, &value);
        json_object_set_new(o, axes[k], json_string(buf_cstr(&value)));
        buf_done(&value);
    }
}

static json_t *cell_to_json(const struct pivot *p, size_t row, size_t column)
{
    const struct figure figure = {
        .estimate = *cell_at(p, row, column), .unit = p->unit, .scope = "job"};
    json_t *at = json_object(), *o = figure_to_json(&figure);
    values_to_json(p, p->row_heads.items[row], p->rows.items, p->rows.len, at);
    values_to_json(p, p->column_heads.items[column], p->columns.items, p->columns.len, at);
    json_object_set_new(o, "at", at);
    return o;
}

static json_t *summary_to_json(const struct pivot *p, const struct pivot_summary *s)
{
    if (!p->has_summaries) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "cells", json_integer((json_int_t)s->n));
    json_object_set_new(o, "median", json_number_or_null(s->median));
    json_object_set_new(o, "geomean", json_number_or_null(s->geomean));
    json_object_set_new(o, "min", json_number_or_null(s->least));
    json_object_set_new(o, "max", json_number_or_null(s->most));
    return o;
}

void report_pivot_json(const struct pivot *p, struct buf *out)
{
    struct buf ratio = BUF_INIT;
    put_ratio(p, &ratio);
    json_t *o = json_object(), *cells = json_array(), *rows = json_array();
    for (size_t i = 0; i < p->row_heads.len; i++) {
        for (size_t j = 0; j < n_columns(p); j++) {
            json_array_append_new(cells, cell_to_json(p, i, j));
        }
        json_t *row = summary_to_json(p, &p->row_summaries[i]);
        json_array_append_new(rows, row);
    }
    json_object_set_new(o, "apiVersion", json_string("benchd.io/v1alpha1"));
    json_object_set_new(o, "kind", json_string("BenchmarkPivot"));
    json_object_set_new(o, "run", json_string(p->result->def->name));
    json_object_set_new(o, "uid", json_string(p->result->def->uid));
    json_object_set_new(o, "figure", json_string(pivot_figure_names[p->figure]));
    json_object_set_new(o, "ratio", ratio.len == 0 ? json_null() : json_string(buf_cstr(&ratio)));
    json_object_set_new(o, "rows", names_to_json(p->rows.items, p->rows.len));
    json_object_set_new(o, "columns", names_to_json(p->columns.items, p->columns.len));
    json_object_set_new(o, "cells", cells);
    json_object_set_new(o, "rowSummaries", rows);
    json_object_set_new(o, "summary", summary_to_json(p, &p->whole));
    buf_done(&ratio);
    json_text_put(o, out);
}
