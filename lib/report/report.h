/* A result as something to read: terminal text, Markdown, CSV, JSON. Pure writers into a buffer.
 *
 * Tables are laid out by what was swept: a compact grid where one or two names vary, then one row a
 * point. Under the tables: unit, scope, interval method, the baseline used, what failed, thresholds
 * and warnings. A rehearsal or simulated run says so in each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "result/result.h"

struct report_opts {
    unsigned columns; /* width of the terminal; 0: 80 */
    bool color;
    bool ascii; /* no glyphs beyond ASCII */
};

void report_text(const struct result *r, const struct report_opts *opts, struct buf *out);
void report_markdown(const struct result *r, struct buf *out);
/* One line a point; header first; RFC 4180. Numbers with all digits needed to read them back. */
void report_csv(const struct result *r, struct buf *out);
/* The document of docs/contracts/result.md, indented, with a final newline. */
void report_json(const struct result *r, struct buf *out);

/* Two runs beside each other (docs/contracts/compare.md) in the same forms: a row a common point,
 * under the table the tests, what differs, what only one side has, and the verdict. */
struct comparison;
void report_compare_text(const struct comparison *c, const struct report_opts *opts,
                         struct buf *out);
void report_compare_markdown(const struct comparison *c, struct buf *out);
void report_compare_csv(const struct comparison *c, struct buf *out);
void report_compare_json(const struct comparison *c, struct buf *out);

/* Columns of text with aligned cells, as kubectl prints them; used by every list the CLI prints. */
struct table;
enum table_align { TABLE_LEFT, TABLE_RIGHT };
struct table *table_new(void);
void table_free(struct table *t);
void table_column(struct table *t, const char *title, enum table_align align);
/* The next cell, row by row; rows are full when they are formatted. Line breaks become blanks. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As figure_format writes it; "low..high", "-" where there is none. */
void table_figure(struct table *t, const struct figure *f);
void table_interval(struct table *t, const struct figure *f);
/* Blanks between columns; 3 unless set. */
void table_set_gap(struct table *t, unsigned gap);
/* Characters of the longest line, with the header. */
size_t table_width(const struct table *t);
/* No trailing blanks; width counted in characters of UTF-8. */
void table_format(const struct table *t, bool with_header, struct buf *out);
void table_format_markdown(const struct table *t, struct buf *out);
/* A <table>, its texts escaped; right-aligned cells have the class "r". */
void table_format_html(const struct table *t, struct buf *out);
/* Text with its markup taken for text. */
void markdown_escape(const char *text, struct buf *out);
/* Text as HTML shows it, in an element or in a quoted attribute; what is no UTF-8 becomes '?'. */
void html_escape(const char *text, struct buf *out);
/* Numbers as people read them: 4 significant digits, "-" if unknown. */
void figure_format(const struct figure *f, struct buf *out);
