/* A table of one figure over any axes, see sheets.h. */
#include <math.h>
#include <string.h>

#include "report/layout.h"
#include "report/sheets.h"
#include "result/catalogue.h"
#include "result/number.h"

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
    return p->ratio_axis == NULL && p->figure->is_percent;
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
    buf_puts(out, p->figure->title);
    if (p->ratio_axis != NULL) {
        buf_printf(out, ", %s %s / %s", p->ratio_axis, p->ratio_a, p->ratio_b);
    } else if (p->figure == &figure_kinds[FIGURE_THROUGHPUT]) {
        buf_printf(out, " in %s", p->unit);
    }
    if (p->figure->needs == NEEDS_GOAL) {
        buf_puts(out, " (");
        goal_format(&p->result->def->spec->goal, out);
        buf_puts(out, p->figure == &figure_kinds[FIGURE_TIME_TO_ACCURACY] && p->ratio_axis == NULL
                          ? ") in s"
                          : ")");
    }
    if (p->figure->needs == NEEDS_TIME) {
        buf_printf(out, " of %.6g s", p->result->def->spec->accuracy_after_s);
    }
    if (p->figure == &figure_kinds[FIGURE_COST]) {
        bool is_mixed;
        const char *unit = result_unit(p->result, &is_mixed); /* "samples/s" */
        buf_printf(out, " of a million %.*s", (int)strcspn(unit, "/"), unit);
    }
    if (p->figure->is_cost) {
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
    const struct pivot_summary s = pivot_summarise(p, 0, n_cells(p));
    if (!p->has_summaries || s.n < 2) {
        return;
    }
    buf_puts(out, "Median ");
    put_value(p, s.median, out);
    buf_puts(out, ", geometric mean ");
    put_value(p, s.geomean, out);
    buf_printf(out, " of %zu cells (", s.n);
    put_value(p, s.least, out);
    buf_puts(out, " to ");
    put_value(p, s.most, out);
    buf_puts(out, ").");
}

/* Why cells of measured points have no number; nothing where CPUs are not asked for. */
static void put_unknown_cpus(const struct pivot *p, struct buf *out)
{
    const bool is_cost = p->figure->is_cost && p->price.unit == PIVOT_CPU_HOUR;
    if (!is_cost && p->figure != &figure_kinds[FIGURE_EFFICIENCY_PER_CPU]) {
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

/* What a column has on the axes from `from` to before `to`. Owned. */
static char *head_text(const struct pivot *p, size_t column, size_t from, size_t to)
{
    struct buf text = BUF_INIT;
    for (size_t k = from; k < to && k < p->columns.axes.len; k++) {
        _cleanup_(freep) char *value =
            axis_shown(p->result, p->columns.axes.items[k], p->columns.heads.items[column]);
        buf_printf(&text, "%s%s", k == from ? "" : ", ", value);
    }
    if (p->columns.axes.len == 0) {
        buf_puts(&text, p->ratio_axis != NULL ? "RATIO" : "VALUE");
    }
    return buf_take(&text);
}

/* The axes after the first, in rows of their own. */
static void put_stacked_heads(struct table *t, const struct pivot *p)
{
    for (size_t k = 1; k < p->columns.axes.len; k++) {
        for (size_t i = 0; i < p->rows.axes.len; i++) {
            table_cell(t, "%s", "");
        }
        for (size_t j = 0; j < n_columns(p); j++) {
            _cleanup_(freep) char *value = head_text(p, j, k, k + 1);
            table_cell(t, "%s", value);
        }
    }
}

/* A title has the values of all axes or, in text, of the first alone. */
static void add_heads(struct table *t, const struct pivot *p, bool is_text)
{
    vec_each (const char *const, axis, &p->rows.axes) {
        table_named_column(t, *axis, TABLE_RIGHT);
    }
    for (size_t j = 0; j < n_columns(p); j++) {
        _cleanup_(freep) char *title = head_text(p, j, 0, is_text ? 1 : p->columns.axes.len);
        table_column(t, title, TABLE_RIGHT);
    }
    if (is_text) {
        put_stacked_heads(t, p);
    }
}

static struct table *table_of(const struct pivot *p, bool is_text, bool with_interval)
{
    struct table *t = table_new();
    table_set_gap(t, TABLE_TIGHT_GAP);
    add_heads(t, p, is_text);
    for (size_t i = 0; i < p->rows.heads.len; i++) {
        vec_each (const char *const, axis, &p->rows.axes) {
            _cleanup_(freep) char *value = axis_shown(p->result, *axis, p->rows.heads.items[i]);
            table_cell(t, "%s", value);
        }
        for (size_t j = 0; j < n_columns(p); j++) {
            put_cell(t, p, &p->cells[i * n_columns(p) + j], with_interval);
        }
    }
    return t;
}

static void put_people(struct sheet *s, const struct pivot *p)
{
    struct buf text = BUF_INIT;
    sheet_put_run(s, p->result, NULL);
    put_caption(p, &text);
    const bool is_text = s->form == SHEET_TEXT;
    sheet_table(s, &text, table_of(p, is_text, is_text && s->term.wide), p->rows.axes.len);
    sheet_block(s, NULL);
    put_summary(p, &text);
    sheet_put_line(s, NULL, &text);
    put_unknown_cpus(p, &text);
    sheet_put_line(s, NULL, &text);
    const char *mean = p->figure == &figure_kinds[FIGURE_EXCHANGE_SHARE] ? "mean" : "median";
    _cleanup_(freep) char *cell =
        p->figure->of_trial == NULL ? xasprintf("Each cell is the %s of one point's trials.", mean)
                                    : words_meaning(p->figure, p->result->def); /* of replicas */
    sheet_line(s, NULL, "%s A cell without a number was not measured%s or is unknown.", cell,
               p->figure->needs == NEEDS_GOAL ? ", was not reached in every trial," : "");
}

/* ---- for programs ---- */

/* Their columns are called axis_NAME, so that none is called as another column. */
static void put_axis_words(struct sheet *s, const struct pivot *p, const struct pivot_side *side,
                           size_t head)
{
    vec_each (const char *const, axis, &side->axes) {
        _cleanup_(freep) char *column = xasprintf("axis_%s", *axis);
        _cleanup_(freep) char *value = axis_value(p->result, *axis, side->heads.items[head]);
        row_text(s, NULL, column, value);
    }
}

static void put_row(struct sheet *s, const struct pivot *p, size_t i)
{
    const struct estimate *cell = &p->cells[i];
    const bool has = cell->known && cell->has_interval;
    _cleanup_(buf_done) struct buf ratio = BUF_INIT;
    if (p->ratio_axis != NULL) {
        buf_printf(&ratio, "%s=%s/%s", p->ratio_axis, p->ratio_a, p->ratio_b);
    }
    row_text(s, NULL, "run", p->result->def->name);
    row_text(s, NULL, "figure", p->figure->name);
    row_text(s, NULL, "ratio", buf_cstr(&ratio));
    row_text(s, NULL, "unit", p->unit);
    row_number(s, NULL, "value", cell->known ? cell->value : NAN, 1);
    row_number(s, NULL, "low", has ? cell->low : NAN, 1);
    row_number(s, NULL, "high", has ? cell->high : NAN, 1);
    put_axis_words(s, p, &p->rows, i / n_columns(p));
    put_axis_words(s, p, &p->columns, i % n_columns(p));
    row_end(s);
}

void sheet_pivot(struct sheet *s, const struct pivot *p)
{
    if (row_people(s) == NULL) {
        for (size_t i = 0; i < n_cells(p); i++) {
            put_row(s, p, i);
        }
    } else {
        put_people(s, p);
    }
}
