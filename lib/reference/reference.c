/* See reference.h; reading is in reference_read.c. */
#include "reference/reference.h"

#include "base/mem.h"
#include "base/str.h"

static const char *const quality_names[] = {"Table", "Label", "Reading", "Raw"};
static const char *const measure_names[] = {"Throughput", "Time", "Ratio", "Other"};
static const char *const scope_names[] = {"Job", "Worker", "Thread"};
static const char *const figure_names[] = {"value", "speedup", "efficiency", "priceIndex", "cost"};

const char *reference_quality_to_string(enum reference_quality quality)
{
    return quality_names[quality];
}

const char *reference_measure_to_string(enum reference_measure measure)
{
    return measure_names[measure];
}

const char *reference_scope_to_string(enum reference_scope scope)
{
    return scope_names[scope];
}

const char *reference_figure_to_string(enum reference_figure figure)
{
    return figure_names[figure];
}

const char *reference_model(const struct reference *r, const struct reference_table *t,
                            const struct reference_row *row)
{
    return row != NULL && row->model != NULL ? row->model : t->model != NULL ? t->model : r->model;
}

const char *reference_hardware(const struct reference *r, const struct reference_table *t)
{
    return t->hardware != NULL ? t->hardware : r->hardware;
}

const char *reference_software(const struct reference *r, const struct reference_table *t)
{
    return t->software != NULL ? t->software : r->software;
}

const struct reference_row *reference_row_at(const struct reference_table *t, size_t row)
{
    return row == t->rows.len ? &t->median : &t->rows.items[row];
}

size_t reference_find_row(const struct reference_table *t, const char *name)
{
    for (size_t i = 0; i < t->rows.len; i++) {
        if (str_eq(t->rows.items[i].name, name)) {
            return i;
        }
    }
    return REFERENCE_NO_ROW;
}

size_t reference_find_column(const struct reference_table *t, double column)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->columns[i] == column) {
            return i;
        }
    }
    return REFERENCE_NO_ROW;
}

static void row_done(struct reference_row *row)
{
    free(row->values);
    for (size_t i = 0; i < REFERENCE_FIGURE_COUNT; i++) {
        free(row->published[i]);
    }
}

static void table_done(struct reference_table *t)
{
    vec_done(&t->at);
    vec_each (struct reference_row, row, &t->rows) {
        row_done(row);
    }
    vec_done(&t->rows);
    row_done(&t->median);
    vec_done(&t->errata);
    vec_done(&t->notes);
}

void reference_free(struct reference *r)
{
    if (r == NULL) {
        return;
    }
    vec_done(&r->sources);
    vec_each (struct reference_table, t, &r->tables) {
        table_done(t);
    }
    vec_done(&r->tables);
    vec_done(&r->notes);
    tree_free(r->document);
    free(r);
}
