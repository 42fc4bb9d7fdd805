/* Reading sets, see reference.h and docs/references.md. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/reader.h"
#include "reference/reference.h"

#define TEXT_MAX 400
#define SOURCES_MAX 32
#define TABLES_MAX 64
#define LIST_MAX 64
#define NUMBER_MAX 1e15
#define YEAR_MIN 1950
#define YEAR_MAX 2100
#define DIGITS_MAX 9
#define KIN_FIELDS "at", "model", "workload", "task", "family", "reimplementedBy"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

struct reading {
    struct diags *d;
    struct reference *r;
};

static const char *read_name(struct diags *d, const struct place *map, const char *key)
{
    const char *name = read_text_or(d, map, key, TEXT_MAX, "");
    struct place place = place_get(map, key);
    if (place.node != NULL && (name[0] == '\0' || name[strspn(name, NAME_CHARS)] != '\0')) {
        reader_complain(d, &place, "use a-z, 0-9 and '-'", "'%s' is not a name", name);
    }
    return name;
}

/* Returns a number for each column, NaN where the source has none; NULL if the list is absent or
 * wrong. Owned. */
static double *read_cells(struct diags *d, const struct place *map, const char *key, size_t n)
{
    struct place list = place_get(map, key);
    if (!read_list(d, &list, REFERENCE_MAX_COLUMNS)) {
        return NULL;
    }
    if (list.node->n_children != n) {
        reader_complain(d, &list, "give one a column, null where there is none",
                        "%zu numbers for %zu columns", list.node->n_children, n);
        return NULL;
    }
    double *values = xnew_array(double, n);
    place_each (item, &list) {
        values[item.index] = NAN;
        if (item.node->kind != NODE_NULL) { /* what is wrong was reported */
            (void)read_number(d, &item, -NUMBER_MAX, NUMBER_MAX, &values[item.index]);
        }
    }
    return values;
}

/* Fills by figure. Returns `digits` of the map, or -1. */
static int read_figures(struct diags *d, const struct place *map, const char *key,
                        double *ret[REFERENCE_FIGURE_COUNT], size_t n_columns)
{
    const char *fields[REFERENCE_FIGURE_COUNT + 2] = {"digits"}; /* NULL ends it */
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        fields[f + 1] = reference_figure_names[f];
    }
    struct place place = place_get(map, key);
    if (!read_map(d, &place, fields)) {
        return -1;
    }
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        ret[f] = read_cells(d, &place, reference_figure_names[f], n_columns);
    }
    return (int)read_int_or(d, &place, "digits", 0, DIGITS_MAX, -1);
}

static void read_notes(struct diags *d, const struct place *map, const char *key,
                       struct reference_notes *notes)
{
    read_items (item, d, map, key, LIST_MAX) {
        const char *text;
        if (read_text(d, &item, TEXT_MAX, &text)) {
            *vec_push(notes) = item.node->s;
        }
    }
}

static const struct node *read_words(struct diags *d, const struct place *map, const char *key)
{
    read_items (item, d, map, key, LIST_MAX) {
        const char *text;
        (void)read_text(d, &item, TEXT_MAX, &text); /* what is wrong was reported */
    }
    return place_get(map, key).node;
}

static struct reference_kin read_kin(struct diags *d, const struct place *map)
{
    return (struct reference_kin){.task = read_words(d, map, "task"),
                                  .family = read_words(d, map, "family"),
                                  .copied_by = read_words(d, map, "reimplementedBy")};
}

static void read_at(struct diags *d, const struct place *map, struct reference_ats *at)
{
    struct place place = place_get(map, "at");
    if (place.node == NULL) {
        return;
    }
    if (place.node->kind != NODE_MAP) {
        reader_complain(d, &place, "write {batch_size: 128}", "it must be a map");
        return;
    }
    place_each (item, &place) {
        double value;
        if (read_number(d, &item, 0, NUMBER_MAX, &value)) {
            *vec_push(at) = (struct reference_at){item.key, value};
        }
    }
}

/* ---- rows ---- */

static void read_row(const struct reading *in, const struct place *item,
                     const struct reference_table *t, int digits, struct reference_row *row)
{
    *row = (struct reference_row){.name = ""};
    if (!read_map(in->d, item,
                  FIELDS("*name", "values", "digits", "published", "recomputed", "derivation",
                         KIN_FIELDS))) {
        return;
    }
    row->name = read_text_or(in->d, item, "name", TEXT_MAX, "");
    row->model = read_text_or(in->d, item, "model", TEXT_MAX, NULL);
    row->workload = read_text_or(in->d, item, "workload", TEXT_MAX, NULL);
    row->kin = read_kin(in->d, item);
    read_at(in->d, item, &row->at);
    row->derivation = place_get(item, "derivation").node;
    row->published_digits = read_figures(in->d, item, "published", row->published, t->n_columns);
    (void)read_figures(in->d, item, "recomputed", row->figures,
                       t->n_columns); /* digits are not used */
    struct place values = place_get(item, "values");
    row->has_values = values.node != NULL;
    if (row->has_values) {
        free(row->figures[REFERENCE_VALUE]);
        row->figures[REFERENCE_VALUE] = read_cells(in->d, item, "values", t->n_columns);
    }
    row->digits = (int)read_int_or(in->d, item, "digits", 0, DIGITS_MAX, digits);
}

static void read_rows(const struct reading *in, const struct place *map, struct reference_table *t)
{
    const int digits = (int)read_int_or(in->d, map, "digits", 0, DIGITS_MAX, -1);
    read_items (item, in->d, map, "rows", REFERENCE_MAX_ROWS) {
        struct reference_row row;
        read_row(in, &item, t, digits, &row);
        if (reference_find_row(t, row.name) != REFERENCE_NO_ROW) {
            reader_complain(in->d, &item, "rename one of them", "a row is named '%s' already",
                            row.name);
        }
        *vec_push(&t->rows) = row;
    }
}

/* ---- tables ---- */

static void read_columns(struct diags *d, const struct place *map, struct reference_table *t)
{
    read_items (item, d, map, "columns", REFERENCE_MAX_COLUMNS) {
        double value = (double)item.index;
        (void)read_number(d, &item, 0, NUMBER_MAX, &value); /* a wrong one was reported */
        if (item.index > 0 && value <= t->columns[item.index - 1]) {
            reader_complain(d, &item, "sort them", "columns must ascend");
        }
        t->columns[t->n_columns++] = value;
    }
}

static size_t read_source_of(const struct reading *in, const struct place *map)
{
    struct place place = place_get(map, "source");
    const char *id;
    if (!read_text(in->d, &place, TEXT_MAX, &id)) {
        return 0;
    }
    const struct reference_source *source = vec_find(&in->r->sources, it, str_eq(it->id, id));
    if (source == NULL) {
        reader_complain(in->d, &place, "add it to sources", "there is no source '%s'", id);
        return 0;
    }
    return (size_t)(source - in->r->sources.items);
}

/* ---- errata ---- */

static void read_erratum(struct diags *d, const struct place *item, struct reference_table *t)
{
    if (!read_map(d, item, FIELDS("row", "column", "figure", "printed", "*what"))) {
        return;
    }
    struct reference_erratum e = {.row = REFERENCE_NO_ROW, .column = REFERENCE_NO_ROW};
    e.figure = read_enum_or(d, item, "figure", reference_figure_names, REFERENCE_VALUE);
    e.printed = read_number_or(d, item, "printed", -NUMBER_MAX, NUMBER_MAX, NAN);
    e.what = read_text_or(d, item, "what", TEXT_MAX, "");
    struct place row = place_get(item, "row"), column = place_get(item, "column");
    const char *name;
    if (read_text(d, &row, TEXT_MAX, &name)) {
        e.row = reference_find_row(t, name);
        if (e.row == REFERENCE_NO_ROW) {
            reader_complain(d, &row, NULL, "there is no row '%s'", name);
        }
    }
    double at;
    if (read_number(d, &column, 0, NUMBER_MAX, &at)) {
        e.column = reference_find_column(t, at);
        if (e.column == REFERENCE_NO_ROW) {
            reader_complain(d, &column, NULL, "there is no column %g", at);
        }
    }
    *vec_push(&t->errata) = e;
}

static void read_kind(struct diags *d, const struct place *map, struct reference_table *t)
{
    t->quality = read_enum_or(d, map, "quality", reference_quality_names, REFERENCE_TABLE);
    t->measure = read_enum_or(d, map, "measure", reference_measure_names, REFERENCE_THROUGHPUT);
    t->scope = read_enum_or(d, map, "scope", reference_scope_names, REFERENCE_JOB);
    t->quantity = read_enum_or(d, map, "quantity", reference_quantity_names,
                               t->measure == REFERENCE_THROUGHPUT && t->scope == REFERENCE_JOB
                                   ? REFERENCE_RATE
                                   : REFERENCE_NO_QUANTITY);
    t->goal = read_number_or(d, map, "goal", 0, NUMBER_MAX, NAN);
    struct place error = place_get(map, "readingError");
    t->reading_error = read_number_or(d, map, "readingError", 0, NUMBER_MAX, 0);
    if ((t->quality == REFERENCE_READING) != (error.node != NULL)) {
        reader_complain(d, map, "readings have one, and only they",
                        "readingError must say how far off a figure of quality Reading may be");
    }
}

static void read_table(const struct reading *in, const struct place *item)
{
    if (!read_map(in->d, item,
                  FIELDS("*name", "*title", "*source", "*quality", "*unit", "*axis", "*columns",
                         "*rows", "measure", "scope", "readingError", "digits", "at", "baseline",
                         "derivation", "model", "hardware", "software", "errata", "notes",
                         "quantity", "goal", "task", "family", "reimplementedBy"))) {
        return;
    }
    struct reference_table t = {0};
    t.name = read_name(in->d, item, "name");
    if (vec_any(&in->r->tables, it, str_eq(it->name, t.name))) {
        reader_complain(in->d, item, "rename one of them", "a table is named '%s' already", t.name);
    }
    t.title = read_text_or(in->d, item, "title", TEXT_MAX, "");
    t.unit = read_text_or(in->d, item, "unit", TEXT_MAX, "");
    t.axis = read_text_or(in->d, item, "axis", TEXT_MAX, "");
    t.model = read_text_or(in->d, item, "model", TEXT_MAX, NULL);
    t.hardware = read_text_or(in->d, item, "hardware", TEXT_MAX, NULL);
    t.software = read_text_or(in->d, item, "software", TEXT_MAX, NULL);
    t.source = read_source_of(in, item);
    read_kind(in->d, item, &t);
    read_columns(in->d, item, &t);
    t.kin = read_kin(in->d, item);
    read_at(in->d, item, &t.at);
    t.baseline = read_text_or(in->d, item, "baseline", TEXT_MAX, NULL);
    t.derivation = place_get(item, "derivation").node;
    read_rows(in, item, &t);
    read_items (erratum, in->d, item, "errata", LIST_MAX) {
        read_erratum(in->d, &erratum, &t);
    }
    read_notes(in->d, item, "notes", &t.notes);
    *vec_push(&in->r->tables) = t;
}

/* ---- the set ---- */

static void read_sources(const struct reading *in, const struct place *root)
{
    read_items (item, in->d, root, "sources", SOURCES_MAX) {
        if (read_map(in->d, &item, FIELDS("*id", "*title", "repository", "file", "commit"))) {
            *vec_push(&in->r->sources) = (struct reference_source){
                .id = read_name(in->d, &item, "id"),
                .title = read_text_or(in->d, &item, "title", TEXT_MAX, ""),
                .repository = read_text_or(in->d, &item, "repository", TEXT_MAX, ""),
                .file = read_text_or(in->d, &item, "file", TEXT_MAX, ""),
                .commit = read_text_or(in->d, &item, "commit", TEXT_MAX, ""),
            };
        }
    }
}

static void read_set(const struct reading *in, const struct place *root)
{
    if (!read_map(in->d, root,
                  FIELDS("*name", "*title", "*year", "*sources", "*tables", "model", "description",
                         "hardware", "cpu", "software", "notes", "task", "family",
                         "reimplementedBy"))) {
        return;
    }
    in->r->name = read_name(in->d, root, "name");
    in->r->title = read_text_or(in->d, root, "title", TEXT_MAX, "");
    in->r->description = read_text_or(in->d, root, "description", TEXT_MAX, "");
    in->r->model = read_text_or(in->d, root, "model", TEXT_MAX, "");
    in->r->hardware = read_text_or(in->d, root, "hardware", TEXT_MAX, "");
    in->r->cpu = read_text_or(in->d, root, "cpu", TEXT_MAX, "");
    in->r->software = read_text_or(in->d, root, "software", TEXT_MAX, "");
    in->r->year = read_int_or(in->d, root, "year", YEAR_MIN, YEAR_MAX, YEAR_MIN);
    in->r->kin = read_kin(in->d, root);
    read_notes(in->d, root, "notes", &in->r->notes);
    read_sources(in, root);
    read_items (item, in->d, root, "tables", TABLES_MAX) {
        read_table(in, &item);
    }
}

int reference_load(const char *text, size_t len, struct reference **ret, struct diags *diags)
{
    const size_t n_before = diags->list.len + diags->n_dropped;
    struct node *root;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, diags) < 0) {
        return -EINVAL;
    }
    struct place place = place_root(root);
    struct reference *r = xnew(struct reference);
    r->document = root;
    read_set(&(struct reading){diags, r}, &place);
    if (diags->list.len + diags->n_dropped != n_before) {
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

const char *reference_shipped_suggest(const char *name)
{
    const char *meant = embedded_suggest(reference_shipped, reference_shipped_count, name);
    size_t n_begin = 0; /* names that begin so: one is meant, too */
    const char *begins = NULL;
    for (size_t i = 0; i < reference_shipped_count; i++) {
        if (str_has_prefix(reference_shipped[i].name, name)) {
            begins = reference_shipped[i].name;
            n_begin++;
        }
    }
    return meant == NULL && n_begin == 1 ? begins : meant;
}
