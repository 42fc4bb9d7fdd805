/* Published figures to read, alone or next to a run. Pure writers into a buffer. */
#pragma once

#include "reference/reference.h"
#include "report/report.h"

/* A set: each table with what follows from it, its errata, notes and source. reference.c;
 * reference_data.c has CSV (a line a figure) and the document of docs/references.md. */
void report_reference_text(const struct reference *r, const struct report_opts *opts,
                           struct buf *out);
void report_reference_markdown(const struct reference *r, struct buf *out);
void report_reference_csv(const struct reference *r, struct buf *out);
void report_reference_json(const struct reference *r, struct buf *out);

/* Next to a run: its points in rows with the figures of the same column, and what may not be
 * compared and why. reference_beside.c. */
struct reference_beside {
    const struct reference *reference;
    const char *asked; /* what --reference finds it by: its name, or the path of its file */
    const struct result *result;
    int year; /* in which the run was made */
};
void report_beside_text(const struct reference_beside *b, const struct report_opts *opts,
                        struct buf *out);
void report_beside_markdown(const struct reference_beside *b, struct buf *out);
/* As a section of a page (report.h). */
void report_beside_html(const struct reference_beside *b, struct buf *out);
