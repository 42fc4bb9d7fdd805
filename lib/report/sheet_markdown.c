/* A sheet as GitHub Markdown, see sheet.h. */
#include "report/sheet.h"

static void put_words(const char *text, const char *end, struct buf *out)
{
    if (text != NULL) {
        markdown_escape(text, out);
        buf_puts(out, end);
    }
}

static void put_head(const struct sheet_head *h, struct buf *out)
{
    _cleanup_(buf_done) struct buf status = BUF_INIT;
    put_words(h->status, "", &status);
    for (int i = 0; h->marked != NULL && i < MARK_COUNT; i++) {
        if (mark_of(h->marked, i) != NULL) {
            buf_printf(&status, "%s**%s**", status.len == 0 ? "" : ", ", mark_of(h->marked, i));
        }
    }
    if (h->description != NULL) {
        buf_puts(&status, ". ");
        put_words(h->description, "", &status);
    }
    buf_puts(out, "## ");
    put_words(h->before, "", out);
    put_words(h->name, "", out);
    if (h->other != NULL) {
        buf_printf(out, "%s ", h->link);
        put_words(h->other, "", out);
    }
    buf_printf(out, status.len == 0 ? "\n" : "\n\n%s\n", buf_cstr(&status));
}

static void put_line(const struct sheet_part *p, struct buf *out)
{
    buf_printf(out, "%s%s", p->is_item ? "- " : "",
               p->mark->markdown == NULL ? "" : p->mark->markdown);
    markdown_escape(p->text, out);
    buf_putc(out, '\n');
    if (p->details != NULL) { /* a block of code inside the item */
        buf_putc(out, '\n');
        put_details(p->details, out);
        buf_putc(out, '\n');
    }
}

void sheet_write_markdown(const struct sheet *s, struct buf *out)
{
    const struct sheet_part *before = NULL;
    bool is_titled = false; /* captions below a title have no ':' */
    vec_each (const struct sheet_part, p, &s->parts) {
        if (before == NULL ? p->is_block : !(before->is_item && p->is_item)) {
            buf_putc(out, '\n');
        }
        before = p;
        if (p->kind == SHEET_HEAD) {
            put_head(&p->head, out);
        } else if (p->kind == SHEET_TITLE) {
            buf_puts(out, "### ");
            put_words(p->text, "\n", out);
            is_titled = true;
        } else if (p->kind == SHEET_TABLE) {
            put_words(p->text, is_titled ? "\n\n" : ":\n\n", out);
            table_format_markdown(p->table, out);
        } else if (p->kind == SHEET_LINE) { /* pages alone have others */
            put_line(p, out);
        }
    }
}
