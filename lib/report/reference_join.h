/* Published figures joined with the points of a run: each pair is at the same column, with the same
 * conditions and task, of the same family, and both sides have the quantity of the table. Pure. */
#pragma once

#include "base/vec.h"
#include "reference/reference.h"
#include "report/sheets.h"

struct reference_pair {
    const struct point_result *point;
    const struct reference_row *row;
    size_t column; /* of the table */
    bool is_copy;  /* the point's system reimplements the program of the row */
};
struct reference_pairs { /* a vector (base/vec.h) */
    struct reference_pair *items;
    size_t len, cap;
};

/* Returns the pairs by point, then by row. The caller frees them with vec_done(). */
struct reference_pairs reference_join(const struct reference_beside *b,
                                      const struct reference_table *t);
/* Returns true if the set counts GPUs or nodes where the run counts replicas. */
bool reference_counts_other(const struct point *p, const char *name);

/* In reference_quantity.c: the figure of a point that is the quantity of the table, in the table's
 * unit, and the efficiency of that figure. NaN if the run has none, or no exact factor leads to
 * that unit. */
double reference_own(const struct reference_table *t, const struct result *r,
                     const struct point_result *p);
double reference_own_efficiency(const struct reference_table *t, const struct point_result *p);
/* Returns the cost of that figure, which is unknown without a price. */
struct figure reference_own_cost(const struct reference_table *t, const struct point_result *p);
