/* See reference.h; reading is in reference_read.c. */
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"

#define MAX_DECIMALS 12
/* Printed numbers are decimal, doubles are not: 1.005 may be just below its tie. */
#define SLACK 1e-9

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

static double cell(double *const cells[REFERENCE_FIGURE_COUNT], enum reference_figure figure,
                   size_t column)
{
    return cells[figure] == NULL ? NAN : cells[figure][column];
}

/* Converts a number of a file, where efficiencies are percentages. Rounded first, so that 77.47% is
 * .7747 and not .7746999999999999. */
static double ratio_of(enum reference_figure figure, double printed)
{
    return figure == REFERENCE_EFFICIENCY ? round(printed * 1e9) / 1e11 : printed;
}

double reference_figure(const struct reference_row *row, enum reference_figure figure,
                        size_t column)
{
    return ratio_of(figure, cell(row->figures, figure, column));
}

double reference_published(const struct reference_row *row, enum reference_figure figure,
                           size_t column)
{
    return ratio_of(figure, cell(row->published, figure, column));
}

int reference_decimals(double value, int digits)
{
    for (int n = digits >= 0 ? digits : 0; n < MAX_DECIMALS; n++) {
        char text[400];
        (void)snprintf(text, sizeof(text), "%.*f", n,
                       value); /* a double has at most 309 before the point */
        double back;
        if (digits >= 0 || (parse_f64(text, &back) == 0 && back == value)) {
            return n;
        }
    }
    return MAX_DECIMALS;
}

bool reference_differs(const struct reference_row *row, enum reference_figure figure, size_t column)
{
    const double printed = cell(row->published, figure, column);
    const double half = pow(10, -reference_decimals(printed, row->published_digits)) / 2;
    return fabs(cell(row->figures, figure, column) - printed) > half + SLACK; /* not of a NaN */
}

bool reference_has(const struct reference_table *t, enum reference_figure figure)
{
    vec_each (const struct reference_row, row, &t->rows) {
        for (size_t c = 0; c < t->n_columns; c++) {
            if (!isnan(cell(row->figures, figure, c))) {
                return true;
            }
        }
    }
    return false;
}

size_t reference_find_row(const struct reference_table *t, const char *name)
{
    const struct reference_row *row = vec_find(&t->rows, it, str_eq_or_null(it->name, name));
    return row == NULL ? REFERENCE_NO_ROW : (size_t)(row - t->rows.items);
}

size_t reference_find_column(const struct reference_table *t, double column)
{
    const double *place = array_find(t->columns, t->n_columns, it, *it == column);
    return place == NULL ? REFERENCE_NO_ROW : (size_t)(place - t->columns);
}

bool reference_erratum_names(const struct reference_table *t, const struct reference_erratum *e,
                             const struct reference_row *row, size_t column)
{
    return (e->row == REFERENCE_NO_ROW || &t->rows.items[e->row] == row) &&
           (e->column == REFERENCE_NO_ROW || e->column == column);
}

static void row_done(struct reference_row *row)
{
    vec_done(&row->at);
    for (size_t i = 0; i < REFERENCE_FIGURE_COUNT; i++) {
        free(row->figures[i]);
        free(row->published[i]);
    }
}

static void table_done(struct reference_table *t)
{
    vec_done(&t->at);
    vec_done_each(&t->rows, row_done);
    vec_done(&t->errata);
}

void reference_free(struct reference *r)
{
    if (r == NULL) {
        return;
    }
    vec_done(&r->sources);
    vec_done_each(&r->tables, table_done);
    tree_free(r->document);
    free(r);
}
