/* A set of published figures as CSV and JSON, see reference_layout.h and docs/references.md. */
#include <math.h>

#include "base/vec_walk.h"
#include "core/json_field.h"
#include "report/reference_layout.h"
#include "result/figure_json.h"

/* Has the row any figure at the column? A median may have a speedup alone. */
static bool has_figure(const struct reference_row *row, size_t column)
{
    return array_any(row->figures, REFERENCE_FIGURE_COUNT, it,
                     *it != NULL && !isnan((*it)[column]));
}

static const struct reference_erratum *find_erratum(const struct reference_table *t,
                                                    enum reference_figure figure,
                                                    const struct reference_row *row, size_t column)
{
    return vec_find(&t->errata, e,
                    e->figure == figure && reference_erratum_names(t, e, row, column));
}

/* ---- CSV ---- */

/* What the source prints: its own derived figure, or the number that an erratum corrects. */
static double printed_of(const struct reference_table *t, enum reference_figure figure,
                         const struct reference_row *row, size_t column)
{
    const double published = reference_published(row, figure, column);
    const struct reference_erratum *e = find_erratum(t, figure, row, column);
    if (!isnan(published) || e == NULL || e->column == REFERENCE_NO_ROW) {
        return published;
    }
    return reference_ratio(figure, e->printed);
}

static void put_row(struct sheet *s, const struct reference *r, const struct reference_table *t,
                    const struct reference_row *x, size_t column)
{
    static const char *const derived[] = {"value", "speedup", "efficiency", "price_index", "cost"};
    static const char *const printed[] = {"printed_value", "printed_speedup", "printed_efficiency",
                                          "printed_price_index", "printed_cost"};
    const struct reference_source *source = &r->sources.items[t->source];
    const struct reference_erratum *e = NULL;
    sheet_word(s, "set", r->name);
    sheet_count(s, "year", (uint64_t)r->year);
    sheet_word(s, "table", t->name);
    sheet_word(s, "row", x->name);
    sheet_word(s, "model", reference_model(r, t, x));
    sheet_word(s, "axis", t->axis);
    sheet_number(s, "column", t->columns[column]);
    sheet_word(s, "unit", t->unit);
    sheet_word(s, "scope", reference_scope_names[t->scope]);
    sheet_word(s, "quality", reference_quality_names[t->quality]);
    sheet_number(s, "reading_error", t->quality == REFERENCE_READING ? t->reading_error : NAN);
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        sheet_number(s, derived[f], reference_figure(x, (enum reference_figure)f, column));
    }
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        sheet_number(s, printed[f], printed_of(t, (enum reference_figure)f, x, column));
    }
    for (int f = 0; f < REFERENCE_FIGURE_COUNT && e == NULL; f++) {
        e = find_erratum(t, (enum reference_figure)f, x, column);
    }
    sheet_word(s, "erratum", e == NULL ? NULL : e->what);
    sheet_word(s, "source", source->title);
    sheet_word(s, "commit", source->commit);
    sheet_end_row(s);
}

void reference_data_put_rows(struct sheet *s, const struct reference *r)
{
    const struct reference_table *first = r->tables.items; /* no list of a set is empty */
    put_row(s, r, first, first->rows.items, 0);
    sheet_drop_rows(s);
    vec_each (const struct reference_table, t, &r->tables) {
        vec_each (const struct reference_row, row, &t->rows) {
            for (size_t c = 0; c < t->n_columns; c++) {
                if (has_figure(row, c)) {
                    put_row(s, r, t, row, c);
                }
            }
        }
    }
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? json_null() : json_string(text);
}

static void put_figures(json_t *object, const struct reference_table *t,
                        const struct reference_row *row, size_t column)
{
    json_t *printed = json_object();
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        const enum reference_figure figure = (enum reference_figure)f;
        const double x = reference_figure(row, figure, column);
        const double p = printed_of(t, figure, row, column);
        JSON_ADD(object, {reference_figure_names[f], isnan(x) ? NULL : json_real(x)});
        JSON_ADD(printed, {reference_figure_names[f], isnan(p) ? NULL : json_real(p)});
    }
    JSON_ADD(object, {"printed", json_object_size(printed) > 0 ? json_incref(printed) : NULL});
    json_decref(printed);
}

static json_t *node_or_null(const struct node *node)
{
    return node == NULL ? json_null() : tree_to_json(node);
}

static json_t *digits_or_null(int digits)
{
    return digits < 0 ? json_null() : json_integer(digits);
}

static json_t *row_to_json(const struct reference *r, const struct reference_table *t,
                           const struct reference_row *row)
{
    json_t *figures = json_array();
    for (size_t c = 0; c < t->n_columns; c++) {
        if (has_figure(row, c)) {
            json_t *figure = json_pack("{s:f}", "column", t->columns[c]);
            put_figures(figure, t, row, c);
            (void)json_array_append_new(figures, figure); /* grows in memory only */
        }
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "name", row->name, "model",
                     text_or_null(reference_model(r, t, row)), "digits",
                     digits_or_null(row->digits), "printedDigits",
                     digits_or_null(row->published_digits), "derivation",
                     node_or_null(row->derivation), "figures", figures);
}

static json_t *erratum_to_json(const struct reference_table *t, const struct reference_erratum *e)
{
    json_t *row =
        e->row == REFERENCE_NO_ROW ? json_null() : json_string(t->rows.items[e->row].name);
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:s}", "row", row, "column",
        json_number_or_null(e->column == REFERENCE_NO_ROW ? NAN : t->columns[e->column]), "figure",
        reference_figure_names[e->figure], "printed", json_number_or_null(e->printed), "what",
        e->what);
}

static json_t *table_to_json(const struct reference *r, const struct reference_table *t)
{
    json_t *at = json_object();
    vec_each (const struct reference_at, it, &t->at) {
        (void)json_object_set_new(at, it->name, json_real(it->value)); /* grows in memory only */
    }
    json_t *columns =
        JSON_ARRAY_OF(for (size_t c = 0; c < t->n_columns; c++), json_real(t->columns[c]));
    json_t *rows =
        JSON_ARRAY_OF(vec_each (const struct reference_row, row, &t->rows), row_to_json(r, t, row));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "name", t->name, "title", t->title, "source", r->sources.items[t->source].id, "quality",
        reference_quality_names[t->quality], "measure", reference_measure_names[t->measure],
        "scope", reference_scope_names[t->scope], "unit", t->unit, "axis", t->axis, "readingError",
        json_number_or_null(t->quality == REFERENCE_READING ? t->reading_error : NAN), "hardware",
        text_or_null(reference_hardware(r, t)), "software", text_or_null(reference_software(r, t)),
        "at", at, "columns", columns, "baseline", text_or_null(t->baseline), "derivation",
        node_or_null(t->derivation), "rows", rows, "errata",
        JSON_ARRAY_OF(vec_each (const struct reference_erratum, e, &t->errata),
                      erratum_to_json(t, e)),
        "notes", JSON_ARRAY_OF(vec_each (char *, note, &t->notes), json_string(*note)));
}

static json_t *source_to_json(const struct reference_source *s)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", s->id, "title", s->title, "repository",
                     text_or_null(s->repository), "file", text_or_null(s->file), "commit",
                     text_or_null(s->commit));
}

json_t *reference_data_to_json(const struct reference *r)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "apiVersion", "benchd.io/v1alpha1",
        "kind", "Reference", "name", r->name, "title", r->title, "year", (json_int_t)r->year,
        "description", text_or_null(r->description), "cpu", text_or_null(r->cpu), "sources",
        JSON_ARRAY_OF(vec_each (const struct reference_source, s, &r->sources), source_to_json(s)),
        "tables",
        JSON_ARRAY_OF(vec_each (const struct reference_table, t, &r->tables), table_to_json(r, t)),
        "notes", JSON_ARRAY_OF(vec_each (char *, note, &r->notes), json_string(*note)));
}
