/* The tables and sentences of a set of published figures; reference.c and
 * reference_beside.c print them. Pure. */
#pragma once

#include "base/vec.h"
#include "reference/reference.h"
#include "report/table.h"

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

struct reference_sentences {
    VEC(char *) list; /* owned */
};
/* The sentences under a table: how it was derived, where it is from, errata, notes. */
void reference_layout_sentences(const struct reference *r, const struct reference_table *t,
                                struct reference_sentences *ret);
/* "Model: ...", of the set as a whole. */
void reference_layout_head(const struct reference *r, struct reference_sentences *ret);
void reference_sentences_add(struct reference_sentences *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void reference_sentences_done(struct reference_sentences *s);
