/* Columns of text with aligned cells, as kubectl prints them; used by every list that the CLI and
 * the web pages print. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "result/result.h"

struct table;
enum table_align { TABLE_LEFT, TABLE_RIGHT };
struct table *table_new(void);
void table_free(struct table *t);
static inline void table_freep(struct table **t) /* for _cleanup_ */
{
    table_free(*t);
}
void table_column(struct table *t, const char *title, enum table_align align);
/* The next cell, row by row; rows are full when they are formatted. Line breaks become blanks. */
#define table_cell(t, ...) table_put(t, NULL, TABLE_LEFT, __VA_ARGS__)
/* The next cell and its column, aligned left and right: the first row has the titles of all. Where
 * `t` is NULL, nothing. */
#define table_text(t, title, ...) table_put(t, title, TABLE_LEFT, __VA_ARGS__)
#define table_number(t, title, ...) table_put(t, title, TABLE_RIGHT, __VA_ARGS__)
void table_put(struct table *t, const char *title, enum table_align align, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, for its text to be appended at once, as it is. */
struct buf *table_add(struct table *t, const char *title, enum table_align align);
/* A number that may be unknown: then it is "-", and its arguments are not evaluated. */
#define table_known(t, title, is_known, ...)                                                       \
    ((is_known) ? table_number(t, title, __VA_ARGS__) : table_number(t, title, "-"))
/* Its title is `name` in capitals. */
void table_named_column(struct table *t, const char *name, enum table_align align);
/* As number_format writes it. */
void table_value(struct table *t, const char *title, double value);
/* As figure_format writes it; "low..high", "-" where none exists. */
void table_figure(struct table *t, const char *title, const struct figure *f);
void table_interval(struct table *t, const char *title, const struct figure *f);
/* "12.5%", "+12.5%"; "-" for NaN. */
void table_percent(struct table *t, const char *title, double ratio, bool with_sign);
void table_end_row(struct table *t);
/* The columns of the dropped rows stay. */
void table_drop_rows(struct table *t);
size_t table_n_rows(const struct table *t);
const char *table_text_at(const struct table *t, size_t row, size_t column);
/* A page makes the last cell a link to `before` and `name`. */
void table_link(struct table *t, const char *before, const char *name);
/* Blanks between columns; 3 unless set. */
#define TABLE_TIGHT_GAP 2
void table_set_gap(struct table *t, unsigned gap);
/* Characters of the longest line, with the header. */
size_t table_width(const struct table *t);
/* Does it fit? Where only the tight gap makes it fit, it gets that. */
bool table_fit(struct table *t, size_t columns);
/* No trailing blanks; width counted in characters of UTF-8. */
void table_format(const struct table *t, bool with_header, struct buf *out);
/* The same in parts where a line has more than `width` characters: tables with an empty line
 * between them, each with the first n_heads columns and as many of the others as fit, at least one.
 * No cell is broken. */
void table_format_parts(const struct table *t, size_t n_heads, size_t width, struct buf *out);
/* A list for a terminal: as it is where it fits, else with the tight gap, else in parts with the
 * first n_heads columns, so that the terminal breaks no cell. columns 0: it is for a program, and
 * any width fits. Without header it stays in one part. */
void table_format_list(struct table *t, size_t n_heads, bool with_header, size_t columns,
                       struct buf *out);
/* A list whose last column is prose, for a terminal: where it does not fit, the prose is broken at
 * blanks, next to the other columns or, where they leave too little room, below its row and without
 * its title ("-" is left out then). No other cell is broken. */
void table_format_prose(struct table *t, size_t columns, struct buf *out);
/* RFC 4180, header first. */
void table_format_csv(const struct table *t, struct buf *out);
void table_format_markdown(const struct table *t, struct buf *out);
/* A <table>, its texts escaped; right-aligned cells have the class "r". */
void table_format_html(const struct table *t, struct buf *out);
/* Text on one line, with its markup taken for text. */
void markdown_escape(const char *text, struct buf *out);
/* Text as HTML shows it, in an element or in a quoted attribute; what is no UTF-8 becomes '?'. */
void html_escape(const char *text, struct buf *out);
/* The same between two pieces of HTML. */
void html_put(struct buf *out, const char *before, const char *text, const char *after);
/* Numbers as people read them: 4 significant digits, "-" if unknown. */
void figure_format(const struct figure *f, struct buf *out);
