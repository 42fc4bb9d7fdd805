/* What the sheets of published figures (sheets.h) share. Pure. */
#pragma once

#include "base/vec.h"
#include "reference/reference.h"
#include "report/sheets.h"

/* ---- joined with the points of a run: reference_join.c ---- */

/* At the same column, with the same conditions and task, of the same family, and both sides have
 * the quantity of the table. */
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

/* The figure of a point that is the quantity of the table, in the table's unit, and the efficiency
 * of that figure. NaN if the run has none, or no exact factor leads to that unit. */
double reference_own(const struct reference_table *t, const struct result *r,
                     const struct point_result *p);
double reference_own_efficiency(const struct reference_table *t, const struct point_result *p);

/* ---- in cells and lines: reference_sheet.c ---- */

/* One figure in cells: "263.29", "78.64%", "~1.77", "-"; a '*' after it where an erratum names it,
 * or where the source prints another one. */
void reference_layout_put(const struct reference_table *t, enum reference_figure figure,
                          const struct reference_row *row, size_t column, struct buf *out);
/* Has the cell that '*'? */
bool reference_layout_is_marked(const struct reference_table *t, enum reference_figure figure,
                                const struct reference_row *row, size_t column);
/* "Speedup", "Throughput in samples/s, the whole job". */
void reference_layout_caption(const struct reference_table *t, enum reference_figure figure,
                              struct buf *out);
void reference_layout_erratum(struct sheet *s, const struct reference_table *t,
                              const struct reference_erratum *e);
/* The head of a set, after `before`. */
void reference_layout_title(struct sheet *s, const struct reference *r, const char *before);
