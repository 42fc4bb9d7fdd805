/* Which published figures are next to which points of a run, and what these have of the same
 * quantity. Pure. */
#pragma once

#include "base/vec.h"
#include "reference/reference.h"
#include "report/sheets.h"

struct reference_pair {
    const struct point_result *point;
    size_t row, column; /* of the table */
};
struct reference_pairs {
    VEC(struct reference_pair) list; /* by point, then by row */
    const struct system *alone;      /* the first that has points for the table, but no row of its
                                        family; NULL: none */
};

/* The points at a column of the table, each with the rows of its task, family and conditions.
 * Owned: vec_done(&list). */
struct reference_pairs reference_pairs_of(const struct reference_beside *b,
                                          const struct reference_table *t);
/* Has some point of the run the task of the row? */
bool reference_has_task(const struct reference_beside *b, const struct reference_table *t,
                        const struct reference_row *row);
/* The system of the point, if it is next to this row only because it reimplements the row's
 * program; else NULL. */
const struct system *reference_copy(const struct reference_beside *b,
                                    const struct reference_table *t,
                                    const struct reference_pair *pair);
/* Does the set count GPUs or nodes where the run counts replicas? */
bool reference_counts_other(const struct point *p, const char *name);

/* In reference_quantity.c: the figure of a point that is the quantity of the table, in the table's
 * unit, and the efficiency of that figure. NaN: none, or no exact factor leads to that unit. */
double reference_own(const struct reference_table *t, const struct result *r,
                     const struct point_result *p);
double reference_own_efficiency(const struct reference_table *t, const struct point_result *p);
/* What it costs; unknown without a price, too. */
struct figure reference_own_cost(const struct reference_table *t, const struct point_result *p);
/* Why it is NaN: "it has no time to accuracy". */
void reference_own_why(const struct reference_table *t, const struct result *r,
                       const struct point_result *p, struct buf *out);
