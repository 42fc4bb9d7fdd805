/* See reference.h; reading is in reference_read.c. */
#include "reference/reference.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"

const char *const reference_quality_names[] = {"Table", "Label", "Reading", "Raw"};
const char *const reference_measure_names[] = {"Throughput", "Time", "Ratio", "Other"};
const char *const reference_scope_names[] = {"Job", "Worker", "Thread"};
const char *const reference_figure_names[] = {"value", "speedup", "efficiency", "priceIndex",
                                              "cost"};
const struct node reference_no_words = {.kind = NODE_SEQ};
const char *const reference_quantity_names[] = {
    "None",           "Throughput",        "Speedup",           "Efficiency",
    "TimeToAccuracy", "SpeedupToAccuracy", "AccuracyAfterTime", "AllReduceTime",
    "ExchangeShare"};

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
    const struct reference_row *row = vec_find(&t->rows, it, str_eq(it->name, name));
    return row == NULL ? REFERENCE_NO_ROW : (size_t)(row - t->rows.items);
}

size_t reference_find_column(const struct reference_table *t, double column)
{
    const double *place = array_find(t->columns, t->n_columns, it, *it == column);
    return place == NULL ? REFERENCE_NO_ROW : (size_t)(place - t->columns);
}

const struct reference_erratum *reference_find_erratum(const struct reference_table *t,
                                                       enum reference_figure figure, size_t row,
                                                       size_t column)
{
    return vec_find(&t->errata, e,
                    e->figure == figure && (e->row == row || e->row == REFERENCE_NO_ROW) &&
                        (e->column == column || e->column == REFERENCE_NO_ROW));
}

static void row_done(struct reference_row *row)
{
    vec_done(&row->at);
    free(row->values);
    for (size_t i = 0; i < REFERENCE_FIGURE_COUNT; i++) {
        free(row->published[i]);
    }
}

static void table_done(struct reference_table *t)
{
    vec_done(&t->at);
    vec_done_each(&t->rows, row_done);
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
    vec_done_each(&r->tables, table_done);
    vec_done(&r->notes);
    tree_free(r->document);
    free(r);
}
