/* What the sheets of published figures (sheets.h) share; in reference_sheet.c, which also makes one
 * of them. Pure. */
#pragma once

#include "reference/reference.h"
#include "report/sheet.h"

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

/* For programs, a row a figure, and the document of docs/references.md; reference_data.c. */
void reference_data_put_rows(struct sheet *s, const struct reference *r);
json_t *reference_data_to_json(const struct reference *r);
