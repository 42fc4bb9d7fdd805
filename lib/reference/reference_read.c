/* Reading sets, see reference.h and docs/references.md. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi.h"
#include "doc/openapi_check.h"
#include "reference/reference.h"

extern const struct embedded reference_form[]; /* made of reference_set.yaml by embed.py */

struct reading {
    struct diags *d;
    struct reference *r;
};

/* Returns a number for each column, NaN where the source has none; NULL if the list is absent or
 * wrong. Owned. */
static double *read_cells(struct diags *d, const struct place *map, const char *key, size_t n)
{
    const struct place list = place_get(map, key);
    if (!place_is_good(&list) || n == 0) {
        return NULL;
    }
    if (list.node->n_children != n) {
        reader_complain(d, &list, "give one a column, null where there is none",
                        "%zu numbers for %zu columns", list.node->n_children, n);
        return NULL;
    }
    double *values = xnew_array(double, n);
    place_each (item, &list) {
        values[item.index] = place_value(&item, NAN);
    }
    return values;
}

/* Fills by figure. */
static void read_figures(struct diags *d, const struct place *map, const char *key,
                         double *ret[REFERENCE_FIGURE_COUNT], size_t n_columns)
{
    const struct place place = place_get(map, key);
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        ret[f] = read_cells(d, &place, reference_figure_names[f], n_columns);
    }
}

static struct reference_kin read_kin(const struct place *map)
{
    return (struct reference_kin){.task = place_get(map, "task").node,
                                  .family = place_get(map, "family").node,
                                  .copied_by = place_get(map, "reimplementedBy").node};
}

static void read_at(const struct place *map, struct reference_ats *at)
{
    place_items (item, map, "at") {
        *vec_push(at) = (struct reference_at){item.key, place_value(&item, 0)};
    }
}

static void read_row(struct diags *d, const struct place *item, const struct reference_table *t,
                     int digits, struct reference_row *row)
{
    *row = (struct reference_row){.name = place_text(item, "name"),
                                  .model = place_text(item, "model"),
                                  .workload = place_text(item, "workload"),
                                  .kin = read_kin(item),
                                  .derivation = place_get(item, "derivation").node,
                                  .has_values = place_get(item, "values").node != NULL,
                                  .digits = (int)place_int(item, "digits", digits)};
    read_at(item, &row->at);
    row->published_digits = (int)place_int(PLACE(item, "published"), "digits", -1);
    read_figures(d, item, "published", row->published, t->n_columns);
    read_figures(d, item, "recomputed", row->figures, t->n_columns);
    if (row->has_values) {
        free(row->figures[REFERENCE_VALUE]);
        row->figures[REFERENCE_VALUE] = read_cells(d, item, "values", t->n_columns);
    }
}

static void read_columns(struct diags *d, const struct place *map, struct reference_table *t)
{
    place_items (item, map, "columns") {
        const double value = place_value(&item, (double)item.index);
        if (item.index > 0 && value <= t->columns[item.index - 1]) {
            reader_complain(d, &item, "sort them", "columns must ascend");
        }
        t->columns[t->n_columns++] = value;
    }
}

static size_t read_source_of(const struct reading *in, const struct place *map)
{
    const char *id = place_text(map, "source");
    const struct reference_source *source =
        vec_find(&in->r->sources, it, str_eq_or_null(it->id, id));
    if (source == NULL && id != NULL) {
        reader_complain(in->d, PLACE(map, "source"), "add it to sources", "there is no source '%s'",
                        id);
    }
    return source == NULL ? 0 : (size_t)(source - in->r->sources.items);
}

static void read_erratum(struct diags *d, const struct place *item, struct reference_table *t)
{
    struct reference_erratum e = {
        .row = REFERENCE_NO_ROW,
        .column = REFERENCE_NO_ROW,
        .figure = place_enum(item, "figure", reference_figure_names, REFERENCE_VALUE),
        .printed = place_number(item, "printed", NAN),
        .what = place_text(item, "what"),
    };
    const char *row = place_text(item, "row");
    const double column = place_number(item, "column", NAN);
    if (row != NULL) {
        e.row = reference_find_row(t, row);
        if (e.row == REFERENCE_NO_ROW) {
            reader_complain(d, PLACE(item, "row"), NULL, "there is no row '%s'", row);
        }
    }
    if (!isnan(column)) {
        e.column = reference_find_column(t, column);
        if (e.column == REFERENCE_NO_ROW) {
            reader_complain(d, PLACE(item, "column"), NULL, "there is no column %g", column);
        }
    }
    *vec_push(&t->errata) = e;
}

static void read_kind(struct diags *d, const struct place *map, struct reference_table *t)
{
    const struct place error = place_get(map, "readingError");
    t->quality = place_enum(map, "quality", reference_quality_names, REFERENCE_TABLE);
    t->measure = place_enum(map, "measure", reference_measure_names, REFERENCE_THROUGHPUT);
    t->scope = place_enum(map, "scope", reference_scope_names, REFERENCE_JOB);
    t->quantity = place_enum(map, "quantity", reference_quantity_names,
                             t->measure == REFERENCE_THROUGHPUT && t->scope == REFERENCE_JOB
                                 ? REFERENCE_RATE
                                 : REFERENCE_NO_QUANTITY);
    t->goal = place_number(map, "goal", NAN);
    t->reading_error = place_number(map, "readingError", 0);
    if ((t->quality == REFERENCE_READING) != (error.node != NULL)) {
        reader_complain(d, map, "readings have one, and only they",
                        "readingError must say how far off a figure of quality Reading may be");
    }
}

static void read_table(const struct reading *in, const struct place *item)
{
    struct reference_table t = {.name = place_text(item, "name"),
                                .title = place_text(item, "title"),
                                .unit = place_text(item, "unit"),
                                .axis = place_text(item, "axis"),
                                .model = place_text(item, "model"),
                                .hardware = place_text(item, "hardware"),
                                .software = place_text(item, "software"),
                                .source = read_source_of(in, item),
                                .kin = read_kin(item),
                                .baseline = place_text(item, "baseline"),
                                .derivation = place_get(item, "derivation").node,
                                .notes = place_get(item, "notes").node};
    read_kind(in->d, item, &t);
    read_columns(in->d, item, &t);
    read_at(item, &t.at);
    place_items (row, item, "rows") {
        read_row(in->d, &row, &t, (int)place_int(item, "digits", -1), vec_push(&t.rows));
    }
    place_items (erratum, item, "errata") {
        read_erratum(in->d, &erratum, &t);
    }
    *vec_push(&in->r->tables) = t;
}

static void read_set(const struct reading *in, const struct place *root)
{
    struct reference *r = in->r;
    r->name = place_text(root, "name");
    r->title = place_text(root, "title");
    r->description = place_text(root, "description");
    r->model = place_text(root, "model");
    r->hardware = place_text(root, "hardware");
    r->cpu = place_text(root, "cpu");
    r->software = place_text(root, "software");
    r->year = place_int(root, "year", 0);
    r->kin = read_kin(root);
    r->notes = place_get(root, "notes").node;
    place_items (item, root, "sources") {
        *vec_push(&r->sources) = (struct reference_source){
            .id = place_text(&item, "id"),
            .title = place_text(&item, "title"),
            .repository = place_text(&item, "repository"),
            .file = place_text(&item, "file"),
            .commit = place_text(&item, "commit"),
        };
    }
    place_items (item, root, "tables") {
        read_table(in, &item);
    }
}

int reference_load(const char *text, size_t len, struct reference **ret, struct diags *diags)
{
    static struct kept form;
    const size_t n_before = diags_count(diags);
    struct node *root;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, diags) < 0) {
        return -EINVAL;
    }
    const struct place place =
        place_root(root, schema_keep(&form, schema_parse, reference_form[0].text));
    struct reference *r = xnew(struct reference);
    r->document = root;
    schema_check(diags, &place);
    read_set(&(struct reading){diags, r}, &place);
    if (diags_count(diags) != n_before) {
        reference_free(r);
        return -EINVAL;
    }
    *ret = r;
    return 0;
}

struct reference *reference_shipped_load(const char *name)
{
    const struct embedded *file = embedded_find(reference_shipped, reference_shipped_count, name);
    if (file == NULL) {
        return NULL;
    }
    struct reference *reference = NULL;
    struct diags diags = {0};
    const int r = reference_load(file->text, strlen(file->text), &reference, &diags);
    assert(r == 0); /* tests/reference loads every one */
    (void)r;
    diags_done(&diags);
    return reference;
}
