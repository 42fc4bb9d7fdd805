/* What a feature says, before any format. A builder (sheets.h) fills a sheet and sheet_write writes
 * it: one builder a feature, one writer a format. Pure.
 *
 * People get parts in order: heads, tables, lines; a page also sections, terms and charts. Programs
 * get one table of rows, or a document of JSON; their writers pass over parts that they do not
 * show. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "report/chart.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/words.h"

enum sheet_form {
    SHEET_TEXT, /* a terminal; the only form with a width */
    SHEET_MARKDOWN,
    SHEET_HTML, /* a page, or sections of one */
    SHEET_SVG,  /* the first of its charts */
    SHEET_CSV,
    SHEET_JSON,
    SHEET_JUNIT, /* tests for a forge: a row is a test case, a term a property */
};

/* How a page shows a text, a part of one, or a section. */
enum sheet_look {
    SHEET_PLAIN,
    SHEET_SOFT, /* an explanation */
    SHEET_GOOD,
    SHEET_BAD,
    SHEET_STRONG,
    SHEET_ON_SCREEN, /* not on paper */
    SHEET_COMMAND,   /* to be typed */
    SHEET_FOLDED,    /* a section, or the details of a line, that is shown on demand */
    SHEET_CODE,
    SHEET_TAG,
    SHEET_GOOD_TAG,
    SHEET_BAD_TAG,
    SHEET_TO_NOTES, /* leads to the section SHEET_NOTES */
    SHEET_NOTES,    /* a folded section */
    SHEET_ANSWER,   /* the sentence that a page begins with */
    SHEET_PAGE,     /* a section: the head of a page of its own, with all that surrounds it */
};

/* What is in front of a line, by form. */
struct sheet_mark {
    const char *word;  /* of text; NULL: none */
    const char *ascii; /* in its place where glyphs beyond ASCII are not wanted; NULL: the same */
    const char *color; /* of terminal.h */
    unsigned indent;   /* of text: blanks before the word */
    const char *markdown;
    bool is_paragraph; /* in Markdown and a page; else it is an item of a list */
    const char *page;
    enum sheet_look look;
};
extern const struct sheet_mark sheet_paragraph;
extern const struct sheet_mark sheet_soft;    /* a paragraph that explains */
extern const struct sheet_mark sheet_warning; /* "  ! text" */

/* All texts are owned; NULL: none. In text it is "before NAME link OTHER   status   MARKS". */
struct sheet_head {
    char *before, *name;
    const char *link;            /* between two names; static */
    char *other;                 /* on a line of its own where the terminal is narrow */
    char *status;                /* such as the phase of a run */
    const struct result *marked; /* its marks (mark_of) follow; borrowed */
    char *description;           /* in text a line of its own */
};

/* A part of a line with a look of its own. */
struct sheet_piece {
    enum sheet_look look;
    char *text; /* owned */
};

enum sheet_part_kind {
    SHEET_HEAD,
    SHEET_TITLE,
    SHEET_TABLE,
    SHEET_LINE,
    SHEET_TERM,
    SHEET_OPEN, /* a section of a page begins */
    SHEET_CLOSE,
    SHEET_FIGURE,
};
struct sheet_part {
    enum sheet_part_kind kind;
    bool is_block;       /* text: after an empty line; it may have a title */
    const char *section; /* of a block: its title in text; static; NULL: none */
    struct sheet_head head;
    struct table *table; /* owned */
    size_t n_heads;      /* columns that each part of a table has which is too wide */
    const struct sheet_mark *mark;
    bool is_item;  /* of a list: a line that is no paragraph */
    char *text;    /* of a line, term or title, or above a table; owned */
    char *name;    /* of a title, term or section, or of a table for those who hear it; owned */
    char *details; /* below a line, as they are; owned; NULL: none */
    enum sheet_look look;
    VEC(struct sheet_piece) spans; /* of a line or term, after its text */
    struct chart chart;            /* of a figure; owned */
};

struct sheet {
    enum sheet_form form;
    struct terminal term;
    VEC(struct sheet_part) parts;
    struct table *table; /* of programs; of people, while its rows are made; owned */
    json_t *document;    /* of SHEET_JSON: the whole of it; owned */
    bool is_block;       /* of the next part */
    const char *section;
};

/* `term`: of SHEET_TEXT; NULL for other forms. */
void sheet_init(struct sheet *s, enum sheet_form form, const struct terminal *term);
/* Writes it, and frees it. */
void sheet_write(struct sheet *s_take, struct buf *out);

/* ---- for people ---- */

void sheet_put_head(struct sheet *s, const struct sheet_head *head_take);
/* The head of a run. */
void sheet_put_run(struct sheet *s, const struct result *r, char *description_take);
/* "NAME: text" of a part of the sheet; Markdown and pages show the text alone. */
void sheet_title(struct sheet *s, const char *name, const char *text);
/* The next part begins a block: in text after an empty line, below `section` unless it is NULL. */
void sheet_block(struct sheet *s, const char *section);
/* A line, in text broken at blanks, with '?' for control characters. `mark` NULL: none. */
void sheet_line(struct sheet *s, const struct sheet_mark *mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The line "Point 3: trainers 2". */
void sheet_put_point(struct sheet *s, const struct point_words *words, const struct point *p);
/* The same as sheet_line; no line where the text is empty. */
void sheet_put_line(struct sheet *s, const struct sheet_mark *mark, struct buf *text_take);
/* More lines of the last line, each with its newline, which are not broken. NULL: none. */
void sheet_details(struct sheet *s, const char *details);
#define SHEET_PROSE SIZE_MAX
/* No table where it has no row. `caption`: above it; NULL: none. In text, a table that is too wide
 * is in parts, each with the first n_heads columns; of SHEET_PROSE, the last column is broken at
 * blanks instead. */
void sheet_table(struct sheet *s, struct buf *caption_take, struct table *table_take,
                 size_t n_heads);
/* Does the table fit as it is? It may get the tight gap for that. */
bool sheet_fits(const struct sheet *s, struct table *t);

/* ---- for pages ---- */

/* A section, until sheet_close. */
void sheet_open(struct sheet *s, enum sheet_look look, const char *heading);
void sheet_close(struct sheet *s);
/* One more heading. */
void sheet_heading(struct sheet *s, const char *text);
/* What the last table is called for those who hear it, if not as the heading above it. */
void sheet_name_table(struct sheet *s, const char *name);
/* More of the last line or term. */
void sheet_span(struct sheet *s, enum sheet_look look, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A name and what it is; of JUnit a property, and of no other format. */
void sheet_term(struct sheet *s, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void sheet_figure(struct sheet *s, const struct chart *chart_take);

/* ---- for people and programs: a table that is declared once ---- */

/* The next cell of a row: of people below `title`, of programs in the column `name`. NULL: they do
 * not get it. A text that is NULL and a number that is NaN are not known; programs get numbers with
 * all digits needed to read them back, and an empty cell for what is not known. */
void row_text(struct sheet *s, const char *title, const char *name, const char *text);
void row_count(struct sheet *s, const char *title, const char *name, uint64_t count);
void row_bool(struct sheet *s, const char *name, bool is_true); /* of programs alone */
/* People get `factor` times the number. */
void row_number(struct sheet *s, const char *title, const char *name, double number, double factor);
void row_percent(struct sheet *s, const char *title, const char *name, double ratio,
                 bool with_sign);
/* "3 of 5", or both numbers. */
void row_part_of(struct sheet *s, const char *title, const char *name, const char *of_name,
                 size_t n, size_t of);
/* A figure as it is printed: its value; its 95% interval, of programs in NAME_low and NAME_high;
 * how that was found. `decimals`: of a percentage. */
#define ROW_NUMBER (-1)
void row_figure(struct sheet *s, const char *title, const char *name, const struct figure *f,
                int decimals);
void row_interval(struct sheet *s, const char *title, const char *name, const struct figure *f,
                  int decimals);
void row_method(struct sheet *s, const char *name, const struct figure *f);
/* What distinguishes a point: its system, if systems differ; a column for each of the names, empty
 * where the point lacks the parameter. */
void row_system(struct sheet *s, const struct point_words *words, const struct point *p);
void row_params(struct sheet *s, const struct words_names *names, const struct point *p);
void row_end(struct sheet *s);
/* Drops the rows; what stays are their columns, those of a table that may have no row. */
void row_drop_all(struct sheet *s);
/* For cells of people alone; NULL, which table_put passes over: the sheet is for programs. */
struct table *row_people(struct sheet *s);
/* The rows of people so far; owned. */
struct table *row_take(struct sheet *s);
/* The same as sheet_table; programs keep them in the sheet. Are there any? */
bool row_end_table(struct sheet *s, size_t n_heads);

/* ---- the formats, for sheet.c alone: sheet_text.c, sheet_markdown.c, sheet_html.c,
 * sheet_junit.c ---- */

void sheet_write_text(const struct sheet *s, struct buf *out);
void sheet_write_markdown(const struct sheet *s, struct buf *out);
void sheet_write_html(const struct sheet *s, struct buf *out);
/* Rows of "kind", "outcome", "name" and "message" (gate_sheet.c): what is "Failed" is a failure,
 * what is "Unknown" an error. */
void sheet_write_junit(const struct sheet *s, struct buf *out);
