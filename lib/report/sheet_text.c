/* A sheet on a terminal, see sheet.h. */
#include <string.h>

#include "base/str.h"
#include "report/sheet.h"

/* On the next line where it does not fit after what is `used`. Returns what is used then. */
static size_t put_word(const struct terminal *term, const char *blanks, const char *color,
                       const char *word, size_t used, struct buf *out)
{
    const bool fits = used + strlen(blanks) + text_width(word) <= term->columns;
    buf_puts(out, fits ? blanks : "\n  ");
    terminal_colored(out, term, color, word);
    return (fits ? used + strlen(blanks) : 2) + text_width(word);
}

static void put_marks(const struct terminal *term, const struct result *r, size_t used,
                      struct buf *out)
{
    for (int i = 0; i < MARK_COUNT; i++) {
        const char *mark = mark_of(r, i);
        if (mark != NULL) {
            _cleanup_(freep) char *word = text_capitals(mark);
            used = put_word(term, "   ", TERMINAL_YELLOW, word, used, out);
        }
    }
    buf_putc(out, '\n');
}

static void put_head(const struct terminal *term, const struct sheet_head *h, struct buf *out)
{
    size_t used = text_width(h->before) + text_width(h->name);
    buf_puts(out, h->before == NULL ? "" : h->before);
    terminal_colored(out, term, TERMINAL_BOLD, h->name);
    if (h->other != NULL) {
        buf_puts(out, h->link);
        used = put_word(term, " ", TERMINAL_BOLD, h->other, used + text_width(h->link), out);
    }
    if (h->status != NULL) {
        buf_puts(out, "   ");
        wrap_text(out, h->status, term->columns, used + 3, 2);
        out->len--; /* the end of the line */
        used += 3 + text_width(h->status);
    }
    if (h->marked != NULL) {
        put_marks(term, h->marked, used, out);
    } else {
        buf_putc(out, '\n');
    }
    if (h->description != NULL) {
        wrap_text(out, h->description, term->columns, 0, 2);
    }
}

static void put_table(const struct terminal *term, const struct sheet_part *p, struct buf *out)
{
    if (p->text != NULL) {
        wrap_text(out, p->text, term->columns, 0, 2);
    }
    const size_t columns = term->wide ? 0 : term->columns;
    if (p->n_heads == SHEET_PROSE) {
        table_format_prose(p->table, columns, out);
    } else {
        table_format_list(p->table, p->n_heads, true, columns, out);
    }
}

static void put_line(const struct terminal *term, const struct sheet_part *p, struct buf *out)
{
    const struct sheet_mark *mark = p->mark;
    const char *word = term->ascii && mark->ascii != NULL ? mark->ascii : mark->word;
    size_t used = 0;
    if (word != NULL) {
        buf_printf(out, "%*s", (int)mark->indent, "");
        terminal_colored(out, term, mark->color, word);
        buf_putc(out, ' ');
        used = mark->indent + text_width(word) + 1;
    }
    wrap_text(out, p->text, term->columns, used, mark->indent + 2);
    put_details(p->details, out);
}

void sheet_write_text(const struct sheet *s, struct buf *out)
{
    vec_each (const struct sheet_part, p, &s->parts) {
        if (p->is_block || (p != s->parts.items && p->kind != SHEET_LINE)) {
            buf_putc(out, '\n');
        }
        if (p->section != NULL) {
            buf_printf(out, "%s\n", p->section);
        }
        if (p->kind == SHEET_HEAD) {
            put_head(&s->term, &p->head, out);
        } else if (p->kind == SHEET_TITLE) {
            terminal_colored(out, &s->term, TERMINAL_BOLD, p->name);
            buf_puts(out, ": ");
            wrap_text(out, p->text, s->term.columns, text_width(p->name) + 2, 2);
        } else if (p->kind == SHEET_TABLE) {
            put_table(&s->term, p, out);
        } else if (p->kind == SHEET_LINE) { /* pages alone have others */
            put_line(&s->term, p, out);
        }
        buf_spill(out);
    }
}
