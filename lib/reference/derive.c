/* See derive.h. */
#include "reference/derive.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/parse.h"
#include "stats/stats.h"

#define MAX_DECIMALS 12

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

static const struct reference_span unknown = {0};

static struct reference_span ratio(struct reference_span a, struct reference_span b)
{
    if (!a.known || !b.known || b.low <= 0) {
        return unknown;
    }
    return (struct reference_span){
        .known = true, .value = a.value / b.value, .low = a.low / b.high, .high = a.high / b.low};
}

static struct reference_span scaled(struct reference_span a, double factor)
{
    return (struct reference_span){a.known, a.value * factor, a.low * factor, a.high * factor};
}

static struct reference_span own_value(const struct reference_table *t,
                                       const struct reference_row *row, size_t column)
{
    const double value = row->values[column];
    if (isnan(value)) {
        return unknown;
    }
    const double half = t->quality == REFERENCE_READING
                            ? t->reading_error
                            : pow(10, -reference_decimals(value, row->digits)) / 2;
    return (struct reference_span){true, value, value - half, value + half};
}

static struct reference_span of_row(const struct reference *r, const struct reference_table *t,
                                    enum reference_figure figure, size_t row, size_t column);

static struct reference_span value_of(const struct reference *r, const struct reference_table *t,
                                      size_t row, size_t column)
{
    const struct reference_row *x = &t->rows.items[row];
    if (x->of == REFERENCE_NO_ROW) {
        return own_value(t, x, column);
    }
    const struct reference_table *from =
        &r->tables.items[t->ratio_of]; /* has values, so this ends */
    return ratio(of_row(r, from, t->ratio_figure, x->of, column),
                 of_row(r, from, t->ratio_figure, x->over, column));
}

static struct reference_span speedup_of(const struct reference *r, const struct reference_table *t,
                                        size_t row, size_t column)
{
    const struct reference_span x = value_of(r, t, row, column);
    if (t->measure == REFERENCE_RATIO) {
        return t->ratio_of == REFERENCE_NO_ROW ? x : unknown;
    }
    if (t->base == REFERENCE_NO_BASE) {
        return unknown;
    }
    const struct reference_table *b = &r->tables.items[t->base_table];
    const size_t base_row = reference_find_row(b, t->rows.items[row].name);
    const size_t base_column = t->base == REFERENCE_BASE_SAME
                                   ? reference_find_column(b, t->columns[column])
                                   : t->base_column;
    if (base_row == REFERENCE_NO_ROW || base_column == REFERENCE_NO_ROW) {
        return unknown;
    }
    if (b == t && base_column == column) { /* itself: nothing in it is uncertain */
        return x.known ? (struct reference_span){true, 1, 1, 1} : unknown;
    }
    const struct reference_span base = value_of(r, b, base_row, base_column);
    return t->measure == REFERENCE_TIME ? ratio(base, x) : ratio(x, base);
}

static double scale_of(const struct reference *r, const struct reference_table *t, size_t column)
{
    if (t->scale > 0) {
        return t->scale;
    }
    const double one = t->base == REFERENCE_BASE_COLUMN && &r->tables.items[t->base_table] == t
                           ? t->columns[t->base_column]
                           : 1;
    return t->columns[column] / one;
}

static struct reference_span of_row(const struct reference *r, const struct reference_table *t,
                                    enum reference_figure figure, size_t row, size_t column)
{
    const struct reference_span s = speedup_of(r, t, row, column);
    switch (figure) {
    case REFERENCE_VALUE:
        return value_of(r, t, row, column);
    case REFERENCE_SPEEDUP:
        return s;
    case REFERENCE_EFFICIENCY:
        return t->has_efficiency ? scaled(s, 1 / scale_of(r, t, column)) : unknown;
    case REFERENCE_PRICE_INDEX:
        if (!t->has_price_index || !s.known || s.low <= 0) {
            return unknown;
        }
        const double k = scale_of(r, t, column);
        return (struct reference_span){true, k / (s.value * s.value), k / (s.high * s.high),
                                       k / (s.low * s.low)};
    case REFERENCE_COST:
        return isnan(t->rows.items[row].price)
                   ? unknown
                   : scaled(value_of(r, t, row, column),
                            t->rows.items[row].price * t->columns[column] / 3600);
    }
    return unknown;
}

/* Of the spans that all rows have at a column. */
static struct reference_span median_of(const struct reference *r, const struct reference_table *t,
                                       enum reference_figure figure, size_t column)
{
    _cleanup_(freep) double *values = xnew_array(double, 3 * t->rows.len);
    double *low = values + t->rows.len, *high = low + t->rows.len;
    size_t n = 0;
    for (size_t row = 0; row < t->rows.len; row++) {
        const struct reference_span s = of_row(r, t, figure, row, column);
        if (s.known) {
            values[n] = s.value;
            low[n] = s.low;
            high[n++] = s.high;
        }
    }
    return n == 0 ? unknown
                  : (struct reference_span){true, stats_middle(values, n), stats_middle(low, n),
                                            stats_middle(high, n)};
}

struct reference_span reference_derive(const struct reference *r, const struct reference_table *t,
                                       enum reference_figure figure, size_t row, size_t column)
{
    if (row < t->rows.len) {
        return of_row(r, t, figure, row, column);
    }
    return t->has_median && t->median.published[figure] != NULL ? median_of(r, t, figure, column)
                                                                : unknown;
}

bool reference_has(const struct reference *r, const struct reference_table *t,
                   enum reference_figure figure)
{
    if (figure == REFERENCE_SPEEDUP && t->measure == REFERENCE_RATIO) {
        return false; /* its values are the speedups */
    }
    for (size_t row = 0; row < t->rows.len; row++) {
        for (size_t column = 0; column < t->n_columns; column++) {
            if (of_row(r, t, figure, row, column).known) {
                return true;
            }
        }
    }
    return false;
}
