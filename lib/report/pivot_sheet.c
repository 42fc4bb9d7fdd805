/* A table of one figure over any axes, see sheets.h. A terminal gets several tables, as many as its
 * width needs, each with the heads of the rows; no number is broken. */
#include <math.h>
#include <string.h>

#include "core/json_field.h"
#include "report/run_labels.h"
#include "report/sheets.h"
#include "result/figure_json.h"
#include "result/number.h"
#include "result/pivot.h"

static size_t n_columns(const struct pivot *p)
{
    return p->columns.heads.len;
}

static size_t n_cells(const struct pivot *p)
{
    return p->rows.heads.len * n_columns(p);
}

/* A ratio of percentages is not a percentage. */
static bool is_percent(const struct pivot *p)
{
    return p->ratio_axis == NULL && pivot_figures[p->figure].is_percent;
}

/* ---- words ---- */

static void put_axes(const struct pivot_side *side, struct buf *out)
{
    vec_each (const char *const, axis, &side->axes) {
        buf_printf(out, "%s%s", axis == side->axes.items ? "" : ", ", *axis);
    }
}

/* "Efficiency, by trainers (rows) and system (columns)" */
static void put_caption(const struct pivot *p, struct buf *out)
{
    buf_puts(out, pivot_figures[p->figure].title);
    if (p->ratio_axis != NULL) {
        buf_printf(out, ", %s %s / %s", p->ratio_axis, p->ratio_a, p->ratio_b);
    } else if (p->figure == PIVOT_THROUGHPUT) {
        buf_printf(out, " in %s", p->unit);
    }
    if (pivot_figures[p->figure].is_of_time) {
        buf_puts(out, " (");
        goal_format(&p->result->def->spec->goal, out);
        buf_puts(out, p->figure == PIVOT_TIME && p->ratio_axis == NULL ? ") in s" : ")");
    }
    if (p->figure == PIVOT_COST) {
        bool is_mixed;
        const char *unit = result_unit(p->result, &is_mixed); /* "samples/s" */
        buf_printf(out, " of a million %.*s", (int)strcspn(unit, "/"), unit);
    }
    if (pivot_figures[p->figure].is_cost) {
        buf_puts(out, ", at ");
        number_format(p->price.amount, out);
        buf_printf(out, " a %s hour", pivot_price_words[p->price.unit]);
    }
    if (p->rows.axes.len > 0) {
        buf_puts(out, ", by ");
        put_axes(&p->rows, out);
        buf_puts(out, " (rows)");
    }
    if (p->columns.axes.len > 0) {
        buf_puts(out, p->rows.axes.len > 0 ? " and " : ", by ");
        put_axes(&p->columns, out);
        buf_puts(out, p->columns.axes.len > 1 ? " (columns, from the top)" : " (columns)");
    }
    _cleanup_(buf_done) struct buf marks = BUF_INIT;
    run_labels_put(p->result, &marks);
    buf_printf(out, "%s%s", marks.len > 0 ? ", " : "", buf_cstr(&marks));
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
    const bool is_cost = pivot_figures[p->figure].is_cost && p->price.unit == PIVOT_CPU_HOUR;
    if (!is_cost && p->figure != PIVOT_EFFICIENCY_PER_CPU) {
        return;
    }
    uint32_t n = 0, unknown = 0;
    result_each_swept (point, p->result) {
        n += point->throughput.estimate.known;
        unknown += point->throughput.estimate.known && isnan(point->cpus);
    }
    if (unknown == 0) {
        return;
    }
    buf_printf(out, "The CPUs of %u of %u point%s are unknown: %s. The pods are known: use %s.",
               unknown, n, plural(n),
               p->result->def->rehearsal ? "the threads of a rehearsal share them"
                                         : "a replica has no CPU limit or did not report one",
               is_cost ? "--price AMOUNT/pod-hour" : "--cells efficiency-per-pod");
}

/* ---- tables ---- */

static void put_cell(struct table *t, const struct pivot *p, const struct estimate *e,
                     bool with_interval)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    put_value(p, e->known ? e->value : NAN, &text);
    if (with_interval && e->known && e->has_interval) {
        buf_puts(&text, " (");
        put_value(p, e->low, &text);
        buf_puts(&text, "..");
        put_value(p, e->high, &text);
        buf_putc(&text, ')');
    }
    table_cell(t, "%s", buf_cstr(&text));
}

/* Owned. */
static char *head_text(const struct pivot *p, size_t column, size_t from, size_t to)
{
    struct buf text = BUF_INIT;
    for (size_t k = from; k < to && k < p->columns.axes.len; k++) {
        _cleanup_(freep) char *value =
            pivot_shown(p, p->columns.axes.items[k], p->columns.heads.items[column]);
        buf_printf(&text, "%s%s", k == from ? "" : ", ", value);
    }
    if (p->columns.axes.len == 0) {
        buf_puts(&text, p->ratio_axis != NULL ? "RATIO" : "VALUE");
    }
    return buf_take(&text);
}

/* The last columns are the rows' summaries. */
static size_t n_summaries(const struct pivot *p, size_t to)
{
    return p->has_summaries && n_columns(p) > 1 && to == n_columns(p) ? 2 : 0;
}

/* The axes after the first, in rows of their own. */
static void put_stacked_heads(struct table *t, const struct pivot *p, size_t from, size_t to)
{
    for (size_t k = 1; k < p->columns.axes.len; k++) {
        for (size_t i = 0; i < p->rows.axes.len; i++) {
            table_cell(t, "%s", "");
        }
        for (size_t j = from; j < to; j++) {
            _cleanup_(freep) char *value = head_text(p, j, k, k + 1);
            table_cell(t, "%s", value);
        }
        for (size_t i = 0; i < n_summaries(p, to); i++) {
            table_cell(t, "%s", "");
        }
    }
}

/* A title has the values of all axes or, in text, of the first alone. */
static void add_heads(struct table *t, const struct pivot *p, size_t from, size_t to, bool is_text)
{
    vec_each (const char *const, axis, &p->rows.axes) {
        table_named_column(t, *axis, TABLE_RIGHT);
    }
    for (size_t j = from; j < to; j++) {
        _cleanup_(freep) char *title = head_text(p, j, 0, is_text ? 1 : p->columns.axes.len);
        table_column(t, title, TABLE_RIGHT);
    }
    if (n_summaries(p, to) > 0) {
        table_column(t, "MEDIAN", TABLE_RIGHT);
        table_column(t, "GEOMEAN", TABLE_RIGHT);
    }
    if (is_text) {
        put_stacked_heads(t, p, from, to);
    }
}

static struct table *table_of(const struct sheet *s, const struct pivot *p, size_t from, size_t to)
{
    const bool is_text = s->form == SHEET_TEXT;
    struct table *t = table_new();
    table_set_gap(t, TABLE_TIGHT_GAP);
    add_heads(t, p, from, to, is_text);
    for (size_t i = 0; i < p->rows.heads.len; i++) {
        vec_each (const char *const, axis, &p->rows.axes) {
            _cleanup_(freep) char *value = pivot_shown(p, *axis, p->rows.heads.items[i]);
            table_cell(t, "%s", value);
        }
        for (size_t j = from; j < to; j++) {
            put_cell(t, p, &p->cells[i * n_columns(p) + j], is_text && s->term.wide);
        }
        if (n_summaries(p, to) > 0) {
            const struct pivot_summary *row = &p->row_summaries[i];
            put_cell(t, p, &(struct estimate){.known = true, .value = row->median}, false);
            put_cell(t, p, &(struct estimate){.known = true, .value = row->geomean}, false);
        }
    }
    return t;
}

/* All columns from `from` on if they fit, else as many as do, at least one. Returns which is the
 * first that is left. */
static size_t put_columns(struct sheet *s, const struct pivot *p, size_t from, struct buf *caption)
{
    size_t to = n_columns(p);
    struct table *best = table_of(s, p, from, to);
    if (!sheet_fits(s, best)) {
        table_free(best);
        best = table_of(s, p, from, from + 1);
        for (to = from + 1; to + 1 < n_columns(p); to++) {
            struct table *t = table_of(s, p, from, to + 1);
            if (!sheet_fits(s, t)) {
                table_free(t);
                break;
            }
            table_free(best);
            best = t;
        }
    }
    sheet_table(s, caption, best, p->rows.axes.len);
    return to;
}

static void put_people(struct sheet *s, const struct pivot *p)
{
    struct buf text = BUF_INIT;
    sheet_put_run(s, p->result, NULL);
    put_caption(p, &text);
    for (size_t from = 0; from < n_columns(p);) {
        from = put_columns(s, p, from, from == 0 ? &text : NULL);
    }
    sheet_block(s, NULL);
    put_summary(p, &text);
    sheet_put_line(s, NULL, &text);
    put_unknown_cpus(p, &text);
    sheet_put_line(s, NULL, &text);
    sheet_line(s, NULL,
               "Each cell is the %s of one point's trials. A cell without a number was not "
               "measured%s or is unknown.",
               p->figure == PIVOT_EXCHANGE ? "mean" : "median",
               pivot_figures[p->figure].is_of_time ? ", was not reached in every trial," : "");
}

/* ---- for programs ---- */

static void put_ratio(const struct pivot *p, struct buf *out)
{
    if (p->ratio_axis != NULL) {
        buf_printf(out, "%s=%s/%s", p->ratio_axis, p->ratio_a, p->ratio_b);
    }
}

/* Their columns are called axis_NAME, so that none is called as another column. */
static void put_axis_words(struct sheet *s, const struct pivot *p, const struct pivot_side *side,
                           size_t head)
{
    vec_each (const char *const, axis, &side->axes) {
        _cleanup_(freep) char *column = xasprintf("axis_%s", *axis);
        _cleanup_(freep) char *value = pivot_value(p, *axis, side->heads.items[head]);
        sheet_word(s, column, value);
    }
}

static void put_row(struct sheet *s, const struct pivot *p, size_t i)
{
    const struct estimate *cell = &p->cells[i];
    _cleanup_(buf_done) struct buf ratio = BUF_INIT;
    put_ratio(p, &ratio);
    sheet_word(s, "run", p->result->def->name);
    sheet_word(s, "figure", pivot_figures[p->figure].name);
    sheet_word(s, "ratio", buf_cstr(&ratio));
    sheet_word(s, "unit", p->unit);
    sheet_value(s, "value", cell);
    sheet_interval(s, "low", "high", cell);
    put_axis_words(s, p, &p->rows, i / n_columns(p));
    put_axis_words(s, p, &p->columns, i % n_columns(p));
    sheet_end_row(s);
}

static json_t *axes_to_json(const struct pivot_side *side)
{
    return JSON_ARRAY_OF(vec_each (const char *const, axis, &side->axes), json_string(*axis));
}

static void put_values(const struct pivot *p, const struct pivot_side *side, size_t head, json_t *o)
{
    vec_each (const char *const, axis, &side->axes) {
        _cleanup_(freep) char *value = pivot_value(p, *axis, side->heads.items[head]);
        json_object_set_new(o, *axis, json_string(value));
    }
}

static json_t *cell_to_json(const struct pivot *p, size_t i)
{
    const struct figure figure = {.estimate = p->cells[i], .unit = p->unit, .scope = "job"};
    json_t *at = json_object(), *o = figure_to_json(&figure);
    put_values(p, &p->rows, i / n_columns(p), at);
    put_values(p, &p->columns, i % n_columns(p), at);
    json_object_set_new(o, "at", at);
    return o;
}

static json_t *summary_to_json(const struct pivot *p, const struct pivot_summary *s)
{
    return JSON_OBJECT_OR_NULL(
        p->has_summaries, {"cells", json_count(s->n)}, {"median", json_number_or_null(s->median)},
        {"geomean", json_number_or_null(s->geomean)}, {"min", json_number_or_null(s->least)},
        {"max", json_number_or_null(s->most)});
}

static json_t *pivot_to_json(const struct pivot *p)
{
    _cleanup_(buf_done) struct buf ratio = BUF_INIT;
    put_ratio(p, &ratio);
    json_t *cells = JSON_ARRAY_OF(for (size_t i = 0; i < n_cells(p); i++), cell_to_json(p, i));
    json_t *summaries = JSON_ARRAY_OF(for (size_t i = 0; i < p->rows.heads.len; i++),
                                      summary_to_json(p, &p->row_summaries[i]));
    return JSON_OBJECT_OF(
        {"apiVersion", json_string("benchd.io/v1alpha1")}, {"kind", json_string("BenchmarkPivot")},
        {"run", json_string(p->result->def->name)}, {"uid", json_string(p->result->def->uid)},
        {"figure", json_string(pivot_figures[p->figure].name)},
        {"ratio", ratio.len == 0 ? json_null() : json_string(buf_cstr(&ratio))},
        {"rows", axes_to_json(&p->rows)}, {"columns", axes_to_json(&p->columns)}, {"cells", cells},
        {"rowSummaries", summaries}, {"summary", summary_to_json(p, &p->whole)});
}

void sheet_pivot(struct sheet *s, const struct pivot *p)
{
    if (s->form == SHEET_JSON) {
        s->document = pivot_to_json(p);
    } else if (s->form == SHEET_CSV) {
        for (size_t i = 0; i < n_cells(p); i++) {
            put_row(s, p, i);
        }
    } else {
        put_people(s, p);
    }
}
