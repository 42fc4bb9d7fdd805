/* A sheet as a part of a page, see sheet_formats.h. */
#include "report/html_parts.h"
#include "report/sheet_formats.h"

void sheet_write_html(const struct sheet *s, struct buf *out)
{
    bool is_list = false;
    const char *label = ""; /* of a table: the title above it */
    vec_each (const struct sheet_part, p, &s->parts) {
        if (p->is_item != is_list) {
            is_list = !is_list;
            buf_puts(out, is_list ? "<ul>\n" : "</ul>\n");
        }
        switch (p->kind) {
        case SHEET_HEAD:
            html_put_element(out, "h2", p->head.name);
            break;
        case SHEET_TITLE:
            html_put_element(out, "h3", p->text);
            label = p->text;
            break;
        case SHEET_TABLE:
            if (p->text != NULL) {
                html_put_element(out, "h2", p->text);
                label = p->text;
            }
            table_format_html_scrolled(p->table, label, out);
            break;
        case SHEET_LINE:
            html_put_element(out, is_list ? "li" : "p", p->text);
            break;
        }
    }
    buf_puts(out, is_list ? "</ul>\n" : "");
}
