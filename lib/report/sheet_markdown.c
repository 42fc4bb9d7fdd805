/* A sheet as GitHub Markdown, see sheet_formats.h. */
#include "report/marks.h"
#include "report/notes.h"
#include "report/sheet_formats.h"

static void put_head(const struct sheet_head *head, struct buf *out)
{
    buf_puts(out, "## ");
    markdown_escape(head->name, out);
    buf_puts(out, "\n\n");
    markdown_escape(head->status, out);
    if (head->marked != NULL) {
        marks_put_markdown(head->marked, out);
    }
    if (head->description != NULL) {
        buf_puts(out, ". ");
        markdown_escape(head->description, out);
        buf_putc(out, '.');
    }
    buf_putc(out, '\n');
}

static void put_table(const struct sheet_part *p, struct buf *out)
{
    if (p->text != NULL) {
        markdown_escape(p->text, out);
        buf_puts(out, ":\n\n");
    }
    table_format_markdown(p->table, out);
}

static bool is_item(const struct sheet_part *p)
{
    return p->kind == SHEET_LINE && !p->mark->is_paragraph;
}

/* A block of code inside the item of a list. */
static void put_details(struct buf *out, const char *details)
{
    if (details == NULL) {
        return;
    }
    const char *line;
    buf_putc(out, '\n');
    for (size_t len; note_next_line(&details, &line, &len);) {
        buf_printf(out, len == 0 ? "\n" : "      %.*s\n", (int)len, line);
    }
    buf_putc(out, '\n');
}

static void put_line(const struct sheet_part *p, struct buf *out)
{
    buf_printf(out, "%s%s", is_item(p) ? "- " : "",
               p->mark->markdown == NULL ? "" : p->mark->markdown);
    markdown_escape(p->text, out);
    buf_putc(out, '\n');
    put_details(out, p->details);
}

void sheet_write_markdown(const struct sheet *s, struct buf *out)
{
    const struct sheet_part *before = NULL;
    vec_each (const struct sheet_part, p, &s->parts) {
        if (before != NULL && !(is_item(before) && is_item(p))) {
            buf_putc(out, '\n');
        }
        before = p;
        switch (p->kind) {
        case SHEET_HEAD:
            put_head(&p->head, out);
            break;
        case SHEET_TABLE:
            put_table(p, out);
            break;
        case SHEET_LINE:
            put_line(p, out);
            break;
        }
    }
}
