/* A set of published figures, see sheets.h and reference_layout.h. */
#include "report/reference_layout.h"

#include <math.h>

#include "base/vec_walk.h"
#include "reference/check.h"
#include "reference/derive.h"
#include "report/sheets.h"
#include "result/number.h"

static const char *const captions[] = {
    [REFERENCE_SPEEDUP] = "Speedup",
    [REFERENCE_EFFICIENCY] = "Efficiency",
    [REFERENCE_PRICE_INDEX] = "Price index k / S^2: below 1 more of it pays",
    [REFERENCE_COST] = "Cost in dollars",
};

/* ---- cells ---- */

static bool has_erratum(const struct reference_table *t, enum reference_figure figure, size_t row,
                        size_t column)
{
    return vec_any(&t->errata, e, e->figure == figure && e->row == row && e->column == column);
}

static void put_value(const struct reference_table *t, const struct reference_row *row,
                      double value, struct buf *out)
{
    const bool is_own = row->values != NULL;
    if (is_own && t->quality == REFERENCE_READING) {
        buf_putc(out, '~');
    }
    if (is_own) {
        buf_printf(out, "%.*f", reference_decimals(value, row->digits), value);
    } else {
        number_format(value, out);
    }
}

void reference_layout_put(const struct reference *r, const struct reference_table *t,
                          enum reference_figure figure, size_t row, size_t column, struct buf *out)
{
    const struct reference_span s = reference_derive(r, t, figure, row, column);
    if (!s.known) {
        buf_putc(out, '-');
        return;
    }
    if (figure == REFERENCE_VALUE) {
        put_value(t, reference_row_at(t, row), s.value, out);
    } else if (figure == REFERENCE_EFFICIENCY) {
        buf_printf(out, "%.2f%%", 100 * s.value);
    } else {
        number_format(s.value, out);
    }
    if (has_erratum(t, figure, row, column) || reference_differs(r, t, figure, row, column)) {
        buf_putc(out, '*');
    }
}

static void figure_cell(struct table *table, const struct reference *r,
                        const struct reference_table *t, enum reference_figure figure, size_t row,
                        size_t column)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    reference_layout_put(r, t, figure, row, column, &text);
    table_cell(table, "%s", buf_cstr(&text));
}

static void column_text(double column, struct buf *out)
{
    buf_printf(out, "%.*f", reference_decimals(column, -1), column);
}

/* What the i-th row, or column, of a set is called. Owned. */
static char *head_text(const struct reference_table *t, size_t i, bool is_row)
{
    struct buf text = BUF_INIT;
    if (is_row) {
        buf_puts(&text, reference_row_at(t, i)->name);
    } else {
        column_text(t->columns[i], &text);
    }
    return buf_take(&text);
}

/* A row a row of the set and one for the median; `is_turned`: a row a column. */
static struct table *table_of(const struct reference *r, const struct reference_table *t,
                              enum reference_figure figure, bool is_turned)
{
    struct table *table = table_new();
    const size_t n_rows = t->rows.len + (t->has_median ? 1 : 0);
    table_named_column(table, t->axis, is_turned ? TABLE_RIGHT : TABLE_LEFT);
    for (size_t i = 0; i < (is_turned ? n_rows : t->n_columns); i++) {
        _cleanup_(freep) char *title = head_text(t, i, is_turned);
        table_column(table, title, TABLE_RIGHT);
    }
    for (size_t i = 0; i < (is_turned ? t->n_columns : n_rows); i++) {
        _cleanup_(freep) char *head = head_text(t, i, !is_turned);
        table_cell(table, "%s", head);
        for (size_t k = 0; k < (is_turned ? n_rows : t->n_columns); k++) {
            figure_cell(table, r, t, figure, is_turned ? k : i, is_turned ? i : k);
        }
    }
    return table;
}

/* "Speedup", "Throughput in samples/s (job)". */
static void put_caption(const struct reference_table *t, enum reference_figure figure,
                        struct buf *out)
{
    static const char *const of_scope[] = {"the whole job", "one worker", "one thread"};
    if (figure != REFERENCE_VALUE) {
        buf_puts(out, captions[figure]);
        return;
    }
    if (t->measure == REFERENCE_RATIO) {
        buf_puts(out, "Ratio");
        return;
    }
    buf_printf(out, "%s in %s, %s",
               t->measure == REFERENCE_OTHER ? "Figure" : reference_measure_names[t->measure],
               t->unit, of_scope[t->scope]);
}

/* ---- sentences ---- */

/* "Model: VGG16."; nothing where it is not said. */
static void add_fact(struct sheet *s, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        sheet_line(s, NULL, "%s%s.", name, text);
    }
}

/* "Model: ...", of the set as a whole. */
static void put_head(struct sheet *s, const struct reference *r)
{
    add_fact(s, "", r->description);
    add_fact(s, "Model: ", r->model);
    add_fact(s, "Hardware: ", r->hardware);
    add_fact(s, "Software: ", r->software);
    vec_each (char *, note, &r->notes) {
        sheet_line(s, NULL, "%s.", *note);
    }
}

static void add_conditions(const struct reference_table *t, struct sheet *s)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    vec_each (const struct reference_at, at, &t->at) {
        buf_printf(&text, "%s%s ", text.len == 0 ? "" : ", ", at->name);
        column_text(at->value, &text);
    }
    if (text.len > 0) {
        sheet_line(s, NULL, "All with %s.", buf_cstr(&text));
    }
    add_fact(s, "Model: ", t->model);
    add_fact(s, "Hardware: ", t->hardware);
    add_fact(s, "Software: ", t->software);
}

static void add_derivation(const struct reference *r, const struct reference_table *t,
                           struct sheet *s)
{
    if (t->base != REFERENCE_NO_BASE) {
        const struct reference_table *base = &r->tables.items[t->base_table];
        const bool is_time = t->measure == REFERENCE_TIME;
        _cleanup_(buf_done) struct buf at = BUF_INIT;
        if (t->base == REFERENCE_BASE_SAME) {
            buf_printf(&at, "the same %s", base->axis);
        } else {
            buf_printf(&at, "%s ", base->axis);
            column_text(base->columns[t->base_column], &at);
        }
        sheet_line(s, NULL, "Recomputed here: speedup S = %s, X_1 of the same row at %s%s%s.",
                   is_time ? "X_1 / X" : "X / X_1", buf_cstr(&at),
                   base == t ? "" : " of the table ", base == t ? "" : base->name);
    }
    if (t->has_efficiency) {
        if (t->scale > 0) {
            sheet_line(s, NULL, "Efficiency E = S / %g.", t->scale);
        } else if (t->base == REFERENCE_BASE_COLUMN && &r->tables.items[t->base_table] == t &&
                   t->columns[t->base_column] != 1) {
            sheet_line(s, NULL, "Efficiency E = S / (%s / %g).", t->axis,
                       t->columns[t->base_column]);
        } else {
            sheet_line(s, NULL, "Efficiency E = S / %s.", t->axis);
        }
    }
}

static void add_source(const struct reference *r, const struct reference_table *t, struct sheet *s)
{
    static const char *const how[] = {
        [REFERENCE_TABLE] = "printed as text",
        [REFERENCE_LABEL] = "printed as labels in a chart",
        [REFERENCE_READING] = "read off a chart",
        [REFERENCE_RAW] = "written by the program that measured",
    };
    const struct reference_source *source = &r->sources.items[t->source];
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_printf(&text, "Source: %s", source->title);
    if (source->repository[0] != '\0') {
        buf_printf(&text, "; %s", source->repository);
    }
    if (source->file[0] != '\0') {
        buf_printf(&text, ", %s", source->file);
    }
    if (source->commit[0] != '\0') {
        buf_printf(&text, " @ %s", source->commit);
    }
    buf_printf(&text, "; %s", how[t->quality]);
    if (t->quality == REFERENCE_READING) {
        buf_printf(&text, " to about %g", t->reading_error);
    }
    sheet_line(s, NULL, "%s.", buf_cstr(&text));
}

static void add_erratum(const struct reference_table *t, const struct reference_erratum *e,
                        struct sheet *s)
{
    _cleanup_(buf_done) struct buf where = BUF_INIT;
    if (e->row != REFERENCE_NO_ROW) {
        buf_printf(&where, "%s, ", reference_row_at(t, e->row)->name);
    }
    if (e->column != REFERENCE_NO_ROW) {
        buf_printf(&where, "%s ", t->axis);
        column_text(t->columns[e->column], &where);
        buf_puts(&where, ", ");
    }
    buf_puts(&where, reference_figure_names[e->figure]);
    if (!isnan(e->printed)) {
        buf_printf(&where, " (printed %.*f%s)", reference_decimals(e->printed, -1), e->printed,
                   e->figure == REFERENCE_EFFICIENCY ? "%" : "");
    }
    sheet_line(s, NULL, "Erratum: %s: %s.", buf_cstr(&where), e->what);
}

/* The lines under a table: how it was derived, where it is from, errata, notes. */
static void put_lines(struct sheet *s, const struct reference *r, const struct reference_table *t)
{
    add_conditions(t, s);
    add_derivation(r, t, s);
    if (!isnan(t->overall_median)) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        number_format(reference_overall_median(r, t).value, &text);
        sheet_line(s, NULL, "Median of all cells: %s (printed %.2f).", buf_cstr(&text),
                   t->overall_median);
    }
    vec_each (const struct reference_row, row, &t->rows) {
        if (!isnan(row->sum)) {
            sheet_line(s, NULL, "%s adds up to %g, as is printed.", row->name, row->sum);
        }
    }
    add_source(r, t, s);
    vec_each (const struct reference_erratum, e, &t->errata) {
        add_erratum(t, e, s);
    }
    vec_each (char *, note, &t->notes) {
        sheet_line(s, NULL, "%s.", *note);
    }
}

void reference_layout_title(struct sheet *s, const struct reference *r, const char *before)
{
    if (s->form == SHEET_TEXT) {
        sheet_put_head(s, &(struct sheet_head){.before = xstrdup(before),
                                               .name = xstrdup(r->name),
                                               .status = xasprintf("%lld", (long long)r->year),
                                               .description = xstrdup(r->title)});
    } else {
        char *name = xasprintf("%s%s (%lld)", before, r->title, (long long)r->year);
        sheet_put_head(s, &(struct sheet_head){.name = name});
    }
}

/* ---- the sheet ---- */

static void put_figure(struct sheet *s, const struct reference *r, const struct reference_table *t,
                       enum reference_figure figure)
{
    struct table *table = table_of(r, t, figure, false);
    if (s->form == SHEET_TEXT && table_width(table) > s->term.columns) {
        /* numbers do not break: turn it */
        struct table *turned = table_of(r, t, figure, true);
        const bool is_narrower = table_width(turned) < table_width(table);
        table_free(is_narrower ? table : turned);
        table = is_narrower ? turned : table;
    }
    struct buf caption = BUF_INIT;
    put_caption(t, figure, &caption);
    sheet_table(s, &caption, table, 1);
}

static void put_people(struct sheet *s, const struct reference *r)
{
    reference_layout_title(s, r, "");
    put_head(s, r);
    vec_each (const struct reference_table, t, &r->tables) {
        sheet_title(s, t->name, t->title);
        for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
            if (reference_has(r, t, (enum reference_figure)f)) {
                put_figure(s, r, t, (enum reference_figure)f);
            }
        }
        sheet_block(s, NULL);
        put_lines(s, r, t);
    }
}

void sheet_reference(struct sheet *s, const struct reference *r)
{
    if (s->form == SHEET_JSON) {
        s->document = reference_data_to_json(r);
    } else if (s->form == SHEET_CSV) {
        reference_data_put_rows(s, r);
    } else {
        put_people(s, r);
    }
}
