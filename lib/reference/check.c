/* See check.h. */
#include "reference/check.h"

#include <math.h>

#include "doc/diag.h"
#include "reference/derive.h"

/* Printed numbers are decimal, doubles are not: 1.005 may be just below its tie. */
#define SLACK 1e-9

static double factor_of(enum reference_figure figure)
{
    return figure == REFERENCE_EFFICIENCY ? 100 : 1;
}

/* NaN: none. */
static double printed_of(const struct reference_row *row, enum reference_figure figure,
                         size_t column)
{
    return row->published[figure] == NULL ? NAN : row->published[figure][column];
}

/* Rounded first, so that 77.47% is .7747 and not .7746999999999999. */
double reference_ratio(enum reference_figure figure, double printed)
{
    return figure == REFERENCE_EFFICIENCY ? round(printed * 1e9) / 1e11 : printed;
}

double reference_published(const struct reference_row *row, enum reference_figure figure,
                           size_t column)
{
    return reference_ratio(figure, printed_of(row, figure, column));
}

/* Half a unit of the last printed decimal. */
static double half_of(const struct reference_row *row, double printed)
{
    return pow(10, -reference_decimals(printed, row->published_digits)) / 2;
}

bool reference_differs(const struct reference *r, const struct reference_table *t,
                       enum reference_figure figure, size_t row, size_t column)
{
    const struct reference_row *x = reference_row_at(t, row);
    const struct reference_span s = reference_derive(r, t, figure, row, column);
    const double printed = printed_of(x, figure, column);
    return s.known && !isnan(printed) &&
           fabs(s.value * factor_of(figure) - printed) > half_of(x, printed) + SLACK;
}

static void check_figure(const struct reference *r, const struct reference_table *t,
                         enum reference_figure figure, size_t row, size_t column,
                         struct diags *diags)
{
    const struct reference_row *x = reference_row_at(t, row);
    const double printed = printed_of(x, figure, column), factor = factor_of(figure);
    if (isnan(printed)) {
        return;
    }
    const struct reference_span s = reference_derive(r, t, figure, row, column);
    if (!s.known) {
        diags_add(
            diags, x->mark, t->name, "remove it, or give what it is derived from",
            "row '%s' prints the %s %g at %g, and the set has no figures that it follows from",
            x->name, reference_figure_names[figure], printed, t->columns[column]);
        return;
    }
    const double half = half_of(x, printed) + SLACK;
    if ((printed + half < s.low * factor || printed - half > s.high * factor) &&
        reference_find_erratum(t, figure, row, column) == NULL) {
        diags_add(diags, x->mark, t->name,
                  "correct the number, or add an erratum that names row, column and figure",
                  "row '%s' prints the %s %g at %g, but its own figures give %.6g", x->name,
                  reference_figure_names[figure], printed, t->columns[column], s.value * factor);
    }
}

/* Does an erratum name anything that is not as printed? */
static bool has_cause(const struct reference *r, const struct reference_table *t,
                      const struct reference_erratum *e)
{
    for (size_t row = 0; row < t->rows.len + (t->has_median ? 1 : 0); row++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            if ((e->row != row && e->row != REFERENCE_NO_ROW) ||
                (e->column != c && e->column != REFERENCE_NO_ROW)) {
                continue;
            }
            const struct reference_span s = reference_derive(r, t, e->figure, row, c);
            if (reference_differs(r, t, e->figure, row, c) ||
                (!isnan(e->printed) && s.known &&
                 fabs(e->printed - s.value * factor_of(e->figure)) > SLACK)) {
                return true;
            }
        }
    }
    return false;
}

void reference_check(const struct reference *r, struct diags *diags)
{
    vec_each (const struct reference_table, t, &r->tables) {
        for (size_t row = 0; row < t->rows.len + (t->has_median ? 1 : 0); row++) {
            for (size_t c = 0; c < t->n_columns; c++) {
                for (int figure = 0; figure < REFERENCE_FIGURE_COUNT; figure++) {
                    check_figure(r, t, (enum reference_figure)figure, row, c, diags);
                }
            }
        }
        vec_each (const struct reference_erratum, e, &t->errata) {
            if (!has_cause(r, t, e)) {
                diags_add(diags, e->mark, t->name, "remove it, or write it as a note",
                          "the erratum names nothing that is printed otherwise than it is");
            }
        }
    }
}
