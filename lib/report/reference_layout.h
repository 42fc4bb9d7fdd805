/* What the sheets of published figures (sheets.h) are made of. Called by reference.c and
 * reference_beside.c. Pure. */
#pragma once

#include "reference/reference.h"
#include "report/sheet.h"

/* One figure in cells: "263.29", "78.64%", "~1.77", "-"; a '*' after it where an erratum names it,
 * or where the source prints another one. */
void reference_layout_put(const struct reference *r, const struct reference_table *t,
                          enum reference_figure figure, size_t row, size_t column, struct buf *out);
/* A row a row of the set and one for the median; `is_turned`: a row a column. */
struct table *reference_layout_table(const struct reference *r, const struct reference_table *t,
                                     enum reference_figure figure, bool is_turned);
/* "Speedup", "Throughput in samples/s (job)". */
void reference_layout_caption(const struct reference_table *t, enum reference_figure figure,
                              struct buf *out);

/* The lines under a table: how it was derived, where it is from, errata, notes. */
void reference_layout_lines(struct sheet *s, const struct reference *r,
                            const struct reference_table *t);
/* "Model: ...", of the set as a whole. */
void reference_layout_head(struct sheet *s, const struct reference *r);
/* The head of a set, after `before`. */
void reference_layout_title(struct sheet *s, const struct reference *r, const char *before);

/* For programs, a row a figure, and the document of docs/references.md; reference_data.c. */
void reference_data_put_rows(struct sheet *s, const struct reference *r);
json_t *reference_data_to_json(const struct reference *r);
