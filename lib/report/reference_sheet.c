/* A set of published figures, see sheets.h and reference_parts.h. */
#include "report/reference_parts.h"

#include <math.h>

#include "core/json_field.h"
#include "report/sheets.h"
#include "result/number.h"

static const char *const captions[] = {
    [REFERENCE_SPEEDUP] = "Speedup",
    [REFERENCE_EFFICIENCY] = "Efficiency",
    [REFERENCE_PRICE_INDEX] = "Price index k / S^2: below 1 more of it pays",
    [REFERENCE_COST] = "Cost in dollars",
};

/* ---- cells ---- */

bool reference_layout_is_marked(const struct reference_table *t, enum reference_figure figure,
                                const struct reference_row *row, size_t column)
{
    return !isnan(reference_figure(row, figure, column)) &&
           (reference_differs(row, figure, column) ||
            vec_any(&t->errata, e,
                    e->figure == figure && e->row != REFERENCE_NO_ROW &&
                        e->column != REFERENCE_NO_ROW &&
                        reference_erratum_names(t, e, row, column)));
}

void reference_layout_put(const struct reference_table *t, enum reference_figure figure,
                          const struct reference_row *row, size_t column, struct buf *out)
{
    const double x = reference_figure(row, figure, column);
    if (isnan(x)) {
        buf_putc(out, '-');
        return;
    }
    if (figure == REFERENCE_VALUE && row->has_values) {
        buf_printf(out, "%s%.*f", t->quality == REFERENCE_READING ? "~" : "",
                   reference_decimals(x, row->digits), x);
    } else if (figure == REFERENCE_EFFICIENCY) {
        buf_printf(out, "%.2f%%", 100 * x);
    } else {
        number_format(x, out);
    }
    if (reference_layout_is_marked(t, figure, row, column)) {
        buf_putc(out, '*');
    }
}

static void column_text(double column, struct buf *out)
{
    buf_printf(out, "%.*f", reference_decimals(column, -1), column);
}

/* The rows of the set that have values or this figure: a median may have a speedup alone. */
static struct table *table_of(const struct reference_table *t, enum reference_figure figure)
{
    struct table *table = table_new();
    table_named_column(table, t->axis, TABLE_LEFT);
    for (size_t c = 0; c < t->n_columns; c++) {
        _cleanup_(buf_done) struct buf title = BUF_INIT;
        column_text(t->columns[c], &title);
        table_column(table, buf_cstr(&title), TABLE_RIGHT);
    }
    vec_each (const struct reference_row, row, &t->rows) {
        if (row->figures[REFERENCE_VALUE] == NULL && row->figures[figure] == NULL) {
            continue;
        }
        table_cell(table, "%s", row->name);
        for (size_t c = 0; c < t->n_columns; c++) {
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            reference_layout_put(t, figure, row, c, &text);
            table_cell(table, "%s", buf_cstr(&text));
        }
    }
    return table;
}

/* "Speedup", "Throughput in samples/s (job)". */
void reference_layout_caption(const struct reference_table *t, enum reference_figure figure,
                              struct buf *out)
{
    static const char *const of_scope[] = {"the whole job", "one worker", "one thread"};
    if (figure != REFERENCE_VALUE || t->measure == REFERENCE_RATIO) {
        buf_puts(out, figure != REFERENCE_VALUE ? captions[figure] : "Ratio");
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

static void put_notes(struct sheet *s, const struct node *notes)
{
    for (size_t i = 0; notes != NULL && i < notes->n_children; i++) {
        sheet_line(s, NULL, "%s.", notes->children[i]->s);
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
    const struct {
        const char *before, *text; /* "": it has none */
    } parts[] = {{"; ", source->repository},
                 {", ", source->file},
                 {" @ ", source->commit},
                 {"; ", how[t->quality]}};
    buf_printf(&text, "Source: %s", source->title);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        buf_printf(&text, "%s%s", parts[i].text[0] == '\0' ? "" : parts[i].before, parts[i].text);
    }
    if (t->quality == REFERENCE_READING) {
        buf_printf(&text, " to about %g", t->reading_error);
    }
    sheet_line(s, NULL, "%s.", buf_cstr(&text));
}

void reference_layout_erratum(struct sheet *s, const struct reference_table *t,
                              const struct reference_erratum *e)
{
    _cleanup_(buf_done) struct buf where = BUF_INIT;
    if (e->row != REFERENCE_NO_ROW) {
        buf_printf(&where, "%s, ", t->rows.items[e->row].name);
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
    sheet_line(s, s->form == SHEET_HTML ? &sheet_paragraph : NULL, "Erratum: %s: %s.",
               buf_cstr(&where), e->what);
}

void reference_layout_title(struct sheet *s, const struct reference *r, const char *before)
{
    const long long year = r->year;
    if (s->form == SHEET_TEXT) {
        sheet_put_head(s, &(struct sheet_head){.before = xstrdup(before),
                                               .name = xstrdup(r->name),
                                               .status = xasprintf("%lld", year),
                                               .description = xstrdup(r->title)});
    } else {
        sheet_put_head(
            s, &(struct sheet_head){.name = xasprintf("%s%s (%lld)", before, r->title, year)});
    }
}

/* ---- the sheet ---- */

static void put_people(struct sheet *s, const struct reference *r)
{
    reference_layout_title(s, r, "");
    add_fact(s, "", r->description);
    add_fact(s, "Model: ", r->model);
    add_fact(s, "Hardware: ", r->hardware);
    add_fact(s, "Clock and caches: ", r->cpu);
    add_fact(s, "Software: ", r->software);
    put_notes(s, r->notes);
    vec_each (const struct reference_table, t, &r->tables) {
        sheet_title(s, t->name, t->title);
        for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
            if (reference_has(t, (enum reference_figure)f)) {
                struct buf caption = BUF_INIT;
                reference_layout_caption(t, (enum reference_figure)f, &caption);
                sheet_table(s, &caption, table_of(t, (enum reference_figure)f), 1);
            }
        }
        sheet_block(s, NULL);
        add_conditions(t, s);
        add_source(r, t, s);
        vec_each (const struct reference_erratum, e, &t->errata) {
            reference_layout_erratum(s, t, e);
        }
        put_notes(s, t->notes);
    }
}

void sheet_reference(struct sheet *s, const struct reference *r)
{
    if (s->form == SHEET_JSON) { /* as its file has it */
        _cleanup_(json_decrefp) json_t *document = tree_to_json(r->document);
        s->document =
            json_pack("{s:s, s:s}", "apiVersion", "benchd.io/v1alpha1", "kind", "Reference");
        (void)json_object_update(s->document, document); /* grows in memory only */
    } else {
        put_people(s, r);
    }
}
