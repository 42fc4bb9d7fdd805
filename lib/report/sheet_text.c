/* A sheet on a terminal, see sheet_formats.h. */
#include <string.h>

#include "report/marks.h"
#include "report/notes.h"
#include "report/sheet_formats.h"
#include "report/wrap.h"

static void put_head(const struct terminal *term, const struct sheet_head *head, struct buf *out)
{
    terminal_colored(out, term, TERMINAL_BOLD, head->name);
    buf_puts(out, "   ");
    if (head->marked == NULL) {
        terminal_wrapped(out, term, head->status, wrap_width(head->name, strlen(head->name)) + 3,
                         2);
    } else {
        buf_puts(out, head->status);
        marks_put_text(head->marked, term, out);
        buf_putc(out, '\n');
    }
    if (head->description != NULL) {
        terminal_wrapped(out, term, head->description, 0, 2);
    }
}

static void put_table(const struct terminal *term, const struct sheet_part *p, struct buf *out)
{
    if (p->text != NULL) {
        terminal_wrapped(out, term, p->text, 0, 2);
    }
    table_format_list(p->table, p->n_heads, true, term->wide ? 0 : term->columns, out);
}

/* Not wrapped: lines of logs, and of YAML that will be copied. */
static void put_details(struct buf *out, const char *details)
{
    const char *line;
    for (size_t len; note_next_line(&details, &line, &len);) {
        buf_printf(out, len == 0 ? "\n" : "      %.*s\n", (int)len, line);
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
        used = mark->indent + wrap_width(word, strlen(word)) + 1;
    }
    terminal_wrapped(out, term, p->text, used, mark->indent + 2);
    put_details(out, p->details);
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
        switch (p->kind) {
        case SHEET_HEAD:
            put_head(&s->term, &p->head, out);
            break;
        case SHEET_TABLE:
            put_table(&s->term, p, out);
            break;
        case SHEET_LINE:
            put_line(&s->term, p, out);
            break;
        }
    }
}
