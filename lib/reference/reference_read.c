/* Reading sets, see reference.h and docs/references.md. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/reader.h"
#include "reference/check.h"
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

/* A number for each column, null where the source has none. Owned; NULL: absent, or wrong. */
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

static void read_published(struct diags *d, const struct place *map, struct reference_row *row,
                           size_t n_columns)
{
    const char *fields[REFERENCE_FIGURE_COUNT + 2] = {"digits"}; /* NULL ends it */
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        fields[f + 1] = reference_figure_names[f];
    }
    struct place place = place_get(map, "published");
    row->published_digits = -1;
    if (!read_map(d, &place, fields)) {
        return;
    }
    row->published_digits = (int)read_int_or(d, &place, "digits", 0, DIGITS_MAX, -1);
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        row->published[f] = read_cells(d, &place, reference_figure_names[f], n_columns);
    }
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

/* A row that is a ratio of two of another table. */
static size_t read_part(struct diags *d, const struct place *item, const char *key,
                        const struct reference_table *from)
{
    struct place place = place_get(item, key);
    const char *name;
    if (!read_text(d, &place, TEXT_MAX, &name)) {
        return 0; /* reported, or by read_map: it is required */
    }
    const size_t row = reference_find_row(from, name);
    if (row == REFERENCE_NO_ROW) {
        reader_complain(d, &place, NULL, "table '%s' has no row '%s'", from->name, name);
        return 0;
    }
    return row;
}

static void read_row(const struct reading *in, const struct place *item,
                     const struct reference_table *t, int digits, struct reference_row *row)
{
    const bool is_ratio = t->ratio_of != REFERENCE_NO_ROW;
    const char *const *fields = is_ratio ? FIELDS("*name", "!values", "!digits", "!price", "*of",
                                                  "*over", "published", KIN_FIELDS)
                                         : FIELDS("*name", "*values", "digits", "price", "!of",
                                                  "!over", "published", KIN_FIELDS);
    *row = (struct reference_row){.digits = digits,
                                  .price = NAN,
                                  .of = REFERENCE_NO_ROW,
                                  .over = REFERENCE_NO_ROW,
                                  .mark = item->node->mark};
    if (!read_map(in->d, item, fields)) {
        return;
    }
    row->name = read_text_or(in->d, item, "name", TEXT_MAX, "");
    row->model = read_text_or(in->d, item, "model", TEXT_MAX, NULL);
    row->workload = read_text_or(in->d, item, "workload", TEXT_MAX, NULL);
    read_published(in->d, item, row, t->n_columns);
    row->kin = read_kin(in->d, item);
    read_at(in->d, item, &row->at);
    if (is_ratio) {
        const struct reference_table *from = &in->r->tables.items[t->ratio_of];
        row->of = read_part(in->d, item, "of", from);
        row->over = read_part(in->d, item, "over", from);
        return;
    }
    row->values = read_cells(in->d, item, "values", t->n_columns);
    row->digits = (int)read_int_or(in->d, item, "digits", 0, DIGITS_MAX, digits);
    row->price = read_number_or(in->d, item, "price", 0, NUMBER_MAX, NAN);
}

static void read_rows(const struct reading *in, const struct place *map, struct reference_table *t)
{
    const int digits = (int)read_int_or(in->d, map, "digits", 0, DIGITS_MAX, -1);
    read_items (item, in->d, map, "rows", REFERENCE_MAX_ROWS) {
        struct reference_row row;
        read_row(in, &item, t, digits, &row);
        if (row.name != NULL && reference_find_row(t, row.name) != REFERENCE_NO_ROW) {
            reader_complain(in->d, &item, "rename one of them", "a row is named '%s' already",
                            row.name);
        }
        if (row.name == NULL) {
            row.name = "";
        }
        *vec_push(&t->rows) = row;
    }
}

static void read_median(struct diags *d, const struct place *map, struct reference_table *t)
{
    struct place place = place_get(map, "median");
    t->median = (struct reference_row){.name = "median", .price = NAN};
    if (read_map(d, &place, FIELDS("published"))) {
        t->has_median = true;
        t->median.mark = place.node->mark;
        read_published(d, &place, &t->median, t->n_columns);
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

/* An earlier table of the set by its name, or this one. */
static size_t find_table(const struct reference *r, const char *name)
{
    const struct reference_table *t = vec_find(&r->tables, it, str_eq(it->name, name));
    return t == NULL ? REFERENCE_NO_ROW : (size_t)(t - r->tables.items);
}

static void read_base(const struct reading *in, const struct place *map, struct reference_table *t)
{
    struct place place = place_get(map, "baseline");
    if (!read_map(in->d, &place, FIELDS("table", "column"))) {
        return;
    }
    struct place table = place_get(&place, "table"), column = place_get(&place, "column");
    const char *name;
    const struct reference_table *base = t;
    t->base_table = in->r->tables.len;
    if (read_text(in->d, &table, TEXT_MAX, &name)) {
        t->base_table = find_table(in->r, name);
        if (t->base_table == REFERENCE_NO_ROW) {
            reader_complain(in->d, &table, "name a table above this one", "there is no table '%s'",
                            name);
            return;
        }
        base = &in->r->tables.items[t->base_table];
    } else if (column.node == NULL) {
        reader_complain(in->d, &place, "write {column: 1}, {table: NAME} or both",
                        "the baseline must be said");
        return;
    }
    double at = 0;
    t->base = column.node == NULL ? REFERENCE_BASE_SAME : REFERENCE_BASE_COLUMN;
    if (read_number(in->d, &column, 0, NUMBER_MAX, &at)) {
        t->base_column = reference_find_column(base, at);
        if (t->base_column == REFERENCE_NO_ROW) {
            reader_complain(in->d, &column, NULL, "table '%s' has no column %g", base->name, at);
            t->base = REFERENCE_NO_BASE;
        }
    }
}

/* What efficiency divides the speedup by: the column, or a number that all have. */
static void read_efficiency(struct diags *d, const struct place *map, struct reference_table *t)
{
    struct place place = place_get(map, "efficiency");
    if (place.node == NULL) {
        return;
    }
    t->has_efficiency = true;
    if (place.node->kind != NODE_STRING || !str_eq(place.node->s, "Columns")) {
        if (!read_number(d, &place, 1, NUMBER_MAX, &t->scale)) {
            t->has_efficiency = false;
        }
    }
    if (t->base == REFERENCE_NO_BASE && t->measure != REFERENCE_RATIO) {
        reader_complain_key(d, &place, "add a baseline",
                            "without a speedup there is no efficiency");
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

static void read_ratio_of(const struct reading *in, const struct place *map,
                          struct reference_table *t)
{
    struct place place = place_get(map, "ratioOf");
    const char *name;
    t->ratio_of = REFERENCE_NO_ROW;
    if (!read_text(in->d, &place, TEXT_MAX, &name)) {
        return;
    }
    const size_t from = find_table(in->r, name);
    if (from == REFERENCE_NO_ROW || in->r->tables.items[from].ratio_of != REFERENCE_NO_ROW) {
        reader_complain(in->d, &place, "name a table above this one that has values",
                        "there is no such table '%s'", name);
        return;
    }
    const struct reference_table *x = &in->r->tables.items[from];
    if (x->n_columns != t->n_columns ||
        memcmp(x->columns, t->columns, t->n_columns * sizeof(t->columns[0])) != 0) {
        reader_complain(in->d, &place, "give both the same columns", "table '%s' has other columns",
                        name);
        return;
    }
    t->ratio_of = from;
    const char *const figures[] = {"Value", "Speedup"};
    t->ratio_figure = read_enum_or(in->d, map, "ratioFigure", figures, REFERENCE_VALUE);
}

/* ---- errata ---- */

static void read_erratum(struct diags *d, const struct place *item, struct reference_table *t)
{
    if (!read_map(d, item, FIELDS("row", "column", "figure", "printed", "*what"))) {
        return;
    }
    struct reference_erratum e = {
        .row = REFERENCE_NO_ROW, .column = REFERENCE_NO_ROW, .mark = item->node->mark};
    e.figure = read_enum_or(d, item, "figure", reference_figure_names, REFERENCE_VALUE);
    e.printed = read_number_or(d, item, "printed", -NUMBER_MAX, NUMBER_MAX, NAN);
    e.what = read_text_or(d, item, "what", TEXT_MAX, "");
    struct place row = place_get(item, "row"), column = place_get(item, "column");
    const char *name;
    if (read_text(d, &row, TEXT_MAX, &name)) {
        e.row = reference_find_row(t, name);
        if (e.row == REFERENCE_NO_ROW && t->has_median && str_eq(name, t->median.name)) {
            e.row = t->rows.len;
        } else if (e.row == REFERENCE_NO_ROW) {
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

static const char *const price_index_names[] = {"None", "Columns"};

static void read_table(const struct reading *in, const struct place *item)
{
    if (!read_map(in->d, item,
                  FIELDS("*name", "*title", "*source", "*quality", "*unit", "*axis", "*columns",
                         "*rows", "measure", "scope", "readingError", "digits", "at", "baseline",
                         "efficiency", "priceIndex", "median", "ratioOf", "model", "hardware",
                         "software", "errata", "notes", "ratioFigure", "quantity", "goal", "task",
                         "family", "reimplementedBy"))) {
        return;
    }
    struct reference_table t = {.mark = item->node->mark};
    t.name = read_name(in->d, item, "name");
    if (find_table(in->r, t.name) != REFERENCE_NO_ROW) {
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
    read_ratio_of(in, item, &t);
    read_base(in, item, &t);
    read_efficiency(in->d, item, &t);
    t.has_price_index = read_enum_or(in->d, item, "priceIndex", price_index_names, 0) == 1;
    read_rows(in, item, &t);
    read_median(in->d, item, &t);
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
    if (diags->list.len + diags->n_dropped == n_before) {
        reference_check(r, diags);
    }
    if (diags->list.len + diags->n_dropped != n_before) {
        reference_free(r);
        return -EINVAL;
    }
    *ret = r;
    return 0;
}
