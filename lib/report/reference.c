/* A set of published figures on a terminal and as Markdown, see reference.h. */
#include "report/reference.h"

#include <string.h>

#include "reference/derive.h"
#include "report/reference_layout.h"
#include "report/terminal.h"

static void put_table(struct buf *out, const struct terminal *term, const struct reference *r,
                      const struct reference_table *t, enum reference_figure figure)
{
    struct table *table = reference_layout_table(r, t, figure, false);
    if (table_width(table) > term->columns) { /* numbers do not break: turn it */
        struct table *turned = reference_layout_table(r, t, figure, true);
        if (table_width(turned) < table_width(table)) {
            table_free(table);
            table = turned;
        } else {
            table_free(turned);
        }
    }
    terminal_parts(out, term, table, 1, TERMINAL_TIGHT_GAP);
    table_free(table);
}

static void put_sentences(struct buf *out, const struct terminal *term,
                          const struct reference_sentences *s)
{
    vec_each (char *, text, &s->list) {
        terminal_wrapped(out, term, *text, 0, 2);
    }
}

static void put_one(struct buf *out, const struct terminal *term, const struct reference *r,
                    const struct reference_table *t)
{
    buf_putc(out, '\n');
    terminal_colored(out, term, TERMINAL_BOLD, t->name);
    buf_puts(out, ": ");
    terminal_wrapped(out, term, t->title, strlen(t->name) + 2, 2);
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        const enum reference_figure figure = (enum reference_figure)f;
        if (reference_has(r, t, figure)) {
            struct buf caption = BUF_INIT;
            reference_layout_caption(t, figure, &caption);
            buf_printf(out, "\n%s", buf_cstr(&caption));
            buf_done(&caption);
            put_table(out, term, r, t, figure);
        }
    }
    struct reference_sentences s = {0};
    reference_layout_sentences(r, t, &s);
    buf_putc(out, '\n');
    put_sentences(out, term, &s);
    reference_sentences_done(&s);
}

void report_reference_text(const struct reference *r, const struct report_opts *opts,
                           struct buf *out)
{
    const struct terminal term = terminal_of(opts);
    struct reference_sentences s = {0};
    terminal_colored(out, &term, TERMINAL_BOLD, r->name);
    buf_printf(out, "   %lld\n", (long long)r->year);
    terminal_wrapped(out, &term, r->title, 0, 2);
    reference_layout_head(r, &s);
    put_sentences(out, &term, &s);
    reference_sentences_done(&s);
    vec_each (const struct reference_table, t, &r->tables) {
        put_one(out, &term, r, t);
    }
}

static void put_markdown_list(struct buf *out, const struct reference_sentences *s)
{
    vec_each (char *, text, &s->list) {
        buf_puts(out, "- ");
        markdown_escape(*text, out);
        buf_putc(out, '\n');
    }
}

static void put_markdown_one(struct buf *out, const struct reference *r,
                             const struct reference_table *t)
{
    buf_puts(out, "\n### ");
    markdown_escape(t->title, out);
    buf_putc(out, '\n');
    for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
        const enum reference_figure figure = (enum reference_figure)f;
        if (reference_has(r, t, figure)) {
            struct buf caption = BUF_INIT;
            reference_layout_caption(t, figure, &caption);
            buf_putc(out, '\n');
            markdown_escape(buf_cstr(&caption), out);
            buf_puts(out, "\n\n");
            buf_done(&caption);
            struct table *table = reference_layout_table(r, t, figure, false);
            table_format_markdown(table, out);
            table_free(table);
        }
    }
    struct reference_sentences s = {0};
    reference_layout_sentences(r, t, &s);
    buf_putc(out, '\n');
    put_markdown_list(out, &s);
    reference_sentences_done(&s);
}

void report_reference_markdown(const struct reference *r, struct buf *out)
{
    struct reference_sentences s = {0};
    buf_puts(out, "## ");
    markdown_escape(r->title, out);
    buf_printf(out, " (%lld)\n\n", (long long)r->year);
    reference_layout_head(r, &s);
    put_markdown_list(out, &s);
    reference_sentences_done(&s);
    vec_each (const struct reference_table, t, &r->tables) {
        put_markdown_one(out, r, t);
    }
}
